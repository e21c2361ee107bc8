package speaker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// verdict is the last decision about one Service.
type verdict struct {
	addrs    []netip.Addr
	decision election.Decision
}

// Reconcile decides about one Service, or about all.
func (s *Speaker) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if req == allRequest || s.cfg == nil {
		if err := s.all(ctx); err != nil {
			return reconcile.Result{}, err
		}
	} else if err := s.one(ctx, req.NamespacedName); err != nil {
		return reconcile.Result{}, err
	}
	s.announce()
	if !s.synced && req == allRequest {
		return reconcile.Result{RequeueAfter: syncRetry}, nil
	}
	return reconcile.Result{}, nil
}

// all reads configuration, nodes and peers, and decides about every Service.
func (s *Speaker) all(ctx context.Context) error {
	if err := s.loadConfig(ctx); err != nil {
		return err
	}
	if err := s.loadNodes(ctx); err != nil {
		return err
	}
	var list corev1.ServiceList
	if err := s.client.List(ctx, &list); err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	present := map[types.NamespacedName]bool{}
	for i := range list.Items {
		svc := &list.Items[i]
		present[client.ObjectKeyFromObject(svc)] = true
		if err := s.decide(ctx, svc); err != nil {
			return err
		}
	}
	for name := range s.services {
		if !present[name] {
			delete(s.services, name)
		}
	}
	return nil
}

func (s *Speaker) one(ctx context.Context, name types.NamespacedName) error {
	var svc corev1.Service
	if err := s.client.Get(ctx, name, &svc); apierrors.IsNotFound(err) {
		delete(s.services, name)
		return nil
	} else if err != nil {
		return fmt.Errorf("get service %s: %w", name, err)
	}
	return s.decide(ctx, &svc)
}

