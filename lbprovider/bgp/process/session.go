package process

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/wire"
)

const (
	// firstPause is the pause after a process that ended, longestPause what it
	// doubles up to, and calm how long a process has to run for it to begin at
	// firstPause again.
	firstPause   = time.Second
	longestPause = time.Minute
	stableTime   = 5 * time.Minute
	// endLimit is how long a session whose peer is removed may take to end.
	endLimit = 3 * time.Second
)

// session is one peer: what its process is to do, and what it reported last.
// Its goroutine alone starts processes and talks to them.
type session struct {
	name  string
	opts  *Options
	log   *slog.Logger
	wake  chan struct{}
	ended chan struct{}

	mu     sync.Mutex // guards what follows
	wanted target
	ending *wire.End
	state  bgp.Status
	// alive says that a process runs whose reports count.
	alive bool
	// counters are of the process that runs now, past of those before.
	counters, past bgp.Counters
	answers        uint64
	// countersFell says that counters fell once, and that it was logged.
	countersFell bool
	// dropped are lines of its log that were not passed on.
	dropped int
	// reported is closed when the process reports or ends.
	reported chan struct{}

	// restarting belongs to the goroutine: the peer may keep routes of an earlier
	// process.
	restarting bool
}

// target are all that a process is to do.
type target struct {
	peer      bgp.Peer
	node      []netip.Addr
	routes    []bgp.Route // sorted
	suspended string
	asked     uint64
}

func newSession(peer bgp.Peer, opts *Options) *session {
	peer.Password = ""
	return &session{
		name: peer.Name, opts: opts, log: opts.Log.With("peer", peer.Name), restarting: opts.Restarting,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), reported: make(chan struct{}),
		state: bgp.Status{Peer: peer, State: bgp.StateIdle},
	}
}

// setTarget replaces what the peer is sent, without waiting.
func (s *session) setTarget(w bgp.Session, node []netip.Addr) {
	routes := w.Routes
	if !slices.IsSortedFunc(routes, bgp.CompareRoutes) {
		routes = slices.SortedFunc(slices.Values(routes), bgp.CompareRoutes)
	}
	shown := w.Peer
	shown.Password = ""
	s.change(func() {
		s.wanted.peer, s.wanted.node, s.wanted.routes = w.Peer, node, routes
		s.state.Peer, s.state.Routes = shown, len(routes)
	})
	s.wakeUp()
}

// suspend keeps the session down as long as why is not empty.
func (s *session) suspend(why string) {
	s.mu.Lock()
	s.wanted.suspended = why
	s.mu.Unlock()
	s.wakeUp()
}

func (s *session) end(how wire.End) {
	s.mu.Lock()
	s.ending = &how
	s.mu.Unlock()
	s.wakeUp()
}

func (s *session) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// change edits the state, and calls Changed if it is another one.
func (s *session) change(edit func()) {
	s.mu.Lock()
	before := s.state
	edit()
	differs := before != s.state
	s.mu.Unlock()
	if differs {
		s.opts.Changed()
	}
}

// ask wants the process's counters, and returns the number of the question.
func (s *session) ask() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted.asked++
	s.wakeUp()
	return s.wanted.asked
}

// answered says whether a question was answered, or cannot be. Otherwise the
// channel is closed when it is to be looked at again.
func (s *session) answered(question uint64) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.alive || s.answers >= question, s.reported
}

func (s *session) sample() metricsSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return metricsSample{status: s.state, counters: s.past.Plus(s.counters), alive: s.alive, dropped: s.dropped}
}

// apply takes over what the process reports. It returns an error if that is
// impossible, or more than it may report unasked.
func (s *session) apply(r wire.Report, allowed func() bool) (err error) {
	fell := false
	s.change(func() {
		switch answers := r.Answers > s.answers; {
		case !s.alive:
			err = errors.New("it ended") // and what it started reports
		case r.Answers > s.wanted.asked:
			err = errors.New("it answers what it was not asked")
		case !answers && !allowed():
			err = fmt.Errorf("it reports more than %d times a second", reportRate)
		}
		if err != nil {
			return
		}
		if (s.state.State == bgp.StateEstablished) != (r.State == bgp.StateEstablished) {
			s.state.Since = s.opts.Now()
		}
		s.state.Address, s.state.State, s.state.Problem, s.state.PeerASN = r.Address, r.State, r.Problem, r.PeerASN
		most := s.counters.AtLeast(r.Counters)
		fell = most != r.Counters && !s.countersFell
		s.countersFell = s.countersFell || fell
		s.counters, s.answers = most, max(s.answers, r.Answers)
		s.notifyReported()
	})
	if fell {
		s.log.Error("the process of a BGP session reports counters that fall; the highest ones count")
	}
	return err
}

// countDropped counts lines of a process's log that are not passed on.
func (s *session) countDropped(lines int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped += lines
}

// notifyReported wakes all that wait for an answer.
func (s *session) notifyReported() {
	close(s.reported)
	s.reported = make(chan struct{})
}

// run keeps a process until the session is to end.
func (s *session) run() {
	defer close(s.ended)
	// The process is to end with the speaker, which Linux ties to the thread that
	// started it. This one ends with the goroutine.
	runtime.LockOSThread()
	pause := time.Duration(0)
	for {
		began := s.opts.Now()
		why := s.runProcess()
		if why == "" {
			return
		}
		if s.opts.Now().Sub(began) > stableTime {
			pause = 0
		}
		pause = min(max(firstPause, 2*pause), longestPause)
		s.fail(why, pause)
		if !s.waitUnlessEnding(pause) {
			return
		}
	}
}

// fail notes that the process ended by itself.
func (s *session) fail(why string, pause time.Duration) {
	s.restarting = true
	s.log.Error("the process of a BGP session ended", "reason", why, "pause", pause)
	s.change(func() {
		if s.state.State == bgp.StateEstablished {
			s.state.Since = s.opts.Now()
		}
		s.state.State, s.state.PeerASN = bgp.StateIdle, 0
		s.state.Failures++
		s.state.Problem = terminal.Excerpt(fmt.Sprintf("the process of this session ended: %s; it starts again in %v", why, pause), wire.MaxProblem)
	})
}

// waitUnlessEnding waits. It returns false if the session is to end.
func (s *session) waitUnlessEnding(pause time.Duration) bool {
	over := time.NewTimer(pause)
	defer over.Stop()
	for {
		if s.isEnding() {
			return false
		}
		select {
		case <-s.wake:
		case <-over.C:
			s.wakeUp() // what was said meanwhile
			return true
		}
	}
}

func (s *session) isEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending != nil
}
