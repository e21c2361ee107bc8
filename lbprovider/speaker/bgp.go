package speaker

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// Routers holds BGP sessions; process.Host is one.
type Routers interface {
	// Apply replaces what each peer is told.
	Apply(sessions []bgp.Session, node []netip.Addr)
	Status() []bgp.Status
	Suspend(peer, why string)
	Resume(peer string)
	Close(farewell bool, limit time.Duration)
}

// bgpSide is the part of a Speaker that announces by BGP. Only the Speaker's
// Reconcile touches its mutable state.
type bgpSide struct {
	*Speaker
	routers Routers
	watch   *bfdWatch
	states  *sessionWriter
	gate    *gate

	// self and addrs are this node.
	self    labels.Set
	addrs   []netip.Addr
	peers   []bgp.Peer
	verdict map[types.NamespacedName]bgpVerdict
	// dirty says that what the peers are to be told may have changed; intended is
	// which of them are to be told of each Service.
	dirty    bool
	intended map[types.NamespacedName][]string
	// refused is by how many routes a peer exceeds what it may be told.
	refused map[string]int
	// up is which sessions were established when that was last told, and failures
	// how often the process of each had ended by itself.
	up       map[string]bool
	failures map[string]int
}

// bgpVerdict is the last decision about one Service.
type bgpVerdict struct {
	announce bool
	reason   bgp.Reason
	// detail is what the reason does not say, as in bgp.Decision.
	detail string
	offers []bgp.Offer
	addrs  []netip.Addr
	// waits says that the node is to announce but cannot deliver yet.
	waits bool
}

// setUpBGP adds the part that announces by BGP, if somebody does.
func (s *Speaker) setUpBGP(mgr ctrl.Manager) error {
	if s.opts.Routers == nil {
		return nil
	}
	s.bgp = newBGPSide(s, s.opts.Routers, s.opts.Detector)
	s.bgp.states = newSessionWriter(s.client, s.opts, s.status.owner)
	if err := s.bgp.states.setup(mgr); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(s.bgp.run)); err != nil {
		return fmt.Errorf("set up BGP: %w", err)
	}
	return nil
}

func newBGPSide(s *Speaker, routers Routers, detector Detector) *bgpSide {
	b := &bgpSide{
		Speaker: s, routers: routers, gate: newGate(s.opts.NodeAddress, s.Changed),
		verdict: map[types.NamespacedName]bgpVerdict{}, refused: map[string]int{}, up: map[string]bool{}, failures: map[string]int{},
	}
	b.watch = newBFDWatch(detector, routers, s.SessionsChanged, s.log)
	return b
}

// decide computes the verdict about svc, to which addrs belong, and tells what
// is new. It says whether some node announces it.
func (b *bgpSide) decide(svc *corev1.Service, addrs []netip.Addr) (served bool) {
	if b == nil {
		return false
	}
	name := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	pool := b.cfg.PoolOf(addrs)
	if pool == nil || len(pool.BGP) == 0 {
		b.forget(name)
		return false
	}
	d := b.judge(svc, addrs)
	v := bgpVerdict{announce: d.Announce, reason: d.Reason, detail: d.Detail, offers: d.Offers, addrs: addrs}
	if v.announce {
		v.waits = !b.gate.open(svc, 0)
	} else {
		b.gate.close(name)
	}
	old, known := b.verdict[name]
	b.verdict[name] = v
	if !known || old.waits != v.waits || !slices.EqualFunc(old.offers, v.offers, sameOffer) {
		b.dirty = true
	}
	b.tellService(svc, &d, v, old, known)
	return len(d.Nodes) > 0 && d.Reason != bgp.ConflictingAdvertisements
}

