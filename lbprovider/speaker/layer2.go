package speaker

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/service"
)

const layer2Name = "layer2"

var _ Protocol = (*layer2)(nil)

// layer2 announces addresses by ARP and NDP: of all nodes that may announce an
// address, one owns it and answers for it.
type layer2 struct {
	node      string
	announcer Announcer
	services  serviceLister
	backends  *backendReader
	events    record.EventRecorder
	status    *layer2StatusWriter
	takeovers *takeovers
	gate      *deliveryGate
	// alone says that this speaker reaches no other, and keeping that some pool
	// keeps addresses where they are: then status objects of others matter.
	alone, keeping atomic.Bool

	mu         sync.Mutex // guards what follows
	cluster    *Cluster
	electorate election.Electorate
	verdicts   map[types.NamespacedName]*layer2Verdict
}

// layer2Verdict is the last decision about one Service. It is never changed.
type layer2Verdict struct {
	addrs []netip.Addr
	election.Verdict
	// waits says that the node is the owner but cannot deliver yet.
	waits bool
	// since is when the decision to announce was made, and from says from
	// which node the address was taken over.
	since time.Time
	from  string
}

// equal says whether nothing has changed.
func (v *layer2Verdict) equal(o *layer2Verdict) bool {
	return v.Announce == o.Announce && v.Reason == o.Reason && v.Owner == o.Owner && slices.Equal(v.Interfaces, o.Interfaces) &&
		(v.Interfaces == nil) == (o.Interfaces == nil) && slices.Equal(v.addrs, o.addrs) &&
		v.waits == o.waits && v.since.Equal(o.since) && v.from == o.from
}

// Name implements Protocol.
func (*layer2) Name() string { return layer2Name }

// SetConfig implements Protocol.
func (l *layer2) SetConfig(_ context.Context, c *Cluster) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cluster != nil && len(l.cluster.Members) > 0 && len(c.Members) > len(l.cluster.Members) {
		// After a partition, an owner that never lost an address in its own
		// view must announce it again.
		l.announcer.Refresh()
	}
	l.cluster = c
	l.electorate.Set(c.Nodes, c.Self)
	l.alone.Store(c.Alone)
	l.keeping.Store(slices.ContainsFunc(c.Config.Pools, keepsAddresses))
	return nil
}

// Announce implements Protocol.
func (l *layer2) Announce(req Request) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := client.ObjectKeyFromObject(req.Service)
	old, known := l.verdicts[name]
	if !known {
		old = &layer2Verdict{}
	}
	if !slices.Equal(old.addrs, req.Addrs) {
		l.takeovers.forget(old.addrs)
	}
	v := &layer2Verdict{addrs: req.Addrs, Verdict: l.elect(req)}
	if v.Announce {
		v.waits = !l.gate.open(req.Service, l.handoverDelay(old))
		if v.since, v.from = old.since, old.from; !old.Announce {
			v.since = time.Now()
			if v.from = l.takenFrom(req, old, v); v.from != "" {
				l.takeovers.expect(req.Addrs, l.cluster.diedAt(old.Owner))
			}
		}
	} else {
		l.gate.close(name)
		l.takeovers.cancel(req.Addrs)
	}
	d := Decision{Served: v.Owner != ""}
	if !v.Announce {
		d.Refusal = Refusal(v.Reason)
	}
	if known && v.equal(old) {
		return d
	}
	l.verdicts[name] = v
	return l.describe(d, req, v, old, known)
}

// describe adds to a decision what is new about it.
func (l *layer2) describe(d Decision, req Request, v, old *layer2Verdict, known bool) Decision {
	if d.Changed = !known || old.Announce != v.Announce || old.Reason != v.Reason || !slices.Equal(old.addrs, v.addrs); d.Changed {
		d.Message = v.String()
	}
	d.Starts = v.Announce && !v.waits && (!old.Announce || old.waits || !slices.Equal(old.addrs, v.addrs))
	d.TakenFrom = v.from
	if unserved(v.Reason) && !req.Served && (!known || old.Reason != v.Reason) && l.cluster.Reports() {
		d.Problem = "no node announces the address: " + shorten(l.explain(req.Service, v).String())
	}
	return d
}

