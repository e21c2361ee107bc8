package l2_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/lbprovider/l2"
)

// sender is a host on eth0 that floods. With the arguments TARGET and VLAN it
// sends one ARP request with this VLAN tag; with TARGET, COUNT and DURATION it
// asks for COUNT addresses from TARGET on, again and again in the name of many
// hosts, and tells how many questions it sent and how many answers it had.
func sender(args []string) error {
	target, err := netip.ParseAddr(args[0])
	if err != nil {
		return err
	}
	fd, err := packetSocket()
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if len(args) == 2 {
		_, err := unix.Write(fd, question(target, 1, number))
		return err
	}
	d, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	asked, answered, err := flood(fd, target, number, d)
	fmt.Fprintln(os.Stdout, asked, answered)
	return err
}

func packetSocket() (int, error) {
	ifi, err := net.InterfaceByName("eth0")
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	return fd, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: ifi.Index}) // protocol 0: it only sends
}

// question is an ARP request by one of many hosts. A negative VLAN is no tag.
func question(target netip.Addr, host uint16, vlan int) []byte {
	from := []byte{2, 0, 0, 1, byte(host >> 8), byte(host)}
	b := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, from...)
	if vlan >= 0 {
		b = binary.BigEndian.AppendUint16(append(b, 0x81, 0x00), uint16(vlan)|3<<13)
	}
	b = append(b, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1)
	b = append(append(b, from...), 198, 19, byte(host>>8), byte(host))
	return append(append(b, 0, 0, 0, 0, 0, 0), target.AsSlice()...)
}

func flood(fd int, target netip.Addr, count int, d time.Duration) (asked, answered int, err error) {
	var questions [][]byte
	for i := range 4096 {
		questions = append(questions, question(target, uint16(i), -1))
		if target = target.Next(); (i+1)%count == 0 {
			for range count {
				target = target.Prev()
			}
		}
	}
	before, err := arrived()
	if err != nil {
		return 0, 0, err
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		for range 16 {
			if _, err := unix.Write(fd, questions[asked%len(questions)]); err == nil {
				asked++
			}
		}
	}
	after, err := arrived()
	return asked, after - before, err
}

// arrived returns how many frames have come by eth0. To let the kernel count the
// answers leaves the asker the time to ask.
func arrived() (int, error) {
	text, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if counts, ok := strings.CutPrefix(strings.TrimSpace(line), "eth0:"); ok {
			return strconv.Atoi(strings.Fields(counts)[1])
		}
	}
	return 0, errors.New("eth0 is not counted")
}

// inject sends one request from the client, tagged with a VLAN.
func (s *segment) inject(target string, vlan int) {
	s.t.Helper()
	cmd, _ := s.child("client", "sender", target, strconv.Itoa(vlan))
	if err := cmd.Run(); err != nil {
		s.t.Fatal(err)
	}
}

// BenchmarkARPAnswers floods a real Announcer on a real segment with requests for
// 1,000 addresses, and counts the answers that reach the client. Both ends and
// the kernel between them share this machine's CPUs.
func BenchmarkARPAnswers(b *testing.B) {
	s := newSegment(b)
	a := s.announcer("a", "eth0", "quiet")
	const first, count = "198.18.77.10", 1000
	claims := map[string]l2.Claim{}
	for addr := range addresses(first, count) {
		claims[addr] = l2.Claim{}
	}
	a.announce(claims)
	s.owner(first, s.link("a", "eth0"))
	unasked := a.metrics()["metallb_layer2_gratuitous_sent"] // each is two frames
	const d = 2 * time.Second
	var asked, answered int
	rounds := 0
	for b.Loop() {
		cmd, out := s.child("client", "sender", first, strconv.Itoa(count), d.String())
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		var x, y int
		if _, err := fmt.Fscan(out, &x, &y); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		asked, answered, rounds = asked+x, answered+y, rounds+1
	}
	answered -= int(2 * (a.metrics()["metallb_layer2_gratuitous_sent"] - unasked))
	seconds := float64(rounds) * d.Seconds()
	b.ReportMetric(float64(asked)/seconds, "asked/s")
	b.ReportMetric(float64(answered)/seconds, "answers/s")
	b.ReportMetric(0, "ns/op")
}

// addresses yields count addresses from first on.
func addresses(first string, count int) func(func(string) bool) {
	return func(yield func(string) bool) {
		addr := netip.MustParseAddr(first)
		for range count {
			if !yield(addr.String()) {
				return
			}
			addr = addr.Next()
		}
	}
}
