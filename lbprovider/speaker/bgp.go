package speaker

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/bgp"
)

const (
	bgpName = "bgp"
	// closeLimit is how long the sessions may take to end.
	closeLimit = 1500 * time.Millisecond
)

// Routers holds BGP sessions; process.Host is one.
type Routers interface {
	// Apply replaces what each peer is sent.
	Apply(sessions []bgp.Session, node []netip.Addr)
	Status() []bgp.Status
	Suspend(peer, why string)
	Resume(peer string)
	Close(farewell bool, limit time.Duration)
}

var _ Protocol = (*bgpProtocol)(nil)

// bgpProtocol announces addresses by BGP: all nodes that may announce an address
// do so, and the routers spread the traffic over them.
type bgpProtocol struct {
	client    client.Reader
	node      string
	namespace string
	routers   Routers
	backends  *backendReader
	events    record.EventRecorder
	log       *slog.Logger
	bfd       *bfdWatcher
	status    *bgpStatusWriter
	gate      *deliveryGate

	mu      sync.Mutex // guards what follows
	cluster *Cluster
	// addrs are this node's.
	addrs    []netip.Addr
	peers    []bgp.Peer
	verdicts map[types.NamespacedName]bgpVerdict
	// dirty says that what the peers are to be sent may have changed; intended is
	// which of them are to be sent the addresses of each Service.
	dirty    bool
	intended map[types.NamespacedName][]string
	// refused is by how many routes a peer exceeds what it may be sent.
	refused map[string]int
	// up is which sessions were established when that was last reported, and
	// failures how often the process of each had ended by itself.
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

// Name implements Protocol.
func (*bgpProtocol) Name() string { return bgpName }

// SetConfig implements Protocol.
func (b *bgpProtocol) SetConfig(ctx context.Context, c *Cluster) error {
	node, err := b.thisNode(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster = c
	if err != nil {
		return err
	}
	b.addrs = nodeAddresses(node)
	b.peers = bgp.Peers(c.Config, b.node, labels.Set(node.Labels), b.addrs)
	b.dirty = true
	return nil
}

// Announce implements Protocol.
func (b *bgpProtocol) Announce(req Request) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := client.ObjectKeyFromObject(req.Service)
	pool := b.cluster.Config.PoolOf(req.Addrs)
	if pool == nil || len(pool.BGP) == 0 {
		b.withdraw(name)
		return Decision{Refusal: Refusal(bgp.NoAdvertisement)}
	}
	d := b.decide(req.Service, req.Addrs)
	v := bgpVerdict{announce: d.Announce, reason: d.Reason, detail: d.Detail, offers: d.Offers, addrs: req.Addrs}
	if v.announce {
		v.waits = !b.gate.open(req.Service, 0)
	} else {
		b.gate.close(name)
	}
	old, known := b.verdicts[name]
	b.verdicts[name] = v
	if !known || old.waits != v.waits || !slices.EqualFunc(old.offers, v.offers, sameOffer) {
		b.dirty = true
	}
	return b.describe(&d, v, old, known)
}

// decide asks package bgp about a Service.
func (b *bgpProtocol) decide(svc *corev1.Service, addrs []netip.Addr) bgp.Decision {
	pods := b.backends.of(svc)
	return bgp.Decide(bgp.Request{
		Addrs: addrs, Ads: b.cluster.Config.PoolOf(addrs).BGP, Labels: labels.Set(svc.Labels),
		Local:     svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		Endpoints: pods.nodes, Doubts: pods.doubts,
	}, b.cluster.Nodes, b.node)
}

// describe returns the decision and what is new about it.
func (b *bgpProtocol) describe(d *bgp.Decision, v, old bgpVerdict, known bool) Decision {
	out := Decision{Served: len(d.Nodes) > 0 && d.Reason != bgp.ConflictingAdvertisements}
	if !v.announce {
		out.Refusal = Refusal(v.reason)
	}
	if out.Changed = !known || old.announce != v.announce || old.reason != v.reason || !slices.Equal(old.addrs, v.addrs); out.Changed {
		out.Message = d.String()
	}
	out.Starts = v.announce && !v.waits && (!old.announce || old.waits || !slices.Equal(old.addrs, v.addrs))
	failed := v.detail != "" || v.reason == bgp.NoEligibleNode || v.reason == bgp.NoMatchingAdvertisement
	if failed && (!known || old.reason != v.reason || old.detail != v.detail) && b.cluster.Reports() {
		what := "the address is announced to no router"
		if v.announce {
			what = "one of the addresses is announced to no router"
		}
		out.Problem = what + ": " + shorten(d.String())
	}
	return out
}

func sameOffer(a, b bgp.Offer) bool {
	return a.Equal(b.Route) && slices.Equal(a.Peers, b.Peers)
}

// Withdraw implements Protocol.
func (b *bgpProtocol) Withdraw(name types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.withdraw(name)
}

func (b *bgpProtocol) withdraw(name types.NamespacedName) {
	if _, known := b.verdicts[name]; known {
		b.dirty = true
		delete(b.verdicts, name)
	}
	b.gate.close(name)
}

// Apply sends the peers what they are to have, if that may have changed.
func (b *bgpProtocol) Apply() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.dirty {
		return
	}
	b.dirty = false
	b.routers.Apply(b.sessions(), b.addrs)
	b.intended = b.intentions()
}

