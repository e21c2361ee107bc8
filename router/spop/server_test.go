package spop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// peer plays HAProxy's part.
type peer struct {
	t   testing.TB
	net net.Conn
	in  *bufio.Reader
	buf []byte
}

// start serves on a socket and connects to it.
func start(t testing.TB, s *Server) *peer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(t.Context(), l) }()
	t.Cleanup(func() { _ = l.Close() })
	return connect(t, path)
}

func connect(t testing.TB, path string) *peer {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &peer{t: t, net: c, in: bufio.NewReader(c)}
}

func (p *peer) send(body []byte) {
	p.t.Helper()
	if _, err := p.net.Write(withLength(body)); err != nil {
		p.t.Fatal(err)
	}
}

// read returns the next frame.
func (p *peer) read() (Header, []byte) {
	p.t.Helper()
	var err error
	if p.buf, err = ReadFrame(p.in, p.buf, 1<<20); err != nil {
		p.t.Fatal(err)
	}
	h, content, err := ParseHeader(p.buf)
	if err != nil {
		p.t.Fatal(err)
	}
	return h, content
}

func (p *peer) hello() {
	p.t.Helper()
	p.send(hello("2.0", 16380, false))
	if h, _ := p.read(); h.Type != TypeAgentHello {
		p.t.Fatalf("frame of type %d instead of AGENT-HELLO", h.Type)
	}
}

// ended demands DISCONNECT with a status, and the end.
func (p *peer) ended(want Status) {
	p.t.Helper()
	h, content := p.read()
	c := cursor{rest: content}
	c.name()
	if got := Status(c.value().Number); h.Type != TypeAgentDisconnect || got != want {
		p.t.Fatalf("frame of type %d with status %d, want DISCONNECT with %d", h.Type, got, want)
	}
	if n, err := p.in.Read(make([]byte, 1)); err != io.EOF {
		p.t.Fatalf("%d bytes and %v after DISCONNECT", n, err)
	}
}

func allow(_ context.Context, _ *Request, r *Reply) {
	r.SetString(ScopeTransaction, "verdict", "allow")
}

// TestCheck: a health check gets the agent's HELLO and the end.
func TestCheck(t *testing.T) {
	t.Parallel()
	p := start(t, &Server{Handle: allow})
	p.send(hello("2.0", 16380, true))
	if h, _ := p.read(); h.Type != TypeAgentHello {
		t.Fatalf("frame of type %d", h.Type)
	}
	if _, err := p.in.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("%v instead of the end", err)
	}
}

// TestMultiplexed: answers come when they are ready, in any order, and each to its
// own question.
func TestMultiplexed(t *testing.T) {
	t.Parallel()
	const n = 50
	var waiting sync.WaitGroup
	waiting.Add(n)
	p := start(t, &Server{Handle: func(_ context.Context, q *Request, r *Reply) {
		waiting.Done()
		waiting.Wait() // all are asked before one is answered
		r.SetString(ScopeTransaction, "verdict", fmt.Sprint(q.Stream))
	}})
	p.hello()
	for i := range n {
		p.send(notify(uint64(i), uint64(i+1), "ask", arg("p", text("x"))))
	}
	seen := map[uint64]bool{}
	for range n {
		h, content := p.read()
		c := cursor{rest: content}
		c.take(3)
		c.name()
		if got := string(c.value().Text()); h.Type != TypeAck || h.Frame != h.Stream+1 || got != fmt.Sprint(h.Stream) {
			t.Fatalf("stream %d, frame %d is answered with %q", h.Stream, h.Frame, got)
		}
		seen[h.Stream] = true
	}
	if len(seen) != n {
		t.Errorf("%d questions of %d are answered", len(seen), n)
	}
}

// TestPanic: a handler that panics answers without variables, and the connection goes on.
func TestPanic(t *testing.T) {
	t.Parallel()
	var panics, failures atomic.Int32
	p := start(t, &Server{
		Handle: func(ctx context.Context, q *Request, r *Reply) {
			allow(ctx, q, r)
			switch string(q.Message) {
			case "panic":
				panic("no")
			case "long":
				r.SetBinary(ScopeTransaction, "set", make([]byte, 20000))
			}
		},
		Panicked: func(any) { panics.Add(1) },
		Failed:   func(error) { failures.Add(1) },
	})
	p.hello()
	for _, message := range []string{"panic", "long", "ask", "panic"} {
		p.send(notify(1, 1, message))
		h, content := p.read()
		if want := message == "ask"; h.Type != TypeAck || len(content) > 0 != want {
			t.Fatalf("%s: frame of type %d with %q", message, h.Type, content)
		}
	}
	if panics.Load() != 2 || failures.Load() != 1 {
		t.Errorf("%d panics and %d failures", panics.Load(), failures.Load())
	}
}

// TestBusy: requests above the limit are answered at once, without the handler.
func TestBusy(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	p := start(t, &Server{
		Inflight: 2,
		Handle:   func(ctx context.Context, q *Request, r *Reply) { <-hold; allow(ctx, q, r) },
		Busy:     func(_ *Request, r *Reply) { r.SetString(ScopeTransaction, "verdict", "503") },
	})
	p.hello()
	for i := range 3 {
		p.send(notify(uint64(i), 1, "ask"))
	}
	if h, content := p.read(); h.Stream != 2 || len(content) == 0 {
		t.Fatalf("stream %d is answered first with %q", h.Stream, content)
	}
	close(hold)
	p.read()
	p.read()
}

