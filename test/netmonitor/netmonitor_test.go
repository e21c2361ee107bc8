package netmonitor

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"
)

func TestSilence(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	answered := func(ms int) Request { return Request{At: at(ms), Took: time.Millisecond} }
	lost := func(ms int) Request { return Request{At: at(ms), Took: Timeout, Error: "lost"} }
	for name, c := range map[string]struct {
		requests []Request
		want     time.Duration
	}{
		"all answered":              {[]Request{answered(0), answered(10), answered(20)}, time.Millisecond},
		"some lost":                 {[]Request{answered(0), lost(10), lost(20), answered(30)}, 21 * time.Millisecond},
		"the monitor itself paused": {[]Request{answered(0), answered(900), answered(910)}, time.Millisecond},
	} {
		if got, _ := (&Report{Requests: c.requests}).Silence(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	r := Report{
		Requests: []Request{
			{Error: "reset", Torn: true},
			{Error: "timeout"},
			{Resent: true, Took: time.Second},
			{Resent: true, Took: 10 * time.Millisecond}, // a pod that remembered an earlier connection
			{Took: 2 * time.Second},                     // a slow machine
		},
		Sent: []Sending{{MAC: "a"}, {MAC: "b"}, {MAC: "a"}},
	}
	if torn, lost, late := len(r.Torn()), len(r.Lost()), len(r.Slow()); torn != 1 || lost != 1 || late != 1 || len(r.Affected()) != 3 {
		t.Errorf("%d torn, %d lost, %d slow; want one of each", torn, lost, late)
	}
	if r.Moves() != 2 || (&Report{}).Moves() != 0 {
		t.Errorf("%d moves, want 2; without requests %d, want 0", r.Moves(), (&Report{}).Moves())
	}
}

// packets is a request whose second packet goes to another host, as the client
// and one node saw it, and a packet that has nothing to do with it.
func packets() (r *recorder, start time.Time) {
	start = time.Unix(1000, 0)
	ends := func(from, to string) (netip.AddrPort, netip.AddrPort) {
		return netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	}
	r = &recorder{cards: map[mac]string{{1}: "n1", {2}: "n2"}, names: map[string]func(int) string{}}
	for _, host := range []string{client, "n1"} {
		r.names[host] = func(int) string { return "eth0" }
	}
	ask, target := ends("198.18.0.100:5000", "198.18.0.201:80")
	node, pod := ends("10.244.1.1:7", "10.244.1.9:8080")
	other, _ := ends("198.18.0.100:5001", "198.18.0.201:80")
	for i, f := range []frame{
		{host: client, out: true, from: ask, to: target, flags: flagSYN, seq: 77, mac: mac{1}},
		{host: client, out: true, from: other, to: target, flags: flagSYN, seq: 1 << 20, mac: mac{2}},
		{host: "n1", from: ask, to: target, flags: flagSYN, seq: 77, mac: mac{1}},
		{host: "n1", out: true, from: node, to: pod, flags: flagSYN, seq: 77},
		{host: "n1", from: pod, to: node, flags: flagSYN | flagACK, seq: 1 << 30, ack: 78},
		{host: "n1", from: pod, to: node, flags: flagRST, seq: 1 << 31}, // known by its ends only
		{host: client, out: true, from: ask, to: target, flags: flagACK, seq: 78, ack: 1<<30 + 1, mac: mac{2}},
	} {
		f.tcp, f.at = true, start.Add(time.Duration(i)*time.Millisecond)
		r.add(f)
	}
	return r, start
}

func TestConnection(t *testing.T) {
	t.Parallel()
	r, start := packets()
	all := r.connection(5000, start)
	if len(all) != 6 || !torn(all) || torn(all[:5]) {
		t.Errorf("%d packets, torn %t; want 6 of a torn connection, of which the last is to blame", len(all), torn(all))
	}
	told := r.tell(all)
	for i, want := range []string{"SYN     to n1", "SYN     to n1", "10.244.1.9:8080", "SYN,ACK", "RST", "ACK     to n2"} {
		if !strings.Contains(told[i], want) {
			t.Errorf("line %d lacks %q: %s", i, want, told[i])
		}
	}
	if none := r.connection(5002, start); len(none) > 0 || torn(none) || len(r.tell(none)) != 1 {
		t.Errorf("a request that never left: %v", none)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	tcp := func(from, to [4]byte, fromPort, toPort byte) []byte {
		f := make([]byte, 14+20+20)
		f[12], f[13], f[14], f[23] = 0x08, 0, 0x45, 6
		copy(f[26:], from[:])
		copy(f[30:], to[:])
		f[35], f[37] = fromPort, toPort
		return f
	}
	arp := make([]byte, 42)
	arp[12], arp[13] = 0x08, 0x06
	vip, pod, node := [4]byte{198, 18, 0, 201}, [4]byte{10, 244, 1, 9}, [4]byte{198, 18, 0, 11}
	frames := [][]byte{arp, tcp(node, vip, 7, 80), tcp(vip, node, 80, 7), tcp(node, pod, 7, 90), tcp(node, pod, 7, 9)}
	for name, c := range map[string]struct {
		filter []bpf.Instruction
		want   []bool
	}{
		"client": {clientFilter(netip.AddrFrom4(vip)), []bool{true, true, true, false, false}},
		"node":   {hostFilter(netip.AddrFrom4(vip), []uint16{90, 80, 80}), []bool{false, true, true, true, false}},
	} {
		vm, err := bpf.NewVM(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, f := range frames {
			n, err := vm.Run(f)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n > 0)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: passes %v, want %v", name, got, c.want)
		}
	}
}
