package service

import (
	"net/netip"

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

// ReadBackends reads the EndpointSlices of one Service.
func ReadBackends(list []discoveryv1.EndpointSlice) Backends {
	b := Backends{Nodes: map[string]bool{}, Leaving: map[string]bool{}, Addrs: map[string][]netip.Addr{}}
	lasting := map[string]bool{}
	for i := range list {
		for _, e := range list[i].Endpoints {
			if !serves(e.Conditions) {
				continue
			}
			node := ""
			if e.NodeName != nil {
				node = *e.NodeName
			}
			b.Nodes[node] = true
			lasting[node] = lasting[node] || !isTrue(e.Conditions.Terminating)
			for _, text := range e.Addresses {
				if addr, err := netip.ParseAddr(text); err == nil {
					b.Addrs[node] = append(b.Addrs[node], addr)
				}
			}
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