// TestBadFrames: a frame that breaks a rule ends its connection, and no other.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	s := &Server{Handle: allow}
	other := start(t, s)
	other.hello()
	path := other.net.RemoteAddr().String()
	for name, test := range map[string]struct {
		first []byte
		then  []byte
		want  Status
	}{
		"no HELLO":      {notify(1, 1, "ask"), nil, StatusInvalid},
		"version":       {hello("3.0", 16380, false), nil, StatusVersion},
		"second HELLO":  {hello("2.0", 16380, false), hello("2.0", 16380, false), StatusInvalid},
		"unknown type":  {hello("2.0", 16380, false), appendHeader(nil, Header{Type: 99})[lengthSize:], StatusInvalid},
		"over the size": {hello("2.0", 300, false), notify(1, 1, "ask", arg("a", text(string(make([]byte, 400))))), StatusTooBig},
	} {
		p := connect(t, path)
		p.send(test.first)
		if test.then != nil {
			p.read()
			p.send(test.then)
		}
		t.Log(name)
		p.ended(test.want)
	}
	other.send(notify(1, 1, "ask"))
	if h, content := other.read(); h.Type != TypeAck || len(content) == 0 {
		t.Fatalf("frame of type %d with %q", h.Type, content)
	}
}

// TestClose: what was asked is answered before the connection ends, and a handler
// that does not end is not waited for.
func TestClose(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]bool{"answers": false, "hangs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, hold := make(chan struct{}), make(chan struct{})
			s := &Server{Handle: func(ctx context.Context, q *Request, r *Reply) {
				close(asked)
				<-hold
				allow(ctx, q, r)
			}}
			p := start(t, s)
			p.hello()
			p.send(notify(1, 1, "ask"))
			<-asked
			ctx, cancel := context.WithTimeout(t.Context(), map[bool]time.Duration{true: 50 * time.Millisecond, false: 20 * time.Second}[hangs])
			defer cancel()
			closed := make(chan struct{})
			go func() { s.Close(ctx); close(closed) }()
			if hangs {
				<-closed
				if _, err := p.in.ReadByte(); err == nil {
					t.Error("a frame after the end")
				}
				close(hold)
				return
			}
			close(hold)
			if h, content := p.read(); h.Type != TypeAck || len(content) == 0 {
				t.Errorf("frame of type %d with %q", h.Type, content)
			}
			p.ended(StatusNormal)
			<-closed
		})
	}
}

// TestGone: a handler learns that HAProxy has gone.
func TestGone(t *testing.T) {
	t.Parallel()
	asked, gone := make(chan struct{}), make(chan struct{})
	p := start(t, &Server{Handle: func(ctx context.Context, _ *Request, _ *Reply) {
		close(asked)
		<-ctx.Done()
		close(gone)
	}})
	p.hello()
	p.send(notify(1, 1, "ask"))
	<-asked
	_ = p.net.Close()
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the handler still waits")
	}
}

// TestAllocations: reading, parsing and answering allocate nothing.
func TestAllocations(t *testing.T) {
	in := newLoop(withLength(question()))
	var q Request
	var r Reply
	if n := testing.AllocsPerRun(1000, func() { once(t, in, &q, &r) }); n > 0 {
		t.Errorf("%v allocations for each request", n)
	}
}

// loop gives the same bytes again and again.
type loop struct {
	b  []byte
	at int
}

func newLoop(b []byte) *bufio.Reader { return bufio.NewReader(&loop{b: b}) }

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.b[l.at:])
	l.at = (l.at + n) % len(l.b)
	return n, nil
}

func once(t testing.TB, in io.Reader, q *Request, r *Reply) {
	var err error
	if q.buf, err = ReadFrame(in, q.buf, 16380); err != nil {
		t.Fatal(err)
	}
	h, content, err := ParseHeader(q.buf)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.ParseNotify(h, content); err != nil {
		t.Fatal(err)
	}
	r.begin(h, 16380)
	if len(q.Arg("p").Text()) > 0 {
		r.SetString(ScopeTransaction, "verdict", "allow")
		r.SetInt(ScopeTransaction, "ttl", 60)
	}
	if _, err := r.frame(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkCodec(b *testing.B) {
	in := newLoop(withLength(question()))
	var q Request
	var r Reply
	b.ReportAllocs()
	for b.Loop() {
		once(b, in, &q, &r)
	}
}

// BenchmarkServer measures a round trip through a socket, 16 questions at a time.
func BenchmarkServer(b *testing.B) {
	p := start(b, &Server{Handle: allow})
	p.hello()
	_ = p.net.SetDeadline(time.Time{})
	frame := withLength(question())
	b.ReportAllocs()
	const batch = 16
	for n := 0; n < b.N; n += batch {
		for range batch {
			if _, err := p.net.Write(frame); err != nil {
				b.Fatal(err)
			}
		}
		for range batch {
			p.read()
		}
	}
}
