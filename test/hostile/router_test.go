package hostile

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// routerOf names the variable that makes this program a BGP router which means harm.
const routerOf = "FAIRLEAD_HOSTILE_ROUTER"

// peerYAML has the speakers open sessions with the neighbour.
const peerYAML = `---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: {name: hostile, namespace: metallb-system}
spec: {myASN: 64512, peerASN: 64513, peerAddress: %s}
`

// startRouter starts the router on the neighbour's host, and has the speakers know it.
// Each line that it prints is a session that got what it must survive.
func (a *attacker) startRouter(ctx context.Context) error {
	network := filepath.Join("/run/netns", a.p.Cluster.Name()+"-"+neighbour)
	cmd := exec.CommandContext(ctx, "nsenter", "--net="+network, os.Args[0])
	cmd.Env = append(os.Environ(), routerOf+"=1")
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this program
		return fmt.Errorf("start the hostile router: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the hostile router: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the hostile router: %w", err)
	}
	a.sessions = make(chan string, 100)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			a.sessions <- lines.Text()
		}
		if err := cmd.Wait(); ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "hostile: the router ended:", err)
		}
	}()
	return apply(ctx, administrator, fmt.Sprintf(peerYAML, a.p.Cluster.Address(neighbour)))
}

// session waits for the next one with the hostile router.
func (a *attacker) session(ctx context.Context, _ int) error {
	select {
	case <-a.sessions:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// hostileRouter is the router's program.
func hostileRouter() int {
	l, err := net.Listen("tcp4", ":179")
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		return 1
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = l.Close()
	}()
	for n := 0; ; n++ {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = io.ReadFull(c, make([]byte, 19)) // the speaker's OPEN begins
			_, _ = c.Write(wrongMessages(n))
			fmt.Println(n)
			_, _ = io.Copy(io.Discard, c)
		}()
	}
}

// Types of messages, RFC 4271, section 4.1.
const (
	bgpOpen, bgpUpdate, bgpKeepalive, bgpRefresh = 1, 2, 4, 5
	bgpUnknown                                   = 9
)

// wrongMessages are what no router should send, another time something else.
func wrongMessages(n int) []byte {
	open := bgpMessage(bgpOpen, 0, []byte{4, 64513 >> 8, 64513 & 255, 0, 90, 198, 18, 0, 1, 0})
	begun := slices.Concat(open, bgpMessage(bgpKeepalive, 0, nil))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	wrong := [][]byte{
		bgpMessage(bgpUnknown, 0, nil),
		bgpMessage(bgpKeepalive, 18, nil),
		bgpMessage(bgpUpdate, 4097, noise[:100]),
		bgpMessage(bgpOpen, 0, []byte{4, 0}),
		bgpMessage(bgpRefresh, 0, []byte{0, 1, 0, 1}),
		bgpMessage(bgpOpen, 0, []byte{4, 64513 >> 8, 64513 & 255, 0, 90, 198, 18, 0, 1, 255, 2, 200}),
		noise,
		// Attributes that end after their message, and an AS_PATH that ends after its attribute.
		slices.Concat(begun, bgpMessage(bgpUpdate, 0, []byte{0, 0, 255, 255, 0x40, 1, 1, 0})),
		slices.Concat(begun, bgpMessage(bgpUpdate, 0, []byte{0, 0, 0, 5, 0x40, 2, 2, 2, 255, 24, 198, 18, 1})),
		slices.Concat(begun, bgpMessage(bgpUnknown, 0, noise[:300])),
		slices.Concat(begun, noise),
	}
	return wrong[n%len(wrong)]
}

// bgpMessage is a message; length 0 is the right one.
func bgpMessage(kind byte, length int, body []byte) []byte {
	if length == 0 {
		length = 19 + len(body)
	}
	m := []byte(strings.Repeat("\xff", 16))
	m = binary.BigEndian.AppendUint16(m, uint16(length))
	return append(append(m, kind), body...)
}
