package bfd

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bfd/protocol"
)

const (
	// backlog is how many packets may wait for a session. More come only from
	// a host that floods it.
	backlog = 32
	// reopen is how soon a socket that could not be opened is tried again.
	reopen = time.Second
	// stall is the lateness of a timer which shows that this process did not get
	// to run, so that packets may have arrived that are not read yet.
	stall = 5 * time.Millisecond
	// stallGrace is how long to wait for such packets.
	stallGrace = 10 * time.Millisecond
)

// received is a packet and when it was read.
type received struct {
	packet protocol.Packet
	at     time.Time
}

// Session is one end of a session, running until it is closed.
type Session struct {
	engine   *Engine
	cfg      Config // but for Profile, which changes
	disc     uint32
	listener *listener
	in       chan received
	wake     chan struct{}
	closing  chan struct{}
	closed   sync.Once
	// ifindex is the index of cfg.Interface; 0: any, or not there.
	ifindex   atomic.Int64
	leads     *peerInterfaces // where cfg.Interface is none
	floor     atomic.Int64    // the smallest TTL of a multihop session's packets
	counts    counters
	machine   *protocol.Machine
	out       sender
	nextOpen  time.Time
	lastState State

	mu      sync.Mutex
	profile *Profile // to be applied; nil: nothing
	status  Status
}

func newSession(e *Engine, cfg Config, disc uint32) *Session {
	s := &Session{
		engine: e, cfg: cfg, disc: disc,
		in: make(chan received, backlog), wake: make(chan struct{}, 1), closing: make(chan struct{}),
		leads:     &peerInterfaces{peer: cfg.Peer, vrf: cfg.VRF, indexes: routesTo},
		machine:   protocol.NewMachine(disc, cfg.Profile.config(), rand.Float64),
		out:       sender{cfg: cfg},
		lastState: Down,
	}
	s.floor.Store(int64(cfg.Profile.MinimumTTL))
	s.status = Status{
		Peer: cfg.Peer, Local: cfg.Local, Interface: cfg.Interface, VRF: cfg.VRF, Multihop: cfg.Multihop,
		State: Down, Since: time.Now(),
	}
	return s
}

// same says whether cfg is for a session between the same hosts, of which there
// is one only.
func (s *Session) same(cfg Config) bool {
	return s.cfg.Peer == cfg.Peer && s.cfg.VRF == cfg.VRF && s.label() == label(cfg)
}

// label is how metrics call the peer. A link-local address names a host on one
// interface only.
func (s *Session) label() string { return label(s.cfg) }

func label(cfg Config) string {
	if cfg.Peer.Is6() && cfg.Peer.IsLinkLocalUnicast() {
		return cfg.Peer.String() + "%" + cfg.Interface
	}
	return cfg.Peer.String()
}

func (s *Session) endpoint() endpoint {
	return endpoint{multihop: s.cfg.Multihop, v6: s.cfg.Peer.Is6(), vrf: s.cfg.VRF}
}

// matches says whether a packet that came in this way can be of this session's peer.
func (s *Session) matches(from endpoint, a arrival) bool {
	if from != s.endpoint() || a.src != s.cfg.Peer {
		return false
	}
	if s.cfg.Local.IsValid() && a.dst != s.cfg.Local {
		return false
	}
	return true
}

// expects says whether the packet came by an interface that leads to the peer.
func (s *Session) expects(a arrival) bool {
	if s.cfg.Interface != "" {
		return int64(a.ifindex) == s.ifindex.Load()
	}
	return s.leads.contains(a.ifindex, time.Now())
}

// minTTL returns the smallest TTL at which a packet is accepted. Nobody beyond
// the first router can send one that arrives with 255 (RFC 5881 section 5).
func (s *Session) minTTL() int {
	if !s.cfg.Multihop {
		return 255
	}
	return int(s.floor.Load())
}

func (s *Session) offer(r received) {
	select {
	case s.in <- r:
	default:
		s.engine.metrics.discard("flood")
	}
}

// SetProfile changes what this end wants, without ending the session. It fails
// if the profile is invalid; then nothing changes.
func (s *Session) SetProfile(p Profile) error {
	if err := p.validate(); err != nil {
		return err
	}
	s.mu.Lock()
	s.profile = &p
	s.mu.Unlock()
	s.floor.Store(int64(p.MinimumTTL))
	select {
	case s.wake <- struct{}{}:
	default: // it will see the newest
	}
	return nil
}

