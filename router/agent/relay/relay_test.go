package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/test/freeport"
	"github.com/fairlead/fairlead/test/wait"
)

// bed has a Relay that runs.
type bed struct {
	*Relay

	t       *testing.T
	metrics *Metrics
	// clock is the time in nanoseconds.
	clock atomic.Int64
	stop  func()
}

func newBed(t *testing.T, change ...func(*Options)) *bed {
	t.Helper()
	b := &bed{t: t, metrics: NewMetrics(prometheus.NewRegistry())}
	b.clock.Store(time.Unix(1_800_000_000, 0).UnixNano())
	o := Options{
		Metrics: b.metrics, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(0, b.clock.Load()) },
		Check: func(netip.Addr) error { return nil },
	}
	for _, f := range change {
		f(&o)
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Relay = r
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var once sync.Once
	b.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(b.stop)
	return b
}

// use relays ports, and waits until they are open.
func (b *bed) use(all ...snapshot.Relay) {
	b.t.Helper()
	b.Set(all)
	b.eventually(fmt.Sprintf("%d ports are open", len(all)), func() bool { return value(b.t, b.metrics.ports) == float64(len(all)) })
}

func (b *bed) eventually(what string, f func() bool) {
	b.t.Helper()
	err := wait.Poll{Limit: time.Minute}.Until(b.t.Context(), what, func() error {
		if !f() {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// value returns that of a metric.
func value(t *testing.T, of prometheus.Metric) float64 {
	t.Helper()
	m := &dto.Metric{}
	if err := of.Write(m); err != nil {
		t.Fatal(err)
	}
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}

func (b *bed) dropped(reason string) int {
	return int(value(b.t, b.metrics.dropped.WithLabelValues(reason)))
}

// pod answers each datagram with its name, the sender's port and the datagram.
func pod(t *testing.T, name, address string) netip.AddrPort {
	t.Helper()
	c, err := net.ListenPacket("udp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		buffer := make([]byte, longestDatagram)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			answer := fmt.Appendf(nil, "%s %d ", name, from.(*net.UDPAddr).Port)
			_, _ = c.WriteTo(append(answer, buffer[:min(n, longestDatagram-64)]...), from)
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

// freePort returns a UDP port that nothing has.
func freePort(t *testing.T) uint16 {
	t.Helper()
	port, err := freeport.UDP()
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

func to(port uint16, pods ...netip.AddrPort) snapshot.Relay {
	return snapshot.Relay{Port: port, Namespace: "shop", Targets: []snapshot.RelayTarget{{Weight: 1, Endpoints: pods}}}
}

// client is a socket that is connected to a port, so that it takes answers from nothing else.
func client(t *testing.T, local, address string, port uint16) net.Conn {
	t.Helper()
	d := net.Dialer{}
	if local != "" {
		d.LocalAddr = &net.UDPAddr{IP: net.ParseIP(local)}
	}
	c, err := d.DialContext(t.Context(), "udp", net.JoinHostPort(address, fmt.Sprint(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a datagram and returns the pod's name, the port that the pod saw, and what came
// back.
func ask(t *testing.T, c net.Conn, what []byte) (name, port, back string) {
	t.Helper()
	if _, err := c.Write(what); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	buffer := make([]byte, longestDatagram)
	n, err := c.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(string(buffer[:n]), " ", 3)
	return parts[0], parts[1], parts[2]
}

// TestRelay: datagrams of any length go to a pod and back, from the address that the client
// asked, and a client keeps its pod.
func TestRelay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	port := freePort(t)
	b.use(to(port, pod(t, "a", "127.0.0.1"), pod(t, "b", "127.0.0.1")))
	for _, address := range []string{"127.0.0.1", "127.0.0.3"} {
		c := client(t, "127.0.0.9", address, port)
		first, socket, back := ask(t, c, []byte("x"))
		if back != "x" {
			t.Errorf("%s: %q came back", address, back)
		}
		for _, what := range [][]byte{nil, bytes.Repeat([]byte("y"), 20_000), []byte("\n\t\r\x00\f")} {
			name, again, back := ask(t, c, what)
			if name != first || again != socket || back != string(what) {
				t.Errorf("%s: pod %s by port %s, then %s by %s, with %d bytes", address, first, socket, name, again, len(back))
			}
		}
	}
	names := map[string]int{}
	for range 20 {
		name, _, _ := ask(t, client(t, "127.0.0.9", "127.0.0.1", port), []byte("x"))
		names[name]++
	}
	if names["a"] == 0 || names["b"] == 0 {
		t.Errorf("clients have the pods %v", names)
	}
	// The last one is counted after it is sent.
	b.eventually("28 datagrams each way are counted", func() bool { return value(b.t, b.metrics.in) == 28 && value(b.t, b.metrics.out) == 28 })
}

// TestChanges: ports open and close, a session stays while its pod is there, and those of a
// pod that goes begin again with another one.
func TestChanges(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	one, two := freePort(t), freePort(t)
	first, second := pod(t, "a", "127.0.0.1"), pod(t, "b", "127.0.0.1")
	b.use(to(one, first))
	c := client(t, "127.0.0.9", "127.0.0.1", one)
	_, socket, _ := ask(t, c, []byte("x"))
	b.use(to(one, second, first), to(two, second))
	if name, again, _ := ask(t, c, []byte("x")); name != "a" || again != socket {
		t.Errorf("pod %s by port %s, before by %s", name, again, socket)
	}
	if name, _, _ := ask(t, client(t, "127.0.0.9", "127.0.0.1", two), []byte("x")); name != "b" {
		t.Errorf("the other port leads to %s", name)
	}
	b.use(to(one, second))
	if name, _, _ := ask(t, c, []byte("x")); name != "b" {
		t.Errorf("the client still has pod %s", name)
	}
	b.use()
	b.eventually("all sessions end with their port", func() bool { return value(b.t, b.metrics.sessions) == 0 })
	l, err := net.ListenPacket("udp", fmt.Sprintf(":%d", one))
	if err != nil {
		t.Fatalf("the port is still open: %v", err)
	}
	_ = l.Close()
}

// TestDrops: what has no pod, may not reach it, or meets no open port there is dropped and
// counted, and a datagram of the router's own pod never goes round.
func TestDrops(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(o *Options) {
		o.Check = func(a netip.Addr) error {
			if a == netip.MustParseAddr("127.0.0.66") {
				return errors.New("forbidden")
			}
			return nil
		}
	})
	none, forbidden, refused, loop := freePort(t), freePort(t), freePort(t), freePort(t)
	b.use(
		to(none), to(forbidden, netip.MustParseAddrPort("127.0.0.66:9")),
		to(refused, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), freePort(t))),
		to(loop, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), loop)),
	)
	for reason, port := range map[string]uint16{droppedNoPod: none, droppedForbidden: forbidden, droppedRefused: refused, droppedLoop: loop} {
		if _, err := client(t, "127.0.0.9", "127.0.0.1", port).Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		b.eventually(reason+" is counted", func() bool { return b.dropped(reason) == 1 })
	}
	if n := value(b.t, b.metrics.out); n != 0 {
		t.Errorf("%v answers", n)
	}
}

// TestSilence: a session that is silent ends, and a datagram of the pod keeps it.
func TestSilence(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	port := freePort(t)
	b.use(to(port, pod(t, "a", "127.0.0.1")))
	ask(t, client(t, "127.0.0.9", "127.0.0.1", port), []byte("x"))
	b.clock.Add(int64(longestSilence - time.Second))
	c := client(t, "127.0.0.9", "127.0.0.1", port)
	ask(t, c, []byte("x"))
	b.clock.Add(int64(2 * time.Second))
	b.eventually("the first session ends", func() bool { return value(b.t, b.metrics.sessions) == 1 })
	b.clock.Add(int64(longestSilence))
	b.eventually("the second session ends", func() bool { return value(b.t, b.metrics.sessions) == 0 })
}

// TestBound: a source has as many sessions as it may, and its new ones replace brief ones.
func TestBound(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(o *Options) { o.Limits.Source = 4 })
	port := freePort(t)
	b.use(to(port, pod(t, "a", "127.0.0.1")))
	live := client(t, "127.0.0.9", "127.0.0.1", port)
	_, socket, _ := ask(t, live, []byte("x"))
	ask(t, live, []byte("x"))
	for range 3 {
		ask(t, client(t, "127.0.0.9", "127.0.0.1", port), []byte("x"))
	}
	if _, err := client(t, "127.0.0.9", "127.0.0.1", port).Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	b.eventually("a session too many is refused", func() bool { return b.dropped(droppedSource) == 1 })
	ask(t, client(t, "127.0.0.10", "127.0.0.1", port), []byte("x"))
	b.clock.Add(int64(time.Second))
	for range 10 {
		ask(t, client(t, "127.0.0.9", "127.0.0.1", port), []byte("x"))
		b.clock.Add(int64(time.Second))
	}
	if n := value(b.t, b.metrics.replaced); n != 10 {
		t.Errorf("%v sessions were replaced, want 10", n)
	}
	if _, again, _ := ask(t, live, []byte("x")); again != socket {
		t.Error("a live session was replaced")
	}
}

// TestLock: of two processes one relays, and the other one when that ends.
func TestLock(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "lock")
	with := func(o *Options) { o.Lock = lock }
	one, two := newBed(t, with), newBed(t, with)
	port := freePort(t)
	all := to(port, pod(t, "a", "127.0.0.1"))
	one.use(all)
	two.Set([]snapshot.Relay{all})
	ask(t, client(t, "127.0.0.9", "127.0.0.1", port), []byte("x"))
	if value(t, two.metrics.ports) != 0 {
		t.Error("both relay")
	}
	one.stop()
	two.eventually("the other one relays", func() bool { return value(t, two.metrics.ports) == 1 })
	ask(t, client(t, "127.0.0.9", "127.0.0.1", port), []byte("x"))
}

// TestBusyPort: a port that another process has is opened once that is gone.
func TestBusyPort(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	other, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	busy, port := uint16(other.LocalAddr().(*net.UDPAddr).Port), freePort(t)
	b.Set([]snapshot.Relay{to(busy, pod(t, "a", "127.0.0.1")), to(port, pod(t, "b", "127.0.0.1"))})
	b.eventually("the free port is open", func() bool { return value(b.t, b.metrics.ports) == 1 })
	_ = other.Close()
	b.eventually("both are open", func() bool {
		b.clock.Add(int64(time.Second))
		return value(b.t, b.metrics.ports) == 2
	})
}