// sessions are the peers with the routes that they are to have.
func (b *bgpProtocol) sessions() []bgp.Session {
	offers := make([]bgp.Offer, 0, len(b.verdicts))
	for _, v := range b.verdicts {
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
				"node %q announces no more than %d prefixes; %d are left out: use an aggregationLength", b.node, bgp.MaxRoutes, refused)
		}
		b.refused[peer.Name] = refused
		if slices.EqualFunc(routes, last, bgp.Route.Equal) {
			routes = last // most peers get the same
		}
		last = routes
		sessions = append(sessions, bgp.Session{Peer: peer, Routes: routes})
	}
	return sessions
}

// intentions are the peers that this node is to send each Service's addresses to.
func (b *bgpProtocol) intentions() map[types.NamespacedName][]string {
	out := make(map[types.NamespacedName][]string, len(b.verdicts))
	lists := map[string][]string{} // which are few
	for name, v := range b.verdicts {
		if !v.announce || v.waits {
			continue
		}
		var peers []string
		for _, p := range b.peers {
			if slices.ContainsFunc(v.offers, func(o bgp.Offer) bool {
				return p.Carries(o.Prefix) && (len(o.Peers) == 0 || slices.Contains(o.Peers, p.Name))
			}) {
				peers = append(peers, p.Name)
			}
		}
		if len(peers) > 0 {
			slices.Sort(peers)
			key := strings.Join(peers, ",")
			if lists[key] == nil {
				lists[key] = peers
			}
			out[name] = lists[key]
		}
	}
	return out
}

// Report puts what became of the sessions into log, events and status objects, and
// has BFD watch their routers.
func (b *bgpProtocol) Report() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cluster == nil {
		return
	}
	sessions := b.routers.Status()
	b.reportSessions(sessions)
	b.bfd.apply(b.cluster.Config, sessions)
	b.status.set(b.intended, sessions, b.bfd.states())
}

// reportSessions puts sessions that came up or went down into log and events.
func (b *bgpProtocol) reportSessions(sessions []bgp.Status) {
	now, failures := map[string]bool{}, map[string]int{}
	for _, st := range sessions {
		now[st.Peer.Name], failures[st.Peer.Name] = st.Up(), st.Failures
		if st.Failures > b.failures[st.Peer.Name] {
			b.peerEvent(st.Peer.Name, corev1.EventTypeWarning, api.ReasonSessionProcessFailed,
				"node %q, session with %s: %s (%d times so far)", b.node, st.Peer, cmp.Or(st.Problem, "its process ended and was started again"), st.Failures)
		}
		switch {
		case st.Up() && !b.up[st.Peer.Name]:
			b.log.Info("BGP session is up", "peer", st.Peer.Name, "router", st.Peer.String(), "asn", st.PeerASN)
			b.peerEvent(st.Peer.Name, corev1.EventTypeNormal, api.ReasonSessionUp,
				"node %q and %s (AS %d) have a session; %d prefixes are announced", b.node, st.Peer, st.PeerASN, st.Routes)
		case !st.Up() && b.up[st.Peer.Name]:
			why := cmp.Or(st.Problem, "the connection ended")
			b.log.Error("BGP session is down", "peer", st.Peer.Name, "router", st.Peer.String(), "reason", why)
			b.peerEvent(st.Peer.Name, corev1.EventTypeWarning, api.ReasonSessionDown,
				"node %q lost its session with %s: %s", b.node, st.Peer, why)
		}
	}
	b.up, b.failures = now, failures
}

func (b *bgpProtocol) peerEvent(peer, kind string, reason api.Reason, format string, args ...any) {
	object := &corev1.ObjectReference{
		APIVersion: "metallb.io/v1beta2", Kind: "BGPPeer", Namespace: b.namespace, Name: peer,
	}
	b.events.Event(object, kind, string(reason), shorten(fmt.Sprintf(format, args...)))
}

// Services implements Protocol.
func (b *bgpProtocol) Services() iter.Seq2[types.NamespacedName, Announcement] {
	return func(yield func(types.NamespacedName, Announcement) bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for name, v := range b.verdicts {
			if !yield(name, Announcement{Addrs: v.addrs, Announce: v.announce, Waits: v.waits}) {
				return
			}
		}
	}
}

// Explain implements Protocol.
func (b *bgpProtocol) Explain(_ context.Context, rows []Row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range rows {
		v, known := b.verdicts[client.ObjectKeyFromObject(rows[i].service)]
		if known && b.cluster.Config.PoolOf(v.addrs) != nil {
			d := b.decide(rows[i].service, v.addrs)
			rows[i].BGP = &d
		}
	}
}

// Close ends the sessions: with a farewell if the node is about to go, so that
// routers do not keep routes to it (graceful restart).
func (b *bgpProtocol) Close(ctx context.Context) {
	node, err := b.thisNode(ctx)
	b.bfd.close()
	b.routers.Close(err == nil && leaving(node), closeLimit)
}