// elect asks package election about a Service.
func (l *layer2) elect(req Request) election.Verdict {
	switch {
	case req.Invalid:
		return election.Verdict{Reason: election.InvalidIP}
	case len(req.Addrs) == 0:
		return election.Verdict{Reason: election.NoIPAllocated}
	case !l.cluster.Synced:
		return election.Verdict{Reason: election.NotSynced}
	case l.cluster.Isolated:
		return election.Verdict{Reason: election.Isolated}
	}
	v := l.electorate.Elect(l.request(req.Service, req.Addrs))
	if v.Announce && l.cluster.Alone && l.superseded(client.ObjectKeyFromObject(req.Service)) {
		v.Announce, v.Reason = false, election.Superseded
	}
	return v
}

// request is what election has to know of svc.
func (l *layer2) request(svc *corev1.Service, addrs []netip.Addr) election.Request {
	b := l.backends.of(svc)
	_, shared := service.Annotation(svc, api.AnnotationAllowSharedIP)
	req := election.Request{
		Addr: addrs[0], IPv6: slices.ContainsFunc(addrs, netip.Addr.Is6), Pool: l.cluster.Config.PoolOf(addrs), Labels: labels.Set(svc.Labels), Shared: shared,
		Local:     svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		Endpoints: b.nodes, Doubts: b.doubts,
	}
	if req.Pool != nil && !shared && keepsAddresses(*req.Pool) {
		req.Incumbents = l.incumbents(client.ObjectKeyFromObject(svc))
	}
	return req
}

// explain returns the decision that led to the verdict.
func (l *layer2) explain(svc *corev1.Service, v *layer2Verdict) election.Decision {
	d := election.Decision{Announce: v.Announce, Reason: v.Reason, Interfaces: v.Interfaces}
	if v.Owner == "" && v.Reason != election.NoEligibleNode {
		return d
	}
	all := election.Decide(l.request(svc, v.addrs), l.cluster.Nodes, l.node)
	d.Order, d.Excluded = all.Order, all.Excluded
	return d
}

// takenFrom says in an event which node announced before and why it does no longer.
func (l *layer2) takenFrom(req Request, before, now *layer2Verdict) string {
	if before.Owner == "" || before.Owner == now.Owner {
		return ""
	}
	if why := l.explain(req.Service, now).Excluded[before.Owner]; why != "" {
		return fmt.Sprintf("; taken over from node %q: %s", before.Owner, why)
	}
	return fmt.Sprintf("; taken over from node %q, which comes after this one", before.Owner)
}

// handoverDelay is how long to wait before an address is announced here that was
// another node's.
func (l *layer2) handoverDelay(before *layer2Verdict) time.Duration {
	if _, lives := l.cluster.Members[before.Owner]; lives && before.Owner != l.node {
		return handoverPause
	}
	return 0
}

// Withdraw implements Protocol.
func (l *layer2) Withdraw(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.verdicts[name]; v != nil {
		l.takeovers.forget(v.addrs)
	}
	delete(l.verdicts, name)
	l.gate.close(name)
}

// Apply hands the announcer all addresses that this node owns, and those that it
// leaves to another.
func (l *layer2) Apply() {
	l.mu.Lock()
	defer l.mu.Unlock()
	claims := make(map[netip.Addr]l2.Claim, len(l.verdicts))
	for _, v := range l.verdicts {
		switch {
		case v.Announce && !v.waits:
			for _, addr := range v.addrs {
				claim := mergeClaims(claims, addr, v.Interfaces)
				claim.OwnerDiedAt = claims[addr].OwnerDiedAt
				l.takeovers.begin(addr, &claim)
				claims[addr] = claim
			}
		case v.Reason == election.NotOwner || v.waits:
			// Another takes it over, or still has it; until that is seen, this
			// node goes on if it announced it before.
			for _, addr := range v.addrs {
				if _, shared := claims[addr]; !shared {
					claims[addr] = l2.Claim{Yield: true}
				}
			}
		}
	}
	l.announcer.Announce(claims)
}