// judge asks package bgp about svc.
func (b *bgpSide) judge(svc *corev1.Service, addrs []netip.Addr) bgp.Decision {
	pods := b.backends(svc)
	return bgp.Decide(bgp.Request{
		Addrs: addrs, Ads: b.cfg.PoolOf(addrs).BGP, Labels: labels.Set(svc.Labels),
		Local:     svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		Endpoints: pods.nodes, Doubts: pods.doubts,
	}, b.nodes, b.opts.NodeName)
}

func sameOffer(a, b bgp.Offer) bool {
	return a.Equal(b.Route) && slices.Equal(a.Peers, b.Peers)
}

func (b *bgpSide) tellService(svc *corev1.Service, d *bgp.Decision, v, old bgpVerdict, known bool) {
	if !known || old.announce != v.announce || old.reason != v.reason || !slices.Equal(old.addrs, v.addrs) {
		b.log.Info("decision", "service", svc.Namespace+"/"+svc.Name, "protocol", "bgp", "addresses", v.addrs, "reason", v.reason, "message", d.String())
	}
	begins := v.announce && !v.waits && (!old.announce || old.waits || !slices.Equal(old.addrs, v.addrs))
	failed := v.detail != "" || v.reason == bgp.NoEligibleNode || v.reason == bgp.NoMatchingAdvertisement
	if begins {
		b.events.Eventf(svc, corev1.EventTypeNormal, string(api.ReasonNodeAssigned),
			"announcing from node %q with protocol %q", b.opts.NodeName, "bgp")
	}
	if failed && (!known || old.reason != v.reason || old.detail != v.detail) && b.spokesman() {
		what := "the address is announced to no router"
		if v.announce {
			what = "one of the addresses is announced to no router"
		}
		b.events.Eventf(svc, corev1.EventTypeWarning, string(api.ReasonAnnounceFailed), "%s: %s", what, short(d.String()))
	}
}

// forget drops what is known of a Service.
func (b *bgpSide) forget(name types.NamespacedName) {
	if b == nil {
		return
	}
	if _, known := b.verdict[name]; known {
		b.dirty = true
		delete(b.verdict, name)
	}
	b.gate.close(name)
}

// load takes over the configuration and what is known of this node.
func (b *bgpSide) load(ctx context.Context) error {
	if b == nil {
		return nil
	}
	node, err := b.node(ctx)
	if err != nil {
		return err
	}
	b.self, b.addrs = labels.Set(node.Labels), nodeAddresses(node)
	b.peers = bgp.Peers(b.cfg, b.opts.NodeName, b.self, b.addrs)
	b.dirty = true
	return nil
}

// announce tells the peers, and everybody else what became of the sessions.
func (b *bgpSide) announce() {
	if b == nil {
		return
	}
	if b.dirty {
		b.dirty = false
		b.apply()
		b.intended = b.intents()
	}
	b.report()
}

// report tells what became of the sessions.
func (b *bgpSide) report() {
	if b == nil {
		return
	}
	sessions := b.routers.Status()
	b.tellSessions(sessions)
	b.watch.apply(b.cfg, sessions)
	b.states.want(b.intended, sessions, b.watch.states())
}

func (b *bgpSide) apply() {
	offers := make([]bgp.Offer, 0, len(b.verdict))
	for _, v := range b.verdict {
		if v.announce && !v.waits {
			offers = append(offers, v.offers...)
		}
	}
	sessions := make([]bgp.Session, 0, len(b.peers))
	var last []bgp.Route
	for _, peer := range b.peers {
		routes, refused := bgp.Merge(peer, offers)
		if refused > 0 && b.refused[peer.Name] == 0 {
			b.peerEvent(peer.Name, corev1.EventTypeWarning, api.ReasonTooManyRoutes,
				"node %q announces no more than %d prefixes; %d are left out: use an aggregationLength", b.opts.NodeName, bgp.MaxRoutes, refused)
		}
		b.refused[peer.Name] = refused
		if slices.EqualFunc(routes, last, bgp.Route.Equal) {
			routes = last // most peers are told the same
		}
		last = routes
		sessions = append(sessions, bgp.Session{Peer: peer, Routes: routes})
	}
	b.routers.Apply(sessions, b.addrs)
}

