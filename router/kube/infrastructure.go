package kube

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// kindNode is that of nodes, of which only the addresses are kept.
const kindNode model.Kind = "Node"

// infrastructure are the addresses that no tenant may reach through the router: those of
// nodes, of the API server and of routers.
type infrastructure struct {
	mu sync.Mutex
	// of are the addresses by the object that has them.
	of map[model.Object][]netip.Addr
	// fixed are those that no object has.
	fixed []netip.Addr
	// networks are made of both; nil after a change.
	networks []netip.Prefix
	// service is that of this router's pods, and pods are their addresses by the slice that
	// has them: of those that are ready, or have been.
	service string
	pods    map[model.Object][]netip.Addr
}

func newInfrastructure(apiServer, router string) *infrastructure {
	i := &infrastructure{of: map[model.Object][]netip.Addr{}, service: api.InternalServiceName(router), pods: map[model.Object][]netip.Addr{}}
	if u, err := url.Parse(apiServer); err == nil {
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			i.fixed = append(i.fixed, a)
		}
	}
	return i
}

// set notes the addresses of an object; none if it is gone.
func (i *infrastructure) set(key model.Object, addresses []netip.Addr) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if slices.Equal(i.of[key], addresses) {
		return
	}
	if i.networks = nil; len(addresses) == 0 {
		delete(i.of, key)
		delete(i.pods, key)
		return
	}
	i.of[key] = addresses
}

// all returns the addresses as networks, sorted. Callers must not change them.
func (i *infrastructure) all() []netip.Prefix {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.networks != nil {
		return i.networks
	}
	list := slices.Concat(slices.Concat(slices.Collect(maps.Values(i.of))...), i.fixed)
	slices.SortFunc(list, netip.Addr.Compare)
	i.networks = make([]netip.Prefix, 0, len(list))
	for _, a := range slices.Compact(list) {
		i.networks = append(i.networks, netip.PrefixFrom(a, a.BitLen()))
	}
	return i.networks
}

// guarded reports whether a Service is that of the API server or of routers. Others beside
// the routers may be auth servers of administrators.
func guarded(namespace, service string) bool {
	return namespace == api.OperandNamespace && strings.HasPrefix(service, "router-") || namespace == "default" && service == "kubernetes"
}

// services wraps what keeps Services, to see their own addresses.
func (i *infrastructure) services(keep func(any) (*backend.Service, bool)) func(any) (*backend.Service, bool) {
	return func(obj any) (*backend.Service, bool) {
		if s, ok := obj.(*corev1.Service); ok && guarded(s.Namespace, s.Name) {
			i.set(keyOf(door.KindService, s), addresses(append(s.Spec.ClusterIPs, s.Spec.ClusterIP)))
		}
		return keep(obj)
	}
}

// slices wraps what keeps EndpointSlices, to see the addresses of all endpoints.
func (i *infrastructure) slices(keep func(any) (*backend.Slice, bool)) func(any) (*backend.Slice, bool) {
	return func(obj any) (*backend.Slice, bool) {
		if s, ok := obj.(*discoveryv1.EndpointSlice); ok && guarded(s.Namespace, s.Labels[discoveryv1.LabelServiceName]) {
			var texts []string
			for _, e := range s.Endpoints {
				texts = append(texts, e.Addresses...)
			}
			i.set(keyOf(kindSlice, s), addresses(texts))
			if s.Labels[discoveryv1.LabelServiceName] == i.service {
				i.setPods(keyOf(kindSlice, s), s)
			}
		}
		return keep(obj)
	}
}

// setPods notes the pods of this router. One that was ready stays until it is gone from
// the slice: until then it may live.
func (i *infrastructure) setPods(key model.Object, s *discoveryv1.EndpointSlice) {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := map[netip.Addr]bool{}
	for _, list := range i.pods {
		for _, a := range list {
			known[a] = true
		}
	}
	var out []netip.Addr
	for n := range s.Endpoints {
		e := &s.Endpoints[n]
		c := e.Conditions
		ready := c.Ready == nil || *c.Ready || c.Terminating != nil && *c.Terminating
		for _, a := range addresses(e.Addresses) {
			if ready || known[a] {
				out = append(out, a)
			}
		}
	}
	i.pods[key] = out
}

// Pods returns the addresses of this router's pods, sorted.
func (w *Watcher) Pods() []netip.Addr {
	i := w.infrastructure
	i.mu.Lock()
	defer i.mu.Unlock()
	list := slices.Concat(slices.Collect(maps.Values(i.pods))...)
	slices.SortFunc(list, netip.Addr.Compare)
	return slices.Compact(list)
}

// node is what is kept of a Node.
type node struct{ addresses []netip.Addr }

func readNode(n *corev1.Node) *node {
	texts := make([]string, 0, len(n.Status.Addresses))
	for _, a := range n.Status.Addresses {
		texts = append(texts, a.Address)
	}
	return &node{addresses(texts)}
}

// addresses reads those that are none of a host by name.
func addresses(texts []string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a.Unmap().WithZone(""))
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// Networks returns what the policy agent never connects to. It is incomplete until the
// nodes are known, which takes the right to list them.
func (w *Watcher) Networks() snapshot.Networks {
	return snapshot.Networks{Forbidden: w.infrastructure.all(), Incomplete: !w.nodes.isSynced()}
}
