package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/bgp"
)

const (
	// startRetry is the pause after a session that could not even be set up.
	startRetry = 5 * time.Second
	// refusedRetry is the pause after a peer that is in the wrong AS.
	refusedRetry = 30 * time.Second
)

// target is what a session is to do next; a newer one replaces it.
type target struct {
	session bgp.Session
	node    []netip.Addr
	// end says that the session goes; silent, that a peer with graceful restart
	// is not notified.
	end, silent bool
}

// options are what a session needs of its process.
type options struct {
	now func() time.Time
	// changed is called when the status may have changed. It must not block.
	changed func()
	log     *slog.Logger
}

// session is one peer. Its goroutine alone talks to gobgp.
type session struct {
	opts     options
	log      *slog.Logger
	servers  *pool
	wake     chan struct{}
	ended    chan struct{}
	counters counters

	mu        sync.Mutex // guards what follows
	next      *target
	suspended string
	state     bgp.Status

	// The rest belongs to the goroutine.
	restarting bool
	running    *running
	finder     *routerFinder // of the router, where there is only an interface
	// tried is what was started last; retry says when to try it again.
	tried bgp.Peer
	retry <-chan time.Time
}

// newSession returns the session of a peer. Restarting says that an earlier
// process may have held it, so that the peer may still keep its routes.
func newSession(peer bgp.Peer, opts options, restarting bool) *session {
	peer.Password = ""
	return &session{
		opts: opts, log: opts.log.With("peer", peer.Name), servers: &pool{log: opts.log}, restarting: restarting,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), state: bgp.Status{Peer: peer, State: bgp.StateIdle},
	}
}

// setTarget gives the session its next target, without waiting.
func (s *session) setTarget(o *target) {
	s.mu.Lock()
	s.next = o
	s.mu.Unlock()
	s.wakeUp()
}

// suspend keeps the session down as long as why is not empty.
func (s *session) suspend(why string) {
	s.mu.Lock()
	s.suspended = why
	s.mu.Unlock()
	s.wakeUp()
}

func (s *session) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *session) status() bgp.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// change edits the state, and calls changed if it is another one.
func (s *session) change(edit func(*bgp.Status)) {
	s.mu.Lock()
	before := s.state
	edit(&s.state)
	differs := before != s.state
	s.mu.Unlock()
	if differs {
		s.opts.changed()
	}
}

// run pursues targets until one ends the session.
func (s *session) run() {
	defer close(s.ended)
	for {
		select {
		case <-s.wake:
		case <-s.retry:
			s.retry = nil
		}
		s.mu.Lock()
		o, suspended := s.next, s.suspended
		s.mu.Unlock()
		if o.end {
			if !o.silent || s.running == nil || !s.running.peer.GracefulRestart {
				s.stop()
			}
			s.find("")
			return
		}
		s.pursue(o, suspended)
	}
}

// pursue brings the session to its target, unless it is suspended.
func (s *session) pursue(o *target, suspended string) {
	w := o.session
	at, missing := s.findEndpoints(w.Peer)
	if s.running != nil && (s.running.peer != w.Peer || s.running.endpoints != at || suspended != "") {
		s.stop()
		s.retry = nil
	}
	if s.tried != w.Peer {
		s.retry = nil
	}
	shown := w.Peer
	shown.Password = ""
	s.change(func(st *bgp.Status) {
		st.Peer, st.Address, st.Routes = shown, at.peer, len(w.Routes)
		if why := cmp.Or(suspended, missing); why != "" {
			st.Problem = why
		}
	})
	if suspended != "" || missing != "" {
		return
	}
	if s.running == nil {
		if s.retry != nil {
			return // it is not time yet
		}
		if err := s.start(o, at); err != nil {
			s.fail(err.Error(), startRetry)
			return
		}
	}
	s.observe()
	if s.running == nil {
		return
	}
	if s.running.mayAnnounce() {
		if err := s.running.announceAll(w.Routes); err != nil {
			s.log.Error("send routes", "err", err)
			s.stop()
			s.fail(err.Error(), startRetry)
		}
	}
}

func (s *session) start(o *target, at endpoints) error {
	s.tried = o.session.Peer
	r, err := start(o, at, s.servers, s.restarting, s.wakeUp)
	if err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	s.running, s.restarting = r, false
	s.counters.now.Store(r)
	return nil
}

// stop ends the session so that the peer knows.
func (s *session) stop() {
	if s.running == nil {
		return
	}
	past := s.readCounters()
	s.counters.now.Store(nil)
	s.counters.past.Store(&past)
	s.running.stop()
	s.running = nil
	s.change(func(st *bgp.Status) { st.State, st.PeerASN = bgp.StateIdle, 0 })
}

func (s *session) fail(problem string, pause time.Duration) {
	s.retry = time.After(pause)
	s.change(func(st *bgp.Status) { st.Problem = problem })
}

// observe takes over what gobgp says of the session, and refuses a peer that is
// in the wrong AS.
func (s *session) observe() {
	now, asn := s.running.observed()
	problem := ""
	if now != bgp.StateEstablished {
		problem = s.running.server.problems.lastProblem()
	}
	if refused := wrongAS(s.running.peer, now, asn); refused != "" {
		s.stop()
		s.fail(refused, refusedRetry)
		return
	}
	s.change(func(st *bgp.Status) { st.State, st.PeerASN, st.Problem = now, asn, problem })
}

// wrongAS says what is wrong with the AS of a peer that may choose its own.
func wrongAS(p bgp.Peer, state string, asn uint32) string {
	if state != bgp.StateEstablished || p.Dynamic == "" {
		return ""
	}
	internal := asn == cmp.Or(p.LocalASN, p.MyASN)
	if internal == (p.Dynamic == v1beta2.DynamicASNInternal) {
		return ""
	}
	return fmt.Sprintf("the peer's AS is %d, which is not %s to %d", asn, p.Dynamic, p.OwnASN())
}

// findEndpoints is where the peer is, or why that is not known.
func (s *session) findEndpoints(p bgp.Peer) (at endpoints, missing string) {
	s.find(p.Interface)
	if s.finder == nil {
		return endpoints{peer: p.Address}, ""
	}
	at, missing = s.finder.router(s.opts.now())
	if missing != "" && s.running != nil && s.running.peer == p {
		return s.running.endpoints, "" // BGP itself notices whether it is there
	}
	return at, missing
}

// find looks for the router on the interface, or for none if it is empty.
func (s *session) find(link string) {
	if s.finder != nil && s.finder.link != link {
		s.finder.stop()
		s.finder = nil
	}
	if s.finder == nil && link != "" {
		s.finder = newRouterFinder(link, s.wakeUp, s.log)
	}
}

// running is a session that gobgp holds.
type running struct {
	peer      bgp.Peer
	endpoints endpoints
	server    *bgpServer
	pool      *pool
	nextHops  nextHops
	announced []bgp.Route // sorted
	cancel    context.CancelFunc

	mu    sync.Mutex
	state string
	asn   uint32
}

func (r *running) observed() (state string, asn uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.asn
}

// mayAnnounce says whether the peer may get routes: one that must first show
// its AS only then. With graceful restart routes have to be there before.
func (r *running) mayAnnounce() bool {
	if r.peer.Dynamic == "" || r.peer.GracefulRestart {
		return true
	}
	state, _ := r.observed()
	return state == bgp.StateEstablished
}
