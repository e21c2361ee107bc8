package bfd

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/bfd/protocol"
)

// ErrExists is what Add returns for a second session between the same ends.
var ErrExists = errors.New("there is a BFD session with this peer already")

// Options configure an Engine.
type Options struct {
	// Registerer takes the metrics; nil: there are none.
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Engine has the sessions of a node. Its methods may be called from any goroutine.
type Engine struct {
	log     *slog.Logger
	metrics *metrics

	mu sync.RWMutex
	// sessions by their own discriminator, and by peer address. The second finds
	// the session of packets whose sender does not know our discriminator yet.
	byDisc    map[uint32]*Session
	byPeer    map[netip.Addr][]*Session
	listeners map[endpoint]*listener
	closed    bool
	running   sync.WaitGroup
}

// New returns an Engine without sessions, which listens to nothing yet. It fails
// if the metrics cannot be registered.
func New(opts Options) (*Engine, error) {
	e := &Engine{
		log: opts.Log.With("part", "bfd"), metrics: newMetrics(),
		byDisc: map[uint32]*Session{}, byPeer: map[netip.Addr][]*Session{}, listeners: map[endpoint]*listener{},
	}
	if opts.Registerer != nil {
		for _, c := range []prometheus.Collector{e, e.metrics.discarded} {
			if err := opts.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("register BFD metrics: %w", err)
			}
		}
	}
	return e, nil
}

// Add starts a session. It fails if cfg is invalid, or with ErrExists. That the
// peer or the socket cannot be reached is no error: it is tried again until it
// works, and Session.Status reports it.
func (e *Engine) Add(cfg Config) (*Session, error) {
	cfg, err := cfg.normal()
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("the BFD engine is closed")
	}
	for _, s := range e.byPeer[cfg.Peer] {
		if s.same(cfg) {
			return nil, fmt.Errorf("%w: %s", ErrExists, cfg.Peer)
		}
	}
	disc, err := e.discriminator()
	if err != nil {
		return nil, err
	}
	s := newSession(e, cfg, disc)
	e.byDisc[disc] = s
	e.byPeer[cfg.Peer] = append(e.byPeer[cfg.Peer], s)
	s.listener = e.listen(s.endpoint())
	e.running.Go(s.run)
	return s, nil
}

// discriminator returns one that no session has.
func (e *Engine) discriminator() (uint32, error) {
	for {
		var b [4]byte
		if _, err := rand.Read(b[:]); err != nil {
			return 0, fmt.Errorf("choose BFD discriminator: %w", err)
		}
		disc := binary.BigEndian.Uint32(b[:])
		if _, taken := e.byDisc[disc]; disc != 0 && !taken {
			return disc, nil
		}
	}
}

// remove forgets a session that is closed.
func (e *Engine) remove(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byDisc[s.disc] != s {
		return
	}
	delete(e.byDisc, s.disc)
	e.byPeer[s.cfg.Peer] = slices.DeleteFunc(e.byPeer[s.cfg.Peer], func(other *Session) bool { return other == s })
	if len(e.byPeer[s.cfg.Peer]) == 0 {
		delete(e.byPeer, s.cfg.Peer)
	}
	e.unlisten(s.endpoint())
}

// Sessions returns the state of all sessions, by peer address.
func (e *Engine) Sessions() []Status {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([]Status, 0, len(e.byDisc))
	for _, s := range e.byDisc {
		out = append(out, s.Status())
	}
	slices.SortFunc(out, func(a, b Status) int { return a.Peer.Compare(b.Peer) })
	return out
}

// Close ends all sessions, telling the peers, and returns when that is done.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	all := make([]*Session, 0, len(e.byDisc))
	for _, s := range e.byDisc {
		all = append(all, s)
	}
	e.mu.Unlock()
	for _, s := range all {
		s.Close()
	}
	e.running.Wait()
}

// deliver hands a packet to the session that it is for.
func (e *Engine) deliver(from endpoint, a arrival) {
	p, err := protocol.Parse(a.payload)
	if err != nil {
		e.metrics.discard("malformed")
		return
	}
	e.mu.RLock()
	s := e.find(from, a, p)
	e.mu.RUnlock()
	switch {
	case s == nil:
		e.metrics.discard("unknown session")
	case !s.expects(a):
		e.metrics.discard("interface")
	case a.ttl < s.minTTL():
		e.metrics.discard("TTL")
	default:
		s.offer(received{packet: p, at: time.Now()})
	}
}

// find returns the session that a packet belongs to (RFC 5880 section 6.8.6,
// RFC 5881 section 3). A discriminator alone is not enough: the packet must also
// come from that session's peer.
func (e *Engine) find(from endpoint, a arrival, p protocol.Packet) *Session {
	if p.Your != 0 {
		if s := e.byDisc[p.Your]; s != nil && s.matches(from, a) {
			return s
		}
		return nil
	}
	for _, s := range e.byPeer[a.src] {
		if s.matches(from, a) {
			return s
		}
	}
	return nil
}
