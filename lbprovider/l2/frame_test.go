package l2

import (
	"bytes"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/mdlayher/arp"
)

func request(t testing.TB) []byte {
	t.Helper()
	p, err := arp.NewPacket(arp.OperationRequest, net.HardwareAddr{2, 0, 0, 0, 0, 1}, netip.MustParseAddr("198.18.0.1"),
		net.HardwareAddr{0, 0, 0, 0, 0, 0}, netip.MustParseAddr("198.18.0.9"))
	if err != nil {
		t.Fatal(err)
	}
	frame, err := seal(p, mac{2, 0, 0, 0, 0, 1}, broadcast())
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestReply(t *testing.T) {
	t.Parallel()
	own := mac{2, 0, 0, 0, 0, 9}
	frame, err := reply(request(t), own)
	if err != nil {
		t.Fatal(err)
	}
	g, err := look(frame)
	if err != nil {
		t.Fatal(err)
	}
	want := glance{
		to: mac{2, 0, 0, 0, 0, 1}, sender: own, op: arp.OperationReply,
		senderIP: netip.MustParseAddr("198.18.0.9"), targetIP: netip.MustParseAddr("198.18.0.1"),
	}
	if g != want {
		t.Errorf("reply %+v, want %+v", g, want)
	}
}

func TestGratuitous(t *testing.T) {
	t.Parallel()
	own, addr := mac{2, 0, 0, 0, 0, 9}, netip.MustParseAddr("198.18.0.9")
	for _, op := range []arp.Operation{arp.OperationRequest, arp.OperationReply} {
		frame, err := gratuitous(op, addr, own)
		if err != nil {
			t.Fatal(err)
		}
		g, err := look(frame)
		if err != nil {
			t.Fatal(err)
		}
		if want := (glance{to: broadcast(), sender: own, op: op, senderIP: addr, targetIP: addr}); g != want {
			t.Errorf("frame %+v, want %+v", g, want)
		}
	}
}

func TestLookDoesNotAllocate(t *testing.T) {
	frame := request(t)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := look(frame); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}

// FuzzFrame holds that no frame crashes the receiver, and that look reads what
// mdlayher/arp reads.
func FuzzFrame(f *testing.F) {
	f.Add(request(f))
	f.Add(request(f)[:frameLen-1])
	f.Add(append(request(f), 0, 0, 0, 0)) // padded, as on a real wire
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		g, err := look(frame)
		if err != nil {
			return
		}
		var p arp.Packet
		if err := p.UnmarshalBinary(frame[etherLen:]); err != nil {
			t.Fatalf("look accepts what cannot be read: %v", err)
		}
		if p.Operation != g.op || p.SenderIP != g.senderIP || p.TargetIP != g.targetIP || !bytes.Equal(p.SenderHardwareAddr, g.sender[:]) {
			t.Fatalf("look %+v, packet %+v", g, p)
		}
		if _, err := reply(frame, mac{2, 0, 0, 0, 0, 9}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBurst(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	b := &burst{start: start, refresh: time.Minute}
	var sent []time.Duration
	for range 8 {
		at, ok := b.due()
		if !ok {
			t.Fatal("the burst ended")
		}
		sent = append(sent, at.Sub(start).Round(100*time.Millisecond))
		b.mark(at)
	}
	want := append(offsets(), 65*time.Second, 125*time.Second)
	for i := range want {
		if sent[i] != want[i] {
			t.Fatalf("frames at %v, want %v", sent, want)
		}
	}
	b.restart(start.Add(3 * time.Minute))
	if at, _ := b.due(); !at.Equal(start.Add(3 * time.Minute)) {
		t.Errorf("a new burst is due at %v", at)
	}
	silent := &burst{start: start, sent: len(offsets())}
	if _, ok := silent.due(); ok {
		t.Error("without a refresh, nothing follows the burst")
	}
}
