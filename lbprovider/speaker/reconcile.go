package speaker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// syncRetry is how often to look whether the other speakers are known by now.
const syncRetry = 200 * time.Millisecond

// verdict is the last decision about one Service. It is never changed.
type verdict struct {
	addrs []netip.Addr
	election.Verdict
	// waits says that the node is the owner but cannot deliver yet.
	waits bool
	// since is when the decision to announce was made, and from says from
	// whom the address was taken over.
	since time.Time
	from  string
	// byBGP says that some node announces the addresses by BGP.
	byBGP bool
}

// Reconcile decides about one Service, or about all.
func (s *Speaker) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := s.reconcile(ctx, req)
	s.passes.count(err)
	return result, err
}

func (s *Speaker) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req == sessionsRequest {
		s.bgp.report()
		return reconcile.Result{}, nil
	}
	again := time.Duration(0)
	switch {
	case req == allRequest || s.cfg == nil:
		var err error
		if again, err = s.all(ctx); err != nil {
			return reconcile.Result{}, err
		}
	case req != announceRequest:
		// What is to be announced is handed over as a whole, once for all
		// Services that are waiting now.
		s.enqueue(announceRequest)
		return reconcile.Result{}, s.one(req.NamespacedName)
	}
	s.announce()
	s.prober.Set(s.targets)
	s.opts.Peers.SetAnswering(s.prober.Answering())
	if !s.synced && req == allRequest {
		again = soonest(again, syncRetry)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// all reads configuration, nodes and peers, and decides about every Service. It
// returns after which time it is to be called again, or 0.
func (s *Speaker) all(ctx context.Context) (again time.Duration, err error) {
	if err := s.loadConfig(ctx); err != nil {
		return 0, err
	}
	if again, err = s.loadNodes(ctx); err != nil {
		return 0, err
	}
	if err := s.bgp.load(ctx); err != nil {
		return 0, err
	}
	for _, name := range s.facts.Names() {
		if err := s.one(name); err != nil {
			return 0, err
		}
	}
	for name := range s.services {
		if !s.facts.Has(name) {
			s.forget(name)
		}
	}
	return again, nil
}

func (s *Speaker) one(name types.NamespacedName) error {
	if svc := s.facts.Service(name); svc != nil {
		return s.decide(svc)
	}
	s.forget(name)
	return nil
}

func (s *Speaker) loadConfig(ctx context.Context) error {
	var pools v1beta1.IPAddressPoolList
	var ads v1beta1.L2AdvertisementList
	for _, list := range []client.ObjectList{&pools, &ads} {
		if err := s.client.List(ctx, list, client.InNamespace(s.opts.Namespace)); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	res := config.Resources{ProviderNamespace: s.opts.Namespace, Pools: pools.Items, L2Advertisements: ads.Items}
	if err := s.bgp.resources(ctx, &res); err != nil {
		return err
	}
	cfg, findings := config.Parse(res, s.cfg)
	s.cfg = cfg
	s.staying.Store(slices.ContainsFunc(cfg.Pools, stays))
	s.metrics.config(config.Invalid(findings))
	s.reporter.Report(config.State(config.Speaker, findings))
	for _, f := range findings { // the controller puts them on the objects
		s.log.Debug("configuration", "finding", f.String())
	}
	return nil
}

// decide computes the verdict about svc and tells what is new.
func (s *Speaker) decide(svc *corev1.Service) error {
	name := client.ObjectKeyFromObject(svc)
	addrs, judged := s.judge(svc)
	old, known := s.services[name]
	if !known {
		old = &verdict{}
	}
	if judged.Reason == election.NotLoadBalancer {
		s.forget(name)
		return nil
	}
	if !slices.Equal(old.addrs, addrs) {
		s.takeovers.forget(old.addrs)
	}
	v := &verdict{addrs: addrs, Verdict: judged}
	if v.Announce {
		v.waits = !s.gate.open(svc, s.pause(old))
		if v.since, v.from = old.since, old.from; !old.Announce {
			v.since = time.Now()
			var err error
			if v.from, err = s.takenFrom(name, old, v); err != nil {
				return err
			}
			if v.from != "" {
				s.takeovers.expect(addrs, s.diedAt(old.Owner))
			}
		}
	} else {
		s.gate.close(name)
		s.takeovers.cancel(addrs)
	}

	v.byBGP = s.bgp.decide(svc, addrs)
	if known && v.equal(old) {
		return nil
	}
	s.services[name] = v
	return s.tell(svc, v, old, known)
}

// pause is how long to wait before an address is announced here that was another's.
func (s *Speaker) pause(before *verdict) time.Duration {
	if _, lives := s.members[before.Owner]; lives && before.Owner != s.opts.NodeName {
		return handoverPause
	}
	return 0
}

// equal says whether nothing has changed.
func (v *verdict) equal(o *verdict) bool {
	return v.Announce == o.Announce && v.Reason == o.Reason && v.Owner == o.Owner && slices.Equal(v.Interfaces, o.Interfaces) &&
		(v.Interfaces == nil) == (o.Interfaces == nil) && slices.Equal(v.addrs, o.addrs) &&
		v.waits == o.waits && v.since.Equal(o.since) && v.from == o.from && v.byBGP == o.byBGP
}

// tell puts what is new into log and events.
func (s *Speaker) tell(svc *corev1.Service, v, old *verdict, known bool) error {
	name := client.ObjectKeyFromObject(svc)
	if !known || old.Announce != v.Announce || old.Reason != v.Reason || !slices.Equal(old.addrs, v.addrs) {
		s.log.Info("decision", "service", name.String(), "addresses", v.addrs, "reason", v.Reason, "message", v.String())
	}
	begins := v.Announce && !v.waits && (!old.Announce || old.waits || !slices.Equal(old.addrs, v.addrs))
	switch {
	case begins:
		s.events.Eventf(svc, corev1.EventTypeNormal, string(api.ReasonNodeAssigned),
			"announcing from node %q with protocol %q%s", s.opts.NodeName, "layer2", v.from)
	case unserved(v.Reason) && !v.byBGP && (!known || old.Reason != v.Reason) && s.spokesman():
		d, err := s.explain(name, v)
		if err != nil {
			return err
		}
		s.events.Eventf(svc, corev1.EventTypeWarning, string(api.ReasonAnnounceFailed),
			"no node announces the address: %s", short(d.String()))
	}
	return nil
}

// takenFrom says in an event who announced before and why no longer.
func (s *Speaker) takenFrom(name types.NamespacedName, before, now *verdict) (string, error) {
	if before.Owner == "" || before.Owner == now.Owner {
		return "", nil
	}
	d, err := s.explain(name, now)
	if err != nil {
		return "", err
	}
	if why := d.Excluded[before.Owner]; why != "" {
		return fmt.Sprintf("; taken over from node %q: %s", before.Owner, why), nil
	}
	return fmt.Sprintf("; taken over from node %q, which comes after this one", before.Owner), nil
}

// diedAt returns when the speaker of a node was found dead; zero if it lives, or
// left on purpose.
func (s *Speaker) diedAt(node string) time.Time {
	if _, lives := s.members[node]; lives {
		return time.Time{}
	}
	return s.dead[node]
}

// judge asks election about svc.
func (s *Speaker) judge(svc *corev1.Service) ([]netip.Addr, election.Verdict) {
	if !s.opts.Classes.Ours(svc) {
		return nil, election.Verdict{Reason: election.NotLoadBalancer}
	}
	addrs, invalid := service.StatusAddresses(svc)
	switch {
	case invalid:
		return nil, election.Verdict{Reason: election.InvalidIP}
	case len(addrs) == 0:
		return nil, election.Verdict{Reason: election.NoIPAllocated}
	case !s.synced:
		return addrs, election.Verdict{Reason: election.NotSynced}
	case s.cut:
		return addrs, election.Verdict{Reason: election.Isolated}
	}
	v := s.electorate.Elect(s.request(svc, addrs))
	if v.Announce && s.alone.Load() {
		if s.superseded(client.ObjectKeyFromObject(svc)) {
			v.Announce, v.Reason = false, election.Superseded
		}
	}
	return addrs, v
}

// request is what election has to know of svc.
func (s *Speaker) request(svc *corev1.Service, addrs []netip.Addr) election.Request {
	b := s.backends(svc)
	_, shared := service.Annotation(svc, api.AnnotationAllowSharedIP)
	req := election.Request{
		Addr: addrs[0], IPv6: slices.ContainsFunc(addrs, netip.Addr.Is6), Pool: s.cfg.PoolOf(addrs), Labels: labels.Set(svc.Labels), Shared: shared,
		Local:     svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		Endpoints: b.nodes, Doubts: b.doubts,
	}
	if req.Pool != nil && !shared && stays(*req.Pool) {
		req.Incumbents = s.incumbents(client.ObjectKeyFromObject(svc))
	}
	return req
}

// unserved says that, for this reason, nobody announces the address although
// the user expects it.
func unserved(r election.Reason) bool {
	return r == election.NoMatchingAdvertisement || r == election.SharedIPWithServiceSelector ||
		r == election.NoEligibleNode || r == election.InvalidIP || r == election.IPNotAllowed
}

// spokesman says whether this node is the one to report what all see alike.
func (s *Speaker) spokesman() bool {
	for _, n := range s.nodes {
		if n.Alive {
			return n.Name == s.opts.NodeName
		}
	}
	return false
}