// Report has the status objects written of the Services that this node announces.
func (l *layer2) Report() {
	l.mu.Lock()
	defer l.mu.Unlock()
	announced := make(announcedServices, len(l.verdicts))
	for name, v := range l.verdicts {
		if v.Announce && !v.waits {
			announced[name] = v
		}
	}
	l.status.set(announced)
}

// Services implements Protocol.
func (l *layer2) Services() iter.Seq2[types.NamespacedName, Announcement] {
	return func(yield func(types.NamespacedName, Announcement) bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name, v := range l.verdicts {
			if !yield(name, Announcement{Addrs: v.addrs, Announce: v.Announce, Waits: v.waits}) {
				return
			}
		}
	}
}

// Explain implements Protocol. What a speaker does not act upon is not kept with
// each Service, but found out again.
func (l *layer2) Explain(ctx context.Context, rows []Row) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	last := l.announcer.Last(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range rows {
		row := &rows[i]
		v := l.verdicts[client.ObjectKeyFromObject(row.service)]
		if v == nil {
			continue
		}
		row.Decision, row.Waits = l.explain(row.service, v), v.waits
		if v.Announce {
			row.Since = &v.since
		}
		for _, addr := range row.Addresses {
			if at, ok := last[addr]; ok && !at.IsZero() {
				row.LastAnnounced = &at
			}
		}
	}
}

// Close implements Protocol. The announcer outlives the speaker: it answers until
// other nodes have taken over.
func (*layer2) Close(context.Context) {}

// reportConflict sends events to the Services at an address that another host claims.
func (l *layer2) reportConflict(c l2.Conflict) {
	var names []types.NamespacedName
	for name, a := range l.Services() {
		if a.Announce && slices.Contains(a.Addrs, c.Address) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		svc := l.services.Service(name)
		if svc == nil {
			continue // it has just gone
		}
		l.events.Eventf(svc, corev1.EventTypeWarning, string(api.ReasonAddressConflict),
			"another host, %s on interface %s of node %q, claims the address %s; clients reach one or the other",
			c.MAC, c.Interface, l.node, c.Address)
	}
}

// keepsAddresses says whether the addresses of the pool are to stay where they are.
func keepsAddresses(pool config.Pool) bool {
	return slices.ContainsFunc(pool.L2, func(ad *config.L2Advertisement) bool { return ad.Stay })
}

// incumbents returns the nodes that say that they announce the Service. They say
// it by objects that all speakers read, so that all of them decide from the same
// input, as election wants it; what only this node knows of itself is left out.
func (l *layer2) incumbents(name types.NamespacedName) (nodes []string) {
	for _, o := range l.status.live.ForService(name) {
		if o.ReportedNode != "" {
			nodes = append(nodes, o.ReportedNode)
		}
	}
	return nodes
}

// superseded says whether another working node says that it announces the Service.
func (l *layer2) superseded(name types.NamespacedName) bool {
	return slices.ContainsFunc(l.incumbents(name), func(node string) bool { return l.cluster.Unreachable[node] })
}

// unserved says that, for this reason, no node announces the address although
// the user expects it.
func unserved(r election.Reason) bool {
	return r == election.NoMatchingAdvertisement || r == election.SharedIPWithServiceSelector ||
		r == election.NoEligibleNode || r == election.InvalidIP || r == election.IPNotAllowed
}

// mergeClaims is for Services that share an address: it is announced wherever one
// of them is.
func mergeClaims(claims map[netip.Addr]l2.Claim, addr netip.Addr, interfaces []string) l2.Claim {
	old, known := claims[addr]
	switch {
	case !known || old.Yield:
		return l2.Claim{Interfaces: interfaces}
	case old.Interfaces == nil || interfaces == nil:
		return l2.Claim{}
	}
	all := slices.Concat(old.Interfaces, interfaces)
	slices.Sort(all)
	return l2.Claim{Interfaces: slices.Compact(all)}
}

// shorten cuts a message to what an event can hold.
func shorten(s string) string {
	const limit = 900
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
