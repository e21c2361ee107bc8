// Package engine holds BGP sessions: it dials the peers of a node, tells them
// routes, and reports how the sessions are. What to tell whom is package bgp's
// business. It runs in processes that hold one session each (Serve), so that
// nothing that a peer sends ends more than its own.
//
// Every peer has a BGP server of its own (gobgp), which has no listener and one
// neighbour, so that its routes are exactly what this peer is told. All routes
// that peers send are refused.
//
//	Apply ─▶ session (one goroutine per peer) ─▶ gobgp ─▶ TCP
//	Status ◀─ session ◀─ state changes ◀──────────┘
package engine

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// Options configure an Engine.
type Options struct {
	// Restarting says that an earlier process on this node may have held the
	// sessions, so that peers may still keep its routes. It concerns sessions
	// with graceful restart only, the first time that they start.
	Restarting bool
	// Changed is called when the Status of any session may have changed. It
	// must not block.
	Changed func()
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
}

// Engine holds the sessions of a node. All methods may be called concurrently.
type Engine struct {
	opts Options

	mu       sync.Mutex
	sessions map[string]*session
	servers  *pool
	// seen are the peers whose session this process has started before.
	seen   map[string]bool
	closed bool
}

// New returns an engine without sessions.
func New(opts Options) *Engine {
	return &Engine{opts: opts, sessions: map[string]*session{}, servers: &pool{log: opts.Log}, seen: map[string]bool{}}
}

// Apply replaces what is wanted. Sessions whose Peer is unchanged stay up, and
// their peers are told the difference only. It does not wait. Node are the
// node's addresses, for routes of another family than their session.
func (e *Engine) Apply(wanted []bgp.Session, node []netip.Addr) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	present := map[string]bool{}
	for _, w := range wanted {
		present[w.Peer.Name] = true
		s := e.sessions[w.Peer.Name]
		if s == nil {
			s = newSession(w.Peer, e.opts, e.servers, e.opts.Restarting && !e.seen[w.Peer.Name])
			e.sessions[w.Peer.Name], e.seen[w.Peer.Name] = s, true
			go s.run()
		}
		s.want(&order{session: w, node: node})
	}
	for name, s := range e.sessions {
		if !present[name] {
			delete(e.sessions, name)
			s.want(&order{end: true})
		}
	}
}

// Suspend ends a session at once, and keeps it from coming back until Resume. Why
// is shown as its problem. It does nothing if there is no such session.
func (e *Engine) Suspend(peer, why string) { e.setSuspended(peer, why) }

// Resume lets a suspended session come back.
func (e *Engine) Resume(peer string) { e.setSuspended(peer, "") }

func (e *Engine) setSuspended(peer, why string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[peer]; s != nil {
		s.suspend(why)
	}
}

// Status returns the sessions' states, sorted by peer name.
func (e *Engine) Status() []bgp.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]bgp.Status, 0, len(e.sessions))
	for _, s := range e.sessions {
		all = append(all, s.status())
	}
	slices.SortFunc(all, func(a, b bgp.Status) int { return strings.Compare(a.Peer.Name, b.Peer.Name) })
	return all
}

// Counters returns how many messages were exchanged with a peer.
func (e *Engine) Counters(peer string) bgp.Counters {
	e.mu.Lock()
	s := e.sessions[peer]
	e.mu.Unlock()
	if s == nil {
		return bgp.Counters{}
	}
	return s.counted()
}

// Close ends all sessions and waits for it, up to the limit. Peers with graceful
// restart are not told that this process ends, so that they keep its routes for
// the next one; from all others the routes are withdrawn. With farewell, from
// those as well: the node itself goes away.
func (e *Engine) Close(farewell bool, limit time.Duration) {
	e.mu.Lock()
	ending := e.sessions
	e.sessions, e.closed = map[string]*session{}, true
	e.mu.Unlock()
	timeout := time.After(limit)
	for _, s := range ending {
		s.want(&order{end: true, silent: !farewell})
	}
	for _, s := range ending {
		select {
		case <-s.ended:
		case <-timeout:
			return
		}
	}
}
