package speaker

import (
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
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

// endpointLister has the endpoints of Services; servicecache.Cache is one.
type endpointLister interface {
	Endpoints(types.NamespacedName) []service.Endpoint
}

// backendReader finds the backends of Services, and has the pods on this node
// probed whose Services ask for it. Each speaker probes the pods on its own node
// and sends the result to the others, so that all know the same.
type backendReader struct {
	services endpointLister
	peers    Peers
	events   record.EventRecorder
	prober   *probe.Prober

	mu      sync.Mutex // guards what follows
	cluster *Cluster
	// targets are the pods here that are to be probed, by Service.
	targets map[string]probe.Target
	// invalid are annotations that cannot be read, so that each is reported once.
	invalid map[types.NamespacedName]string
}

// newBackendReader returns a backendReader that calls changed when other pods
// answer than before.
func newBackendReader(services endpointLister, peers Peers, events record.EventRecorder, changed func()) *backendReader {
	r := &backendReader{
		services: services, peers: peers, events: events,
		targets: map[string]probe.Target{}, invalid: map[types.NamespacedName]string{},
	}
	r.prober = probe.New(func() {
		peers.SetAnswering(r.prober.Answering())
		changed()
	})
	return r
}

func (r *backendReader) setCluster(c *Cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster = c
}

// of returns where svc has endpoints.
func (r *backendReader) of(svc *corev1.Service) backends {
	b := service.BackendsOf(r.services.Endpoints(client.ObjectKeyFromObject(svc)))
	doubts := map[string]election.Exclusion{}
	for node := range b.Leaving {
		doubts[node] = election.ExcludedLeaving
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probe(svc, b, doubts)
	return backends{nodes: b.Nodes, doubts: doubts}
}

// probe has the Service's pods on this node probed, if it wants that, and adds
// to doubts the nodes whose speakers do not report that theirs answer.
func (r *backendReader) probe(svc *corev1.Service, b service.Backends, doubts map[string]election.Exclusion) {
	name := client.ObjectKeyFromObject(svc)
	delete(r.targets, name.String())
	path, ok := r.probePath(svc)
	if !ok {
		return
	}
	if here := slices.Clone(b.Addrs[r.cluster.Self]); len(here) > 0 {
		slices.SortFunc(here, netip.Addr.Compare)
		r.targets[name.String()] = probe.Target{Path: path, Addrs: here}
	}
	for node := range b.Nodes {
		m, known := r.cluster.Members[node]
		if known && m.Answering != nil && !slices.Contains(m.Answering, liveness.Mark(name.String())) {
			doubts[node] = election.ExcludedSilent
		}
	}
}

// probePath returns where the pods of svc are to be probed. It matters only where
// the node is that of the pod.
func (r *backendReader) probePath(svc *corev1.Service) (probe.Path, bool) {
	text, ok := svc.Annotations[api.AnnotationProbe]
	if !ok || svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return probe.Path{}, false
	}
	path, err := probe.ParsePath(text)
	name := client.ObjectKeyFromObject(svc)
	if err == nil {
		delete(r.invalid, name)
		return path, true
	}
	if r.invalid[name] != text && r.cluster.Reports() {
		r.events.Eventf(svc, corev1.EventTypeWarning, string(api.ReasonInvalidProbe),
			"annotation %s: %v; every node with a ready pod may announce the address", api.AnnotationProbe, err)
	}
	r.invalid[name] = text
	return probe.Path{}, false
}

// apply has the pods probed that were found since the last call.
func (r *backendReader) apply() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prober.Set(r.targets)
	r.peers.SetAnswering(r.prober.Answering())
}

// forget drops what is known of a Service.
func (r *backendReader) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.targets, name.String())
	delete(r.invalid, name)
}
