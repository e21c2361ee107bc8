package servicecache

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/service"
)

// recordingCache is who was told what, and the stores of both kinds.
type recordingCache struct {
	*Cache
	changed  []string
	replaced int
	services *reflectorStore
	slices   *reflectorStore
}

func newRecordingCache() *recordingCache {
	h := &recordingCache{}
	h.Cache = &Cache{services: newServices(), slices: newEndpointSlices()}
	h.services, h.slices = h.store(h.Cache.services), h.store(h.Cache.slices)
	return h
}

// store is what a reflector would fill.
func (h *recordingCache) store(c records) *reflectorStore {
	return &reflectorStore{
		records: c, changed: func(n Name) { h.changed = append(h.changed, n.String()) }, replaced: func() { h.replaced++ }, synced: func() {},
	}
}

// takeChanged returns the Services that were told of since the last call.
func (h *recordingCache) takeChanged() []string {
	told := h.changed
	h.changed = nil
	return told
}

func balancer(name string, change func(*corev1.Service)) *corev1.Service {
	class, svc := "c", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u"}}
	svc.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, HealthCheckNodePort: 31000,
		ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
	}
	svc.Labels, svc.Annotations = map[string]string{"app": "x"}, map[string]string{"metallb.io/allow-shared-ip": "k"}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}, {IP: ""}}
	if change != nil {
		change(svc)
	}
	return svc
}

func TestService(t *testing.T) {
	t.Parallel()
	h := newRecordingCache()
	all := balancer("a", func(s *corev1.Service) {
		s.Annotations[corev1.LastAppliedConfigAnnotation] = "long"
		s.Spec.Selector, s.Spec.ClusterIP = map[string]string{"not": "read"}, "10.0.0.1"
	})
	if err := h.services.Add(all); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(balancer("a", nil), h.Service(Name{Namespace: "ns", Name: "a"})); diff != "" {
		t.Errorf("what is read of it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ns/a"}, h.takeChanged()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	internal := balancer("a", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	if err := h.services.Update(internal); err != nil {
		t.Fatal(err)
	}
	if h.Has(Name{Namespace: "ns", Name: "a"}) || len(h.takeChanged()) != 1 {
		t.Error("it is no load balancer any more")
	}
	if err := h.services.Replace([]any{balancer("b", nil), internal}, "1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Name{{Namespace: "ns", Name: "b"}}, h.Names()); diff != "" || h.replaced != 1 {
		t.Errorf("after a list, told of %d times (-want +got):\n%s", h.replaced, diff)
	}
	if err := h.services.Delete(balancer("b", nil)); err != nil {
		t.Fatal(err)
	}
	if len(h.Names()) != 0 {
		t.Errorf("%v is left", h.Names())
	}
	if err := h.services.Add(&corev1.Node{}); err == nil {
		t.Error("a node is no Service")
	}
}

func slice(name, of string, nodes ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: of},
	}}
	for _, n := range nodes {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, NodeName: &n})
	}
	return s
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	h := newRecordingCache()
	on := func(of string) []string {
		var nodes []string
		for _, e := range h.Endpoints(Name{Namespace: "ns", Name: of}) {
			nodes = append(nodes, e.Node)
		}
		return slices.Sorted(slices.Values(nodes))
	}
	for _, step := range []struct {
		name string
		do   func(any) error
		with client.Object
		told []string
		a, b []string
	}{
		{"one slice", h.slices.Add, slice("1", "a", "n1"), []string{"ns/a"}, []string{"n1"}, nil},
		{"two slices", h.slices.Add, slice("2", "a", "n2", "n3"), []string{"ns/a"}, []string{"n1", "n2", "n3"}, nil},
		{"one changes", h.slices.Update, slice("2", "a", "n3"), []string{"ns/a"}, []string{"n1", "n3"}, nil},
		{"it goes to another Service", h.slices.Update, slice("2", "b", "n3"), []string{"ns/a", "ns/b"}, []string{"n1"}, []string{"n3"}},
		{"one goes", h.slices.Delete, slice("1", "a"), []string{"ns/a"}, nil, []string{"n3"}},
	} {
		if err := step.do(step.with); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.told, h.takeChanged()); diff != "" {
			t.Errorf("%s: told (-want +got):\n%s", step.name, diff)
		}
		if !slices.Equal(on("a"), step.a) || !slices.Equal(on("b"), step.b) {
			t.Errorf("%s: a is on %v, b on %v, want %v and %v", step.name, on("a"), on("b"), step.a, step.b)
		}
	}
	if err := h.slices.Replace([]any{slice("3", "a", "n4")}, "1"); err != nil {
		t.Fatal(err)
	}
	want := []service.Endpoint{{Node: "n4", Addr: netip.MustParseAddr("10.0.0.1")}}
	if diff := cmp.Diff(want, h.Endpoints(Name{Namespace: "ns", Name: "a"}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("after a list (-want +got):\n%s", diff)
	}
	if len(on("b")) != 0 {
		t.Errorf("b is on %v", on("b"))
	}
}
