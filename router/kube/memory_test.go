package kube

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// applied are objects as `kubectl apply` and the controllers of Kubernetes leave them.
func applied(i int) (*routev1.Route, *corev1.Service, *discoveryv1.EndpointSlice) {
	meta := func(name string) metav1.ObjectMeta {
		fields := `{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:host":{},"f:port":{".":{},"f:targetPort":{}},"f:to":{".":{},"f:kind":{},"f:name":{},"f:weight":{}}}}`
		return metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", i/20), Name: name, UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)), ResourceVersion: fmt.Sprint(1000 + i), Generation: 1,
			CreationTimestamp: metav1.NewTime(time.Unix(1_700_000_000, 0)),
			Labels:            map[string]string{"app": name},
			Annotations:       map[string]string{lastApplied: fmt.Sprintf(`{"kind":"X","metadata":{"name":%q,"labels":{"app":%q}},"spec":{"host":"%s.apps.example.com","to":{"kind":"Service","name":%q}}}`, name, name, name, name)},
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "kubectl-client-side-apply", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}},
		}
	}
	name, ready, port, protocol, node := fmt.Sprintf("shop-%d", i), true, int32(8080), corev1.ProtocolTCP, fmt.Sprintf("node-%d", i%50)
	r := &routev1.Route{ObjectMeta: meta(name), Spec: routev1.RouteSpec{
		Host: name + ".apps.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: name}, Port: &routev1.RoutePort{TargetPort: intstr.FromString("http")},
	}}
	r.Status.Ingress = []routev1.RouteIngress{{
		Host: r.Spec.Host, RouterName: "default", RouterCanonicalHostname: "router-default.apps.example.com",
		Conditions: []routev1.RouteIngressCondition{{Type: "Admitted", Status: "True", LastTransitionTime: &metav1.Time{Time: time.Unix(1_700_000_000, 0)}}},
	}}
	service := &corev1.Service{ObjectMeta: meta(name), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": name}, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"}, Type: "ClusterIP",
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: protocol}},
	}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: meta(name + "-x7k2p"), AddressType: discoveryv1.AddressTypeIPv4}
	slice.Labels[discoveryv1.LabelServiceName] = name
	slice.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: &port, Protocol: &protocol}}
	slice.Endpoints = []discoveryv1.Endpoint{{
		Addresses: []string{fmt.Sprintf("10.128.%d.%d", i>>8&255, i&255)}, NodeName: &node,
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: slice.Namespace, Name: name + "-6d5f8c9b7-x7k2p", UID: types.UID(fmt.Sprintf("00000000-0000-4000-9000-%012d", i))},
	}}
	return r, service, slice
}

// fromWatch is an object as a watch brings it: with texts of its own.
func fromWatch[T any](b *testing.B, o *T) *T {
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkCache reports what 10,000 Routes, each with a Service and an EndpointSlice,
// take in memory: in the router's stores, and in those of client-go, as they come and
// without managed fields.
func BenchmarkCache(b *testing.B) {
	const n = 10_000
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	stores := func() [3]cache.ReflectorStore {
		return [3]cache.ReflectorStore{
			newStore(route.Kind, whole(stripRoute), func(model.Object, *routev1.Route, *routev1.Route) {}),
			newStore(door.KindService, part(backend.NewService), func(model.Object, *backend.Service, *backend.Service) {}),
			newStore(kindSlice, part(backend.NewSlice), func(model.Object, *backend.Slice, *backend.Slice) {}),
		}
	}
	indexers := func() (all [3]cache.ReflectorStore) {
		for i := range all {
			all[i] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		}
		return all
	}
	for _, c := range []struct {
		name   string
		stores func() [3]cache.ReflectorStore
		strip  bool
	}{{"own", stores, false}, {"client-go", indexers, false}, {"client-go-stripped", indexers, true}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				before, all := heap(), c.stores()
				for i := range n {
					r, service, slice := applied(i)
					r, service, slice = fromWatch(b, r), fromWatch(b, service), fromWatch(b, slice)
					if c.strip {
						r.ManagedFields, service.ManagedFields, slice.ManagedFields = nil, nil, nil
					}
					for k, o := range []any{r, service, slice} {
						if err := all[k].Add(o); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(heap()-before, "MB")
				runtime.KeepAlive(all)
			}
		})
	}
}
