package spop

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of a Server.
const (
	// DefaultMaxFrame is the largest frame that a Server agrees to.
	DefaultMaxFrame = 128 << 10
	// DefaultInflight is how many requests of one connection are answered at the same time.
	DefaultInflight = 1024
	// DefaultConnections is how many connections a Server has at the same time.
	DefaultConnections = 256

	helloTime = 2 * time.Second
	writeTime = 2 * time.Second
	// idleTime is how long a goroutine waits for the next request before it ends.
	idleTime = 5 * time.Second
)

// Server answers HAProxy on any number of connections, each with any number of
// requests at the same time. The zero value is not usable: Handle must be set.
type Server struct {
	// Handle answers a request. It may keep neither q nor r.
	Handle func(ctx context.Context, q *Request, r *Reply)
	// Busy answers a request when Inflight others of its connection are unanswered. It must
	// not wait. Without it such a request gets an answer without variables.
	Busy func(q *Request, r *Reply)
	// Panicked is called with what a handler panicked with.
	Panicked func(value any)
	// Failed is called with the protocol error that ended a connection, or with ErrTooLong.
	Failed func(err error)

	MaxFrame    uint32
	Inflight    int
	Connections int

	// jobs are requests whose buffers wait for their next use.
	jobs     sync.Pool
	accepted atomic.Uint64

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool
	running sync.WaitGroup
}

// conn is one connection of HAProxy.
type conn struct {
	server   *Server
	net      net.Conn
	maxFrame uint32
	work     chan *job
	inflight atomic.Int64
	workers  sync.WaitGroup
	writing  sync.Mutex
}

// job is a request and its answer, whose buffers are used again.
type job struct {
	q Request
	r Reply
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			// Out of descriptors: others may end soon.
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		s.accepted.Add(1)
		if !s.add(ctx, c) {
			_ = c.Close()
		}
	}
}

// Accepted returns how many connections there were.
func (s *Server) Accepted() uint64 { return s.accepted.Load() }

// Count returns the number of connections.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) add(ctx context.Context, nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || len(s.conns) >= orDefault(s.Connections, DefaultConnections) {
		return false
	}
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	c := &conn{server: s, net: nc, work: make(chan *job), maxFrame: uint32(orDefault(int(s.MaxFrame), DefaultMaxFrame))}
	s.conns[c] = struct{}{}
	s.running.Go(func() {
		c.run(ctx)
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	})
	return true
}

// Close ends all connections after their requests are answered, or when ctx ends.
// The listener must be closed before.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	for c := range s.conns {
		// Nothing more is read; the connection ends when all is answered.
		_ = c.net.SetReadDeadline(time.Unix(1, 0))
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		s.mu.Lock()
		for c := range s.conns {
			_ = c.net.Close()
		}
		s.mu.Unlock()
	}
}

func orDefault(v, d int) int {
	if v <= 0 {
		return d
	}
	return v
}

// run reads frames until the connection ends, then waits for the answers.
func (c *conn) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.net.Close()
	in := bufio.NewReaderSize(c.net, 32<<10)
	err := c.hello(in)
	for err == nil {
		err = c.next(ctx, in)
	}
	status, message := StatusNormal, "closing"
	if p, ok := errors.AsType[*ProtocolError](err); ok {
		status, message = p.Status, "refused frame"
		if c.server.Failed != nil {
			c.server.Failed(err)
		}
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		cancel() // HAProxy has gone, so no answer is waited for
	}
	close(c.work)
	c.workers.Wait()
	if !errors.Is(err, errFinished) {
		c.write(AppendDisconnect(nil, status, message))
	}
}

// errFinished ends a connection that needs no last frame.
var errFinished = errors.New("finished")

// hello exchanges the first frames.
func (c *conn) hello(in *bufio.Reader) error {
	c.setReadDeadline(time.Now().Add(helloTime))
	frame, err := ReadFrame(in, nil, min(c.maxFrame, 16<<10))
	if err != nil {
		return err
	}
	h, content, err := ParseHeader(frame)
	switch {
	case err != nil:
		return err
	case h.Type != TypeHello || h.Stream != 0 || h.Frame != 0:
		return invalid(errors.New("the first frame is not HAPROXY-HELLO"))
	}
	hello, err := ParseHello(content)
	if err != nil {
		return err
	}
	c.maxFrame = min(c.maxFrame, hello.MaxFrame)
	c.write(AppendAgentHello(nil, c.maxFrame))
	if hello.Check {
		return errFinished
	}
	c.setReadDeadline(time.Time{})
	return nil
}

// setReadDeadline sets a deadline, except after Close, which has set one.
func (c *conn) setReadDeadline(t time.Time) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if !c.server.closing {
		_ = c.net.SetReadDeadline(t)
	}
}

// next reads one frame and hands it on.
func (c *conn) next(ctx context.Context, in *bufio.Reader) error {
	j, ok := c.server.jobs.Get().(*job)
	if !ok {
		j = new(job)
	}
	var err error
	if j.q.buf, err = ReadFrame(in, j.q.buf, c.maxFrame); err != nil {
		return err
	}
	h, content, err := ParseHeader(j.q.buf)
	switch {
	case err != nil:
		return err
	case h.Type == TypeDisconnect:
		return io.EOF
	case h.Type != TypeNotify:
		return invalid(errors.New("a frame of an unexpected type"))
	}
	if err := j.q.ParseNotify(h, content); err != nil {
		return err
	}
	j.r.begin(h, c.maxFrame)
	if c.inflight.Add(1) > int64(orDefault(c.server.Inflight, DefaultInflight)) {
		if c.server.Busy != nil {
			c.guard(func() { c.server.Busy(&j.q, &j.r) }, &j.r)
		}
		c.answer(j)
		return nil
	}
	select {
	case c.work <- j:
	default:
		c.workers.Go(func() { c.worker(ctx, j) })
	}
	return nil
}

// worker answers a request and then those that come while it is idle.
func (c *conn) worker(ctx context.Context, j *job) {
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		c.handle(ctx, j)
		c.answer(j)
		idle.Reset(idleTime)
		select {
		case next, ok := <-c.work:
			if !ok {
				return
			}
			j = next
		case <-idle.C:
			return
		}
	}
}

func (c *conn) handle(ctx context.Context, j *job) {
	defer c.recovered(&j.r)
	c.server.Handle(ctx, &j.q, &j.r)
}

func (c *conn) guard(f func(), r *Reply) {
	defer c.recovered(r)
	f()
}

// recovered makes the answer of a handler that panicked one without variables.
func (c *conn) recovered(r *Reply) {
	if v := recover(); v != nil {
		r.Reset()
		if c.server.Panicked != nil {
			c.server.Panicked(v)
		}
	}
}

func (c *conn) answer(j *job) {
	frame, err := j.r.frame()
	if err != nil && c.server.Failed != nil {
		c.server.Failed(err)
	}
	c.write(frame)
	c.inflight.Add(-1)
	c.server.jobs.Put(j)
}

// write sends one frame with one call. A HAProxy that does not read loses the
// connection.
func (c *conn) write(frame []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.net.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := c.net.Write(frame); err != nil {
		_ = c.net.Close()
	}
}