// intents are the peers that this node is to tell of each Service.
func (b *bgpSide) intents() map[types.NamespacedName][]string {
	out := make(map[types.NamespacedName][]string, len(b.verdict))
	lists := map[string][]string{} // which are few
	for name, v := range b.verdict {
		if !v.announce || v.waits {
			continue
		}
		var told []string
		for _, p := range b.peers {
			if slices.ContainsFunc(v.offers, func(o bgp.Offer) bool {
				return p.Carries(o.Prefix) && (len(o.Peers) == 0 || slices.Contains(o.Peers, p.Name))
			}) {
				told = append(told, p.Name)
			}
		}
		if len(told) > 0 {
			slices.Sort(told)
			key := strings.Join(told, ",")
			if lists[key] == nil {
				lists[key] = told
			}
			out[name] = lists[key]
		}
	}
	return out
}

// tellSessions puts sessions that came up or went down into log and events.
func (b *bgpSide) tellSessions(sessions []bgp.Status) {
	now, failures := map[string]bool{}, map[string]int{}
	for _, st := range sessions {
		now[st.Peer.Name], failures[st.Peer.Name] = st.Up(), st.Failures
		if st.Failures > b.failures[st.Peer.Name] {
			b.peerEvent(st.Peer.Name, corev1.EventTypeWarning, api.ReasonSessionProcessFailed,
				"node %q, session with %s: %s (%d times so far)", b.opts.NodeName, st.Peer, cmp.Or(st.Problem, "its process ended and was started again"), st.Failures)
		}
		switch {
		case st.Up() && !b.up[st.Peer.Name]:
			b.log.Info("BGP session is up", "peer", st.Peer.Name, "router", st.Peer.String(), "asn", st.PeerASN)
			b.peerEvent(st.Peer.Name, corev1.EventTypeNormal, api.ReasonSessionUp,
				"node %q and %s (AS %d) have a session; %d prefixes are announced", b.opts.NodeName, st.Peer, st.PeerASN, st.Routes)
		case !st.Up() && b.up[st.Peer.Name]:
			why := cmp.Or(st.Problem, "the connection ended")
			b.log.Error("BGP session is down", "peer", st.Peer.Name, "router", st.Peer.String(), "reason", why)
			b.peerEvent(st.Peer.Name, corev1.EventTypeWarning, api.ReasonSessionDown,
				"node %q lost its session with %s: %s", b.opts.NodeName, st.Peer, why)
		}
	}
	b.up, b.failures = now, failures
}

func (b *bgpSide) peerEvent(peer, kind string, reason api.Reason, format string, args ...any) {
	object := &corev1.ObjectReference{
		APIVersion: "metallb.io/v1beta2", Kind: "BGPPeer", Namespace: b.opts.Namespace, Name: peer,
	}
	b.events.Event(object, kind, string(reason), short(fmt.Sprintf(format, args...)))
}

// explain returns what was decided about a Service and why, or nil.
func (b *bgpSide) explain(name types.NamespacedName) (*bgp.Decision, error) {
	if b == nil {
		return nil, nil
	}
	v, known := b.verdict[name]
	if !known {
		return nil, nil
	}
	svc := b.facts.Service(name)
	if svc == nil {
		return nil, fmt.Errorf("there is no service %s", name)
	}
	if b.cfg.PoolOf(v.addrs) == nil {
		return nil, nil
	}
	d := b.judge(svc, v.addrs)
	return &d, nil
}

// run ends the sessions when ctx ends: with a farewell if the node is about to
// go, so that routers do not keep routes to it (graceful restart).
func (b *bgpSide) run(ctx context.Context) error {
	<-ctx.Done()
	node, err := b.node(context.WithoutCancel(ctx))
	b.watch.close()
	b.routers.Close(err == nil && leaving(node), closeLimit)
	return nil
}