// Status returns the session as it is now.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if problem := s.listener.problem(); st.Problem == "" && problem != "" {
		st.Problem = problem
	}
	return st
}

// Close announces to the peer that the session ends on purpose, and ends it. Changed is
// not called for that. A session with the same peer may be added at once.
func (s *Session) Close() {
	s.closed.Do(func() {
		s.engine.remove(s)
		close(s.closing)
	})
}

// run owns the machine.
func (s *Session) run() {
	defer s.out.close()
	s.open(time.Now())
	s.apply(s.machine.Start(time.Now()))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(s.pause(time.Now()))
		select {
		case <-s.closing:
			s.say(s.machine.Disable(time.Now()))
			return
		case r := <-s.in:
			s.receive(r)
		case <-s.wake:
			s.adopt()
		case <-timer.C:
			s.catchUp()
			s.apply(s.machine.Tick(time.Now()))
		}
	}
}

// receive takes a packet. One without our discriminator, which any host can send,
// never ends a session that is Up, nor prolongs it: a peer that started again and
// forgot this session is silent in it, and so lost after the detection time.
func (s *Session) receive(r received) {
	if r.packet.Your == 0 && s.machine.State() == Up {
		s.engine.metrics.discard("no discriminator")
		return
	}
	s.counts.in.Add(1)
	s.apply(s.machine.Receive(r.at, r.packet))
}

// pause returns how long nothing is to be done.
func (s *Session) pause(now time.Time) time.Duration {
	if !s.out.opened() && !now.Before(s.nextOpen) {
		s.open(now)
	}
	wait := time.Hour
	if at, ever := s.machine.Due(); ever {
		wait = max(at.Sub(now), 0)
	}
	if !s.out.opened() {
		wait = min(wait, reopen)
	}
	return wait
}

func (s *Session) open(now time.Time) {
	err := s.out.open()
	s.nextOpen = now.Add(reopen)
	s.ifindex.Store(int64(s.out.ifindex))
	s.trouble(err)
}

// trouble notes why nothing can be sent; nil: it can.
func (s *Session) trouble(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	old := s.status.Problem
	s.status.Problem = text
	s.mu.Unlock()
	if text != "" && text != old {
		s.engine.log.Error("BFD cannot send", "peer", s.cfg.Peer, "err", err)
	}
}

// adopt applies a new profile.
func (s *Session) adopt() {
	s.mu.Lock()
	p := s.profile
	s.profile = nil
	s.mu.Unlock()
	if p != nil {
		s.apply(s.machine.Set(time.Now(), p.config()))
	}
}

// catchUp takes the packets that are waiting before time runs out for the peer.
// Where this process was kept from running, the packets may not even be read yet.
func (s *Session) catchUp() {
	if late, expired := s.machine.Late(time.Now()); expired && late > stall {
		select {
		case r := <-s.in:
			s.receive(r)
		case <-time.After(stallGrace):
		}
	}
	for {
		select {
		case r := <-s.in:
			s.receive(r)
		default:
			return
		}
	}
}

// say sends what the machine wants said.
func (s *Session) say(out protocol.Output) {
	if !out.Send {
		return
	}
	if err := s.out.send(out.Packet); err != nil {
		s.trouble(err)
		return
	}
	s.counts.out.Add(1)
}

// apply does what the machine wants, and makes it known.
func (s *Session) apply(out protocol.Output) {
	s.say(out)
	m := s.machine
	from, to := s.lastState, m.State()
	s.lastState = to
	peer, peerDiag := m.Remote()
	s.mu.Lock()
	s.status.State, s.status.Diag = to, m.Diag()
	s.status.PeerState, s.status.PeerDiag = peer, peerDiag
	s.status.TxInterval, s.status.DetectionTime = m.TxInterval(), m.DetectionTime()
	if out.Changed {
		s.status.Since = time.Now()
	}
	s.mu.Unlock()
	if !out.Changed {
		return
	}
	switch {
	case to == Up:
		s.counts.ups.Add(1)
	case from == Up:
		s.counts.downs.Add(1)
	}
	c := Change{From: from, To: to, Diag: m.Diag(), PeerAdminDown: peer == AdminDown && m.Diag() == protocol.NeighborDown}
	s.engine.log.Info("BFD session", "peer", s.cfg.Peer, "from", from.String(), "to", to.String(), "diag", c.Diag.String(), "peerDiag", peerDiag.String())
	if s.cfg.Changed != nil {
		s.cfg.Changed(c)
	}
}
