// Package engine holds a BGP session: it dials the peer, sends it routes, and
// reports how the session is. Which routes to send to which peer is package bgp's business. It
// runs in a process for each session (Serve), so that nothing that a peer sends
// ends more than its own.
//
// gobgp has no listener and one neighbour, so that its routes are exactly what
// this peer is told. All routes that the peer sends are refused.
//
//	commands ─▶ session (one goroutine) ─▶ gobgp ─▶ TCP
//	reports ◀─ session ◀─ state changes ◀──┘
package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/wire"
)

// closeLimit is how long a session may take to end unless the command says it.
const closeLimit = 3 * time.Second

// errLeft says that the speaker is gone, or wants nothing more of this process.
var errLeft = errors.New("the speaker closed the connection")

// Serve holds the one session that the commands describe and writes reports about
// it, until a command ends it. An end of the commands without one is the death of
// the speaker: Serve returns at once, and the peer is sent no more than a
// crash, so that it keeps the routes for the next speaker (graceful restart).
func Serve(orders io.Reader, reports io.Writer, log *slog.Logger) error {
	s := &sessionServer{log: log, reports: reports, changed: make(chan struct{}, 1)}
	next := make(chan wire.Command)
	failed := make(chan error, 1)
	go func() {
		for dec := json.NewDecoder(orders); ; {
			var o wire.Command
			err := dec.Decode(&o)
			if errors.Is(err, io.EOF) {
				err = errLeft
			}
			if err != nil {
				failed <- fmt.Errorf("read a command: %w", err)
				return
			}
			next <- o
		}
	}()
	for {
		select {
		case o := <-next:
			if o.End != nil {
				s.end(*o.End)
				return nil
			}
			s.handle(o)
			if o.Ask == 0 {
				continue
			}
		case <-s.changed:
		case err := <-failed:
			return err
		}
		if err := s.report(); err != nil {
			return err
		}
	}
}

// sessionServer is the one session of a process.
type sessionServer struct {
	log     *slog.Logger
	reports io.Writer
	changed chan struct{}
	session *session // nil before the first command
	peer    bgp.Peer
	node    []netip.Addr
	routes  []bgp.Route // sorted; the session keeps it
	asked   uint64
}

func (s *sessionServer) handle(o wire.Command) {
	s.asked = max(s.asked, o.Ask)
	if o.Peer != nil {
		s.peer, s.node = *o.Peer, o.Node
		if s.session == nil {
			s.session = newSession(s.peer, options{now: time.Now, changed: s.requestReport, log: s.log}, o.Restarting)
			go s.session.run()
		}
	}
	if s.session == nil {
		return // a first command has the peer
	}
	differ := len(o.Withdraw)+len(o.Announce) > 0
	if differ {
		s.routes = applyChanges(s.routes, o.Withdraw, o.Announce)
	}
	if o.Peer != nil || differ {
		s.session.setTarget(&target{session: bgp.Session{Peer: s.peer, Routes: s.routes}, node: s.node})
	}
	if o.Suspend != nil {
		s.session.suspend(*o.Suspend)
	}
}

// requestReport has the state reported soon.
func (s *sessionServer) requestReport() {
	select {
	case s.changed <- struct{}{}:
	default: // it will be
	}
}

func (s *sessionServer) report() error {
	r := wire.Report{State: bgp.StateIdle, Answers: s.asked}
	if s.session != nil {
		st := s.session.status()
		r.Address, r.State, r.Problem, r.PeerASN = st.Address, st.State, st.Problem, st.PeerASN
		r.Counters = s.session.readCounters()
	}
	return wire.Write(s.reports, r)
}

// end ends the session and waits for it, up to the limit. A peer with graceful
// restart is not told without a farewell, so that it keeps the routes for the
// next process; from all others they are withdrawn.
func (s *sessionServer) end(how wire.End) {
	if s.session == nil {
		return
	}
	s.session.setTarget(&target{end: true, silent: !how.Farewell})
	select {
	case <-s.session.ended:
	case <-time.After(cmp.Or(how.Limit, closeLimit)):
	}
}

// applyChanges returns the routes without those that are withdrawn and with those that
// are announced, sorted.
func applyChanges(routes []bgp.Route, withdrawn []netip.Prefix, announced []bgp.Route) []bgp.Route {
	drop := make(map[netip.Prefix]bool, len(withdrawn)+len(announced))
	for _, p := range withdrawn {
		drop[p] = true
	}
	for _, r := range announced {
		drop[r.Prefix] = true
	}
	out := make([]bgp.Route, 0, len(routes)+len(announced))
	for _, r := range routes {
		if !drop[r.Prefix] {
			out = append(out, r)
		}
	}
	out = append(out, announced...)
	slices.SortFunc(out, bgp.CompareRoutes)
	return out
}
