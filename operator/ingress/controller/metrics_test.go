package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	class := "nginx"
	theirs := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "theirs"}, Spec: networkingv1.IngressSpec{IngressClassName: &class}}
	ours := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ours"}}
	m.set(theirs, map[string]*routev1.Route{"theirs-1": {Spec: routev1.RouteSpec{Host: "a.example.com"}}}, false)
	m.set(ours, map[string]*routev1.Route{"ours-1": {Spec: routev1.RouteSpec{Host: "b.example.com"}}}, true)
	const of = "openshift_ingress_to_route_controller_"
	want := map[string]float64{
		of + "ingress_without_class_name name=ours namespace=ns ":                        1,
		of + "ingress_without_class_name name=theirs namespace=ns ":                      0,
		of + "route_with_unmanaged_owner host=a.example.com name=theirs-1 namespace=ns ": 1,
		of + "route_with_unmanaged_owner host=b.example.com name=ours-1 namespace=ns ":   0,
	}
	if diff := cmp.Diff(want, gathered(t, registry)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	m.forget(client.ObjectKeyFromObject(theirs))
	m.forget(client.ObjectKeyFromObject(ours))
	if left := gathered(t, registry); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// gathered returns the gauges of a registry by name and labels.
func gathered(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			labels := ""
			for _, l := range series.GetLabel() {
				labels += l.GetName() + "=" + l.GetValue() + " "
			}
			got[f.GetName()+" "+labels] = series.GetGauge().GetValue()
		}
	}
	return got
}
