package feed

import (
	"context"
	"sync"
	"time"
)

// session reads HAProxy's ring while there are readers, and reads on when HAProxy has ended
// the connection.
type session struct {
	feed *Feed
	of   context.Context //nolint:containedctx // that of Run, whose goroutines these are
	// changed rings when HAProxy has begun, or ended.
	changed chan struct{}

	stop func()

	mu  sync.Mutex
	pid int
}

func newSession(ctx context.Context, f *Feed) *session {
	return &session{feed: f, of: ctx, changed: make(chan struct{}, 1)}
}

// process is the one whose ring is being read, or 0.
func (s *session) process() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

func (s *session) set(pid int) {
	s.mu.Lock()
	s.pid = pid
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// begin reads, if nothing does.
func (s *session) begin() {
	if s.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.of)
	ended := make(chan struct{})
	s.stop = func() {
		cancel()
		<-ended
	}
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.read(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
}

// read reads until HAProxy ends the connection.
func (s *session) read(ctx context.Context) {
	err := s.feed.haproxy.Records(ctx, func(pid int) {
		s.feed.fail(nil)
		s.set(pid)
	}, func(line []byte) {
		s.feed.take(line, time.Now())
	})
	if err != nil {
		s.feed.fail(err)
	}
	s.set(0)
}

// end reads no more.
func (s *session) end() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
