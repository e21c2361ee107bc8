package speaker

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/probe"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// backends are the nodes with pods of a Service that can serve, and reasons to
// avoid some of them.
type backends struct {
	nodes  map[string]bool
	doubts map[string]election.Exclusion
}

// backends looks where svc has endpoints, and has those on this node asked.
func (s *Speaker) backends(svc *corev1.Service) backends {
	b := service.BackendsOf(s.facts.Endpoints(client.ObjectKeyFromObject(svc)))
	doubts := map[string]election.Exclusion{}
	for node := range b.Leaving {
		doubts[node] = election.ExcludedLeaving
	}
	s.probe(svc, b, doubts)
	return backends{nodes: b.Nodes, doubts: doubts}
}

// probe has the Service's pods on this node asked, if it wants that, and adds
// to doubts the nodes that do not say that theirs answer. Each speaker asks the pods
// on its own node and tells the others, so that all know the same.
func (s *Speaker) probe(svc *corev1.Service, b service.Backends, doubts map[string]election.Exclusion) {
	name := client.ObjectKeyFromObject(svc)
	delete(s.targets, name.String())
	path, ok := s.probePath(svc)
	if !ok {
		return
	}
	if here := slices.Clone(b.Addrs[s.opts.NodeName]); len(here) > 0 {
		slices.SortFunc(here, netip.Addr.Compare)
		s.targets[name.String()] = probe.Target{Path: path, Addrs: here}
	}
	for node := range b.Nodes {
		m, known := s.members[node]
		if known && m.Answering != nil && !slices.Contains(m.Answering, liveness.Mark(name.String())) {
			doubts[node] = election.ExcludedSilent
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
	if v := s.services[name]; v != nil {
		s.takeovers.forget(v.addrs)
	}
	delete(s.services, name)
	delete(s.targets, name.String())
	delete(s.misread, name)
	s.gate.close(name)
	s.bgp.forget(name)
}
