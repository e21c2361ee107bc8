package health

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// from is a connection from an address of the test's choice.
type from struct {
	net.Conn
	addr   string
	closed bool
}

func (c *from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.addr), Port: 4444} }
func (c *from) Close() error         { c.closed = true; return nil }

// queue is a listener that hands out what is in it.
type queue struct {
	net.Listener
	conns []*from
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.conns) == 0 {
		return nil, io.EOF
	}
	c := q.conns[0]
	q.conns = q.conns[1:]
	return c, nil
}

// TestLimited: one source takes no more than its share, all sources together no
// more than there is, and the newest is always served.
func TestLimited(t *testing.T) {
	t.Parallel()
	q := &queue{}
	l := newLimited(q)
	l.most, l.perSource = 4, 2
	accept := func(addr string) (*from, net.Conn) {
		c := &from{addr: addr}
		q.conns = append(q.conns, c)
		got, err := l.Accept()
		if err != nil {
			return c, nil
		}
		return c, got
	}
	first, a := accept("192.0.2.1")
	_, _ = accept("192.0.2.1")
	if third, got := accept("192.0.2.1"); got != nil || !third.closed {
		t.Error("a third one of a source is admitted")
	}
	_, _ = accept("2001:db8::1")
	_, _ = accept("2001:db8::2")
	if third, got := accept("2001:db8::3"); got != nil || !third.closed {
		t.Error("a third one of an IPv6 network is admitted")
	}
	if first.closed {
		t.Error("closed before there are too many")
	}
	if _, got := accept("2001:db8:0:1::1"); got == nil || !first.closed {
		t.Error("the oldest one does not give way")
	}
	if _, got := accept("192.0.2.1"); got == nil {
		t.Error("the place of what was closed is not free")
	}
	if a.Close() != nil || l.oldest.Len() != 4 {
		t.Errorf("closed twice, %d count", l.oldest.Len())
	}
	for i := range 50 {
		if _, got := accept("127.0.0.1"); got == nil {
			t.Errorf("loopback connection %d is refused", i)
		}
	}
	for i := range 500 {
		if _, got := accept(fmt.Sprintf("198.18.%d.%d", i/200, i%200)); got == nil {
			t.Fatal("a new source is refused")
		}
	}
	if l.oldest.Len() != 4 || len(l.sources) > 4 {
		t.Errorf("%d connections of %d sources are kept", l.oldest.Len(), len(l.sources))
	}
}

// TestProbePort: on a port of its own there is nothing but probes, and what says
// nothing is closed soon.
func TestProbePort(t *testing.T) {
	t.Parallel()
	s := &Server{Ready: func() bool { return true }}
	port := serveWith(t, s.RunProbes)
	for path, want := range map[string]int{"/healthz": 200, "/healthz/ready": 200, "/metrics": 404, "/": 404, "/debug/pprof/": 404} {
		answer, err := http.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want || !answer.Close {
			t.Errorf("%s: %d, closes %t", path, answer.StatusCode, answer.Close)
		}
	}
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("a silent connection stays: %v", err)
	}
}