func (s *Speaker) loadConfig(ctx context.Context) error {
	var pools v1beta1.IPAddressPoolList
	var ads v1beta1.L2AdvertisementList
	for _, list := range []client.ObjectList{&pools, &ads} {
		if err := s.client.List(ctx, list, client.InNamespace(s.opts.Namespace)); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	cfg, findings := config.Parse(config.Resources{
		ProviderNamespace: s.opts.Namespace, Pools: pools.Items, L2Advertisements: ads.Items,
	}, s.cfg)
	s.cfg = cfg
	s.metrics.config(len(findings) > 0)
	for _, f := range findings { // the controller puts them on the objects
		s.log.Debug("configuration", "finding", f.String())
	}
	return nil
}

// loadNodes joins what the API server and the other speakers say of the nodes.
func (s *Speaker) loadNodes(ctx context.Context) error {
	var list corev1.NodeList
	if err := s.client.List(ctx, &list); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	working, err := s.findPeers(ctx)
	if err != nil {
		return err
	}
	peers := s.opts.Peers.Snapshot()
	s.synced = peers.Synced
	for name := range peers.Members {
		s.met[name] = true
	}
	s.nodes = s.nodes[:0:0]
	for i := range list.Items {
		n := &list.Items[i]
		member, alive := peers.Members[n.Name]
		_, excluded := n.Labels[api.LabelExcludeFromLoadBalancers]
		ready := condition(n, corev1.NodeReady) == corev1.ConditionTrue
		if !alive && ready && working[n.Name] && !s.met[n.Name] {
			// Kubernetes sees a speaker that this one has never met: the port is
			// blocked, or the keys differ. To take its addresses would give each
			// of them two owners. One that was met and is gone is dead.
			alive = true
			if !s.unmet[n.Name] {
				s.log.Error("a working speaker cannot be reached; are TCP and UDP of the gossip port open?", "node", n.Name)
			}
			s.unmet[n.Name] = true
		} else {
			delete(s.unmet, n.Name)
		}
		s.nodes = append(s.nodes, election.Node{
			Name: n.Name, Labels: labels.Set(n.Labels),
			Ready:              ready,
			NetworkUnavailable: condition(n, corev1.NodeNetworkUnavailable) == corev1.ConditionTrue,
			Excluded:           excluded && !s.opts.IgnoreExcludeLabel,
			Alive:              alive, Interfaces: member.Interfaces,
			Draining: member.Phase == "draining", Settling: member.Phase == "settling",
		})
	}
	slices.SortFunc(s.nodes, func(a, b election.Node) int { return compareNames(a.Name, b.Name) })
	if grown := len(peers.Members) > s.members; grown && s.members > 0 {
		// After a partition, an owner that never lost an address in its own
		// view must tell the others again.
		s.opts.Announcer.Refresh()
	}
	s.members = len(peers.Members)
	s.metrics.members(s.members)
	return nil
}

// findPeers tells the gossip where speakers should be, and returns the nodes
// whose speaker works as far as Kubernetes knows.
func (s *Speaker) findPeers(ctx context.Context) (working map[string]bool, err error) {
	var pods corev1.PodList
	if err := s.client.List(ctx, &pods, client.InNamespace(s.opts.Namespace), client.MatchingLabelsSelector{Selector: s.opts.Speakers}); err != nil {
		return nil, fmt.Errorf("list speaker pods: %w", err)
	}
	working = map[string]bool{}
	var addresses []string
	for i := range pods.Items {
		if ip := pods.Items[i].Status.HostIP; ip != "" {
			addresses = append(addresses, ip)
		}
		if podReady(&pods.Items[i]) {
			working[pods.Items[i].Spec.NodeName] = true
		}
	}
	slices.Sort(addresses)
	s.opts.Peers.SetPeers(slices.Compact(addresses))
	return working, nil
}

// decide computes the verdict about svc and tells what is new.
func (s *Speaker) decide(ctx context.Context, svc *corev1.Service) error {
	name := client.ObjectKeyFromObject(svc)
	addrs, d, err := s.judge(ctx, svc)
	if err != nil {
		return err
	}
	old, known := s.services[name]
	if d.Reason == election.NotLoadBalancer {
		delete(s.services, name)
		return nil
	}
	s.services[name] = verdict{addrs: addrs, decision: d}
	moved := !known || old.decision.Announce != d.Announce || !slices.Equal(old.addrs, addrs)
	if moved || old.decision.Reason != d.Reason {
		s.log.Info("decision", "service", name.String(), "addresses", addrs, "reason", d.Reason, "message", d.String())
	}
	switch {
	case d.Announce && moved:
		s.events.Eventf(svc, corev1.EventTypeNormal, string(api.ReasonNodeAssigned),
			"announcing from node %q with protocol %q", s.opts.NodeName, "layer2")
	case unserved(d.Reason) && (!known || old.decision.Reason != d.Reason) && s.spokesman():
		s.events.Eventf(svc, corev1.EventTypeWarning, string(api.ReasonAnnounceFailed),
			"no node announces the address: %s", short(d.String()))
	}
	return nil
}

// judge asks election about svc.
func (s *Speaker) judge(ctx context.Context, svc *corev1.Service) ([]netip.Addr, election.Decision, error) {
	if !s.opts.Classes.Ours(svc) {
		return nil, election.Decision{Reason: election.NotLoadBalancer}, nil
	}
	addrs, invalid := service.StatusAddresses(svc)
	switch {
	case invalid:
		return nil, election.Decision{Reason: election.InvalidIP}, nil
	case len(addrs) == 0:
		return nil, election.Decision{Reason: election.NoIPAllocated}, nil
	case !addrs[0].Is4(): // sorted: then there is no IPv4 address at all
		return addrs, election.Decision{Reason: election.NoProtocol}, nil
	case !s.synced:
		return addrs, election.Decision{Reason: election.NotSynced}, nil
	}
	endpoints, err := s.endpoints(ctx, svc)
	if err != nil {
		return nil, election.Decision{}, err
	}
	_, shared := service.Annotation(svc, api.AnnotationAllowSharedIP)
	return addrs, election.Decide(election.Request{
		Addr: addrs[0], Pool: s.cfg.PoolOf(addrs), Labels: labels.Set(svc.Labels), Shared: shared,
		Local:     svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		Endpoints: endpoints,
	}, s.nodes, s.opts.NodeName), nil
}

// endpoints returns the nodes that have an endpoint of svc which can serve: it
// is ready, or it is terminating and still serves.
func (s *Speaker) endpoints(ctx context.Context, svc *corev1.Service) (map[string]bool, error) {
	var slicesOf discoveryv1.EndpointSliceList
	err := s.client.List(ctx, &slicesOf, client.InNamespace(svc.Namespace), client.MatchingFields{serviceIndex: svc.Name})
	if err != nil {
		return nil, fmt.Errorf("list endpoint slices of service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	nodes := map[string]bool{}
	for i := range slicesOf.Items {
		for _, e := range slicesOf.Items[i].Endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			serving := e.Conditions.Serving != nil && *e.Conditions.Serving
			if !ready && !serving {
				continue
			}
			node := ""
			if e.NodeName != nil {
				node = *e.NodeName
			}
			nodes[node] = true
		}
	}
	return nodes, nil
}

// unserved says that, for this reason, nobody announces the address although
// the user expects it.
func unserved(r election.Reason) bool {
	return r == election.NoMatchingAdvertisement || r == election.SharedIPWithServiceSelector ||
		r == election.NoEligibleNode || r == election.InvalidIP || r == election.IPNotAllowed || r == election.NoProtocol
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
