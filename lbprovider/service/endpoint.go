package service

import (
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Backends is where the pods of a Service are.
type Backends struct {
	// Nodes have an endpoint that can serve: it is ready, or it is terminating
	// and still serves. The empty name stands for endpoints that are on no node.
	Nodes map[string]bool
	// Leaving are those of Nodes whose endpoints are all about to stop.
	Leaving map[string]bool
	// Addrs are the addresses of the endpoints that can serve, by node.
	Addrs map[string][]netip.Addr
}

// Endpoint is an address of a pod that can serve.
type Endpoint struct {
	// Node is empty if the endpoint is on no node.
	Node string
	// Addr is not valid if it cannot be read.
	Addr netip.Addr
	// Leaving says that the pod is about to stop.
	Leaving bool
}

// ReadEndpoints returns those of an EndpointSlice that can serve.
func ReadEndpoints(s *discoveryv1.EndpointSlice) []Endpoint {
	var out []Endpoint
	for _, e := range s.Endpoints {
		if !serves(e.Conditions) {
			continue
		}
		one := Endpoint{Leaving: isTrue(e.Conditions.Terminating)}
		if e.NodeName != nil {
			one.Node = *e.NodeName
		}
		if len(e.Addresses) > 0 { // of further ones Kubernetes makes no use either
			one.Addr, _ = netip.ParseAddr(e.Addresses[0])
		}
		out = append(out, one)
	}
	return slices.Clip(out)
}

// ReadBackends reads the EndpointSlices of one Service.
func ReadBackends(list []discoveryv1.EndpointSlice) Backends {
	var all []Endpoint
	for i := range list {
		all = append(all, ReadEndpoints(&list[i])...)
	}
	return BackendsOf(all)
}

// BackendsOf sums up the endpoints of one Service.
func BackendsOf(endpoints []Endpoint) Backends {
	b := Backends{Nodes: map[string]bool{}, Leaving: map[string]bool{}, Addrs: map[string][]netip.Addr{}}
	lasting := map[string]bool{}
	for _, e := range endpoints {
		b.Nodes[e.Node] = true
		lasting[e.Node] = lasting[e.Node] || !e.Leaving
		if e.Addr.IsValid() {
			b.Addrs[e.Node] = append(b.Addrs[e.Node], e.Addr)
		}
	}
	for node := range b.Nodes {
		if !lasting[node] {
			b.Leaving[node] = true
		}
	}
	return b
}

// serves says whether an endpoint is ready, or terminating and still serves.
func serves(c discoveryv1.EndpointConditions) bool {
	return c.Ready == nil || *c.Ready || isTrue(c.Serving)
}

func isTrue(b *bool) bool { return b != nil && *b }
