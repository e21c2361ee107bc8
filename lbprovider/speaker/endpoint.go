package speaker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/probe"
)

// backends is where the pods of a Service are.
type backends struct {
	// nodes have an endpoint that can serve: it is ready, or it is terminating
	// and still serves. The empty name stands for endpoints that are on no node.
	nodes map[string]bool
	// doubts are reasons to avoid the endpoints on a node.
	doubts map[string]election.Exclusion
}

// backends looks where svc has endpoints, and asks those on this node.
func (s *Speaker) backends(ctx context.Context, svc *corev1.Service) (backends, error) {
	var list discoveryv1.EndpointSliceList
	err := s.client.List(ctx, &list, client.InNamespace(svc.Namespace), client.MatchingFields{serviceIndex: svc.Name})
	if err != nil {
		return backends{}, fmt.Errorf("list endpoint slices of service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	b := backends{nodes: map[string]bool{}, doubts: map[string]election.Exclusion{}}
	lasting, here := map[string]bool{}, []netip.Addr{}
	for i := range list.Items {
		for _, e := range list.Items[i].Endpoints {
			if !serves(e.Conditions) {
				continue
			}
			node := ""
			if e.NodeName != nil {
				node = *e.NodeName
			}
			b.nodes[node] = true
			lasting[node] = lasting[node] || !isTrue(e.Conditions.Terminating)
			if node == s.opts.NodeName {
				here = append(here, addresses(e)...)
			}
		}
	}
	for node := range b.nodes {
		if !lasting[node] {
			b.doubts[node] = election.ExcludedLeaving
		}
	}
	s.probe(svc, here, b)
	return b, nil
}

// serves says whether an endpoint is ready, or terminating and still serves.
func serves(c discoveryv1.EndpointConditions) bool {
	return c.Ready == nil || *c.Ready || isTrue(c.Serving)
}

func isTrue(b *bool) bool { return b != nil && *b }

func addresses(e discoveryv1.Endpoint) []netip.Addr {
	var out []netip.Addr
	for _, text := range e.Addresses {
		if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, addr)
		}
	}
	return out
}

// probe has the Service's pods on this node asked, if it wants that, and adds
// to b the nodes that do not say that theirs answer. Each speaker asks the pods
// on its own node and tells the others, so that all know the same.
func (s *Speaker) probe(svc *corev1.Service, here []netip.Addr, b backends) {
	name := client.ObjectKeyFromObject(svc)
	delete(s.targets, name.String())
	path, ok := s.probePath(svc)
	if !ok {
		return
	}
	if len(here) > 0 {
		slices.SortFunc(here, netip.Addr.Compare)
		s.targets[name.String()] = probe.Target{Path: path, Addrs: here}
	}
	for node := range b.nodes {
		m, known := s.members[node]
		if known && m.Answering != nil && !slices.Contains(m.Answering, liveness.Mark(name.String())) {
			b.doubts[node] = election.ExcludedSilent
		}
	}
}

// probePath returns where the pods of svc are to be asked. It matters only where
// the node is that of the pod.
func (s *Speaker) probePath(svc *corev1.Service) (probe.Path, bool) {
	text, ok := svc.Annotations[api.AnnotationProbe]
	if !ok || svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return probe.Path{}, false
	}
	path, err := probe.ParsePath(text)
	name := client.ObjectKeyFromObject(svc)
	if err == nil {
		delete(s.misread, name)
		return path, true
	}
	if s.misread[name] != text && s.spokesman() {
		s.events.Eventf(svc, corev1.EventTypeWarning, string(api.ReasonInvalidProbe),
			"annotation %s: %v; every node with a ready pod may announce the address", api.AnnotationProbe, err)
	}
	s.misread[name] = text
	return probe.Path{}, false
}

// forget drops what is known of a Service.
func (s *Speaker) forget(name types.NamespacedName) {
	delete(s.services, name)
	delete(s.targets, name.String())
	delete(s.misread, name)
	s.gate.close(name)
}
