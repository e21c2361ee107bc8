package explain

import (
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
)

// manyObjects are so many Routes of a cluster, each with a Service and an EndpointSlice.
func manyObjects(n int) *Objects {
	o := NewObjects()
	for i := range n {
		name, ready, port, protocol, portName := fmt.Sprintf("shop-%d", i), true, int32(8080), corev1.ProtocolTCP, "http"
		meta := func(kind string) metav1.ObjectMeta {
			return metav1.ObjectMeta{
				Namespace: fmt.Sprintf("team-%d", i/20), Name: name, UID: types.UID(fmt.Sprintf("%s-%012d", kind, i)), ResourceVersion: fmt.Sprint(1000 + i),
				CreationTimestamp: metav1.NewTime(time.Unix(1_700_000_000, 0)),
			}
		}
		o.Add(&routev1.Route{ObjectMeta: meta("r"), Spec: routev1.RouteSpec{Host: name + ".apps.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: name, Weight: new(int32(100))}, WildcardPolicy: "None"}})
		o.Add(&corev1.Service{ObjectMeta: meta("s"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: protocol}}}})
		slice := &discoveryv1.EndpointSlice{ObjectMeta: meta("e"), AddressType: discoveryv1.AddressTypeIPv4}
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: name}
		slice.Ports = []discoveryv1.EndpointPort{{Name: &portName, Port: &port, Protocol: &protocol}}
		slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("10.128.%d.%d", i>>8&255, i&255)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}}
		o.Add(slice)
	}
	return o
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestSnapshotMemory: a snapshot has no copy of the objects, and what it adds to them is bounded.
func TestSnapshotMemory(t *testing.T) {
	const n = 4000
	o := manyObjects(n)
	before := heap()
	s, err := NewSnapshot(o, Options{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	per := (heap() - before) / n
	t.Logf("%.0f bytes for each Route", per)
	if most := 3600.0; per > most {
		t.Errorf("%.0f bytes for each Route, more than %.0f", per, most)
	}
	runtime.KeepAlive(o)
	runtime.KeepAlive(s)
}

// BenchmarkSnapshot is what a console does after each change.
func BenchmarkSnapshot(b *testing.B) {
	o := manyObjects(10_000)
	b.ReportAllocs()
	for b.Loop() {
		s, err := NewSnapshot(o, Options{Now: time.Now()})
		if err != nil {
			b.Fatal(err)
		}
		if len(s.Rows()) != 10_000 || len(s.Namespaces()) != 500 {
			b.Fatal("rows are missing")
		}
	}
}

// BenchmarkWithin is what a console does after each change for a user who sees one namespace.
func BenchmarkWithin(b *testing.B) {
	s, err := NewSnapshot(manyObjects(10_000), Options{Now: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		own, err := s.Within(func(namespace string) bool { return namespace == "team-7" })
		if err != nil || len(own.Rows()) != 20 {
			b.Fatal(err, len(own.Rows()))
		}
	}
}
