package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/server"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// stopLimit is how long a server may take to end its session.
const stopLimit = 3 * time.Second

// bgpServer is a gobgp server and what it logs.
type bgpServer struct {
	*server.BgpServer
	problems *problemLogger
}

// pool keeps gobgp servers that are not used now: their goroutine never ends,
// so they are used again.
type pool struct {
	log *slog.Logger

	mu   sync.Mutex
	free []*bgpServer
}

func (p *pool) take(peer bgp.Peer, changed func()) *bgpServer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		s.problems.setPeer(peer, changed)
		return s
	}
	e := &problemLogger{log: p.log}
	e.setPeer(peer, changed)
	s := &bgpServer{BgpServer: server.NewBgpServer(server.LoggerOption(e)), problems: e}
	go s.Serve()
	return s
}

func (p *pool) give(s *bgpServer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, s)
}

// start makes a server with one neighbour. Routes come before the neighbour, so
// that a peer that kept those of an earlier process gets all of them before it
// drops the rest. Changed is called when the state changes.
func start(o *target, at endpoints, servers *pool, restarting bool, changed func()) (*running, error) {
	peer := o.session.Peer
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{
		peer: peer, endpoints: at, server: servers.take(peer, changed), pool: servers, cancel: cancel,
		nextHops: findNextHops(peer, at, o.node), state: bgp.StateIdle,
	}
	err := r.server.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn: peer.MyASN, RouterId: peer.RouterID.String(), ListenPort: -1,
	}})
	if err == nil {
		err = r.setUp(ctx, o, restarting, changed)
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

func (r *running) setUp(ctx context.Context, o *target, restarting bool, changed func()) error {
	if err := r.refuseRoutes(ctx); err != nil {
		return fmt.Errorf("refuse the peer's routes: %w", err)
	}
	err := r.server.WatchEvent(ctx, &api.WatchEventRequest{Peer: &api.WatchEventRequest_Peer{}}, func(e *api.WatchEventResponse) {
		r.event(e)
		changed()
	})
	if err != nil {
		return fmt.Errorf("watch the session: %w", err)
	}
	if r.mayAnnounce() {
		if err := r.announceAll(o.session.Routes); err != nil {
			return err
		}
	}
	err = r.server.AddPeer(ctx, &api.AddPeerRequest{Peer: peerOf(r.peer, r.endpoints.peer.String(), restarting)})
	if err != nil {
		return fmt.Errorf("add the neighbour: %w", err)
	}
	return nil
}

// refuseRoutes lets no route into the server's table but our own, to which
// gobgp applies its import policy as well.
func (r *running) refuseRoutes(ctx context.Context) error {
	own := &api.Policy{Name: "own", Statements: []*api.Statement{{
		Name:       "own",
		Conditions: &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_LOCAL},
		Actions:    &api.Actions{RouteAction: api.RouteAction_ACCEPT},
	}}}
	if err := r.server.AddPolicy(ctx, &api.AddPolicyRequest{Policy: own}); err != nil {
		return err
	}
	return r.server.AddPolicyAssignment(ctx, &api.AddPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
		Name: "global", Direction: api.PolicyDirection_IMPORT, Policies: []*api.Policy{{Name: "own"}}, DefaultAction: api.RouteAction_REJECT,
	}})
}

func (r *running) event(e *api.WatchEventResponse) {
	p := e.GetPeer()
	if p.GetType() != api.WatchEventResponse_PeerEvent_STATE {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = stateName(p.GetPeer().GetState().GetSessionState())
	r.asn = 0
	if r.state == bgp.StateEstablished {
		r.asn = p.GetPeer().GetState().GetPeerAsn()
	}
}

// stateName returns RFC 4271's word.
func stateName(s api.PeerState_SessionState) string {
	switch s {
	case api.PeerState_CONNECT:
		return bgp.StateConnect
	case api.PeerState_ACTIVE:
		return bgp.StateActive
	case api.PeerState_OPENSENT:
		return bgp.StateOpenSent
	case api.PeerState_OPENCONFIRM:
		return bgp.StateOpenConfirm
	case api.PeerState_ESTABLISHED:
		return bgp.StateEstablished
	default:
		return bgp.StateIdle
	}
}

// announceAll makes the routes what the peer has. It sends the difference only. It
// keeps the list, which other sessions may have as well.
func (r *running) announceAll(routes []bgp.Route) error {
	if !slices.IsSortedFunc(routes, bgp.CompareRoutes) {
		routes = slices.SortedFunc(slices.Values(routes), bgp.CompareRoutes)
	}
	gone, changed := bgp.Differences(r.announced, routes)
	for _, route := range gone {
		if err := r.withdraw(route); err != nil {
			return err
		}
	}
	for _, route := range changed {
		if err := r.announce(route); err != nil {
			return err
		}
	}
	r.announced = routes
	return nil
}

func (r *running) announce(route bgp.Route) error {
	hop := r.nextHop(route.Prefix)
	if !hop.IsValid() {
		return nil // the other family has no address here; Check says so
	}
	path, err := pathOf(route, hop, r.peer)
	if err != nil {
		return err
	}
	if _, err := r.server.AddPath(context.Background(), &api.AddPathRequest{Path: path}); err != nil {
		return fmt.Errorf("announce %s: %w", route.Prefix, err)
	}
	return nil
}

func (r *running) withdraw(route bgp.Route) error {
	hop := r.nextHop(route.Prefix)
	if !hop.IsValid() {
		return nil // it was never announced
	}
	path, err := pathOf(route, hop, r.peer)
	if err != nil {
		return err
	}
	if err := r.server.DeletePath(context.Background(), &api.DeletePathRequest{Path: path}); err != nil {
		return fmt.Errorf("withdraw %s: %w", route.Prefix, err)
	}
	return nil
}

func (r *running) nextHop(p netip.Prefix) netip.Addr {
	if p.Addr().Is4() {
		return r.nextHops.v4
	}
	return r.nextHops.v6
}

// stop ends the session with a notification, and gives the server back. A
// server that does not end in time is left alone.
func (r *running) stop() {
	r.cancel()
	done := make(chan error, 1)
	go func() { done <- r.server.StopBgp(context.Background(), &api.StopBgpRequest{}) }()
	select {
	case err := <-done:
		if err == nil || strings.Contains(err.Error(), "not started") {
			r.pool.give(r.server)
			return
		}
		r.pool.log.Error("stop BGP server", "err", err)
	case <-time.After(stopLimit):
		r.pool.log.Error("stop BGP server", "err", errors.New("it does not end"))
	}
}
