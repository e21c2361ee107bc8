// Package process holds the BGP sessions of a node, each in a process of its own
// (cmd/speaker-bgp), so that nothing that a peer sends ends more than its own
// session: not the speaker, which answers ARP and NDP, nor the sessions with
// other peers. docs/decisions/bgp-processes.md says why.
//
//	Apply, Suspend ─▶ session (one goroutine per peer) ─ commands ─▶ process (bgp/engine) ─▶ TCP
//	Status, Collect ◀─ session ◀──────────────────────── reports ◀┘
//
// A process that ends is started again after a pause that doubles up to a
// minute, and is sent all that it is to do.
package process

import (
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/wire"
)

// Options configure a Host.
type Options struct {
	// Program is the path of what holds a session, with its arguments and its
	// environment.
	Program   string
	Args, Env []string
	// Restarting says that an earlier process on this node may have held the
	// sessions, so that peers may still keep its routes. It concerns sessions
	// with graceful restart only, whose process starts the first time.
	Restarting bool
	// Changed is called when the Status of any session may have changed. It
	// must not block.
	Changed func()
	// Now is the clock.
	Now func() time.Time
	// Output takes what the processes log.
	Output io.Writer
	Log    *slog.Logger
}

// Host holds the sessions of a node. All methods may be called concurrently.
type Host struct {
	opts    Options
	metrics []description

	mu       sync.Mutex
	sessions map[string]*session
	closed   bool
}

// New returns a host without sessions.
func New(opts Options) *Host {
	return &Host{opts: opts, metrics: descriptions(), sessions: map[string]*session{}}
}

// Apply replaces what is wanted. Sessions whose Peer is unchanged stay up, and
// their peers are sent the difference only. It does not wait. Node are the
// node's addresses, for routes of another family than their session.
func (h *Host) Apply(wanted []bgp.Session, node []netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	present := map[string]bool{}
	for _, w := range wanted {
		present[w.Peer.Name] = true
		s := h.sessions[w.Peer.Name]
		if s == nil {
			s = newSession(w.Peer, &h.opts)
			h.sessions[w.Peer.Name] = s
			s.setTarget(w, node)
			go s.run()
			continue
		}
		s.setTarget(w, node)
	}
	for name, s := range h.sessions {
		if !present[name] {
			delete(h.sessions, name)
			s.end(wire.End{Farewell: true, Limit: endLimit})
		}
	}
}

// Suspend ends a session at once, and keeps it from coming back until Resume. Why
// is shown as its problem. It does nothing if there is no such session.
func (h *Host) Suspend(peer, why string) { h.suspend(peer, why) }

// Resume lets a suspended session come back.
func (h *Host) Resume(peer string) { h.suspend(peer, "") }

func (h *Host) suspend(peer, why string) {
	h.mu.Lock()
	s := h.sessions[peer]
	h.mu.Unlock()
	if s != nil {
		s.suspend(why)
	}
}

// Status returns the sessions' states, sorted by peer name.
func (h *Host) Status() []bgp.Status {
	var all []bgp.Status
	for _, s := range h.all() {
		all = append(all, s.sample().status)
	}
	return all
}

// all returns the sessions, sorted by peer name.
func (h *Host) all() []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session) int { return strings.Compare(a.name, b.name) })
	return all
}

// Close ends all sessions and waits for it, up to the limit. Peers with graceful
// restart are not notified that this process ends, so that they keep its routes for
// the next one; from all others the routes are withdrawn. With farewell, from
// those as well: the node itself goes away.
func (h *Host) Close(farewell bool, limit time.Duration) {
	h.mu.Lock()
	ending := h.sessions
	h.sessions, h.closed = map[string]*session{}, true
	h.mu.Unlock()
	timeout := time.After(limit)
	for _, s := range ending {
		s.end(wire.End{Farewell: farewell, Limit: limit})
	}
	for _, s := range ending {
		select {
		case <-s.ended:
		case <-timeout:
			return
		}
	}
}
