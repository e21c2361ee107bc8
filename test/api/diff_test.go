package api

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

// TestDiffCluster: what stands in a cluster, applied once more, changes nothing; a Route
// that goes to a Service without pods loses its requests.
func TestDiffCluster(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	ns := routeNamespace(t, admin)
	port, name := int32(8080), "http"
	route := &routev1.Route{
		TypeMeta:   metav1.TypeMeta{APIVersion: "route.openshift.io/v1", Kind: "Route"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec:       routev1.RouteSpec{Host: ns + ".example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "web"}},
	}
	for _, o := range []client.Object{
		route.DeepCopy(),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: 80}}}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "empty"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: 80}}}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}}, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		},
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := cluster.Read(t.Context(), config, ns)
	if err != nil {
		t.Fatal(err)
	}
	compare := func(route *routev1.Route) *explain.Difference {
		t.Helper()
		text, err := json.Marshal(route)
		if err != nil {
			t.Fatal(err)
		}
		r := manifest.NewReader(ns)
		r.Read("route.json", text)
		var sides []*explain.Snapshot
		before, after := objects.Apply(r.Objects(), false)
		for _, side := range []*explain.Objects{before, after} {
			s, err := explain.NewSnapshot(side, explain.Options{Now: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			sides = append(sides, s)
		}
		return explain.Compare(sides[0], sides[1])
	}
	if d := compare(route); len(d.Changes) > 0 || len(d.Findings) > 0 || d.Unchanged == 0 {
		t.Errorf("the same again: %+v", d)
	}
	route.Spec.To.Name = "empty"
	d := compare(route)
	if len(d.Changes) != 1 || d.Changes[0].Kind != explain.ChangeLost || !slices.Equal(d.Changes[0].Requests, []string{"http://" + ns + ".example.com/*"}) {
		t.Errorf("a Service without pods: %+v", d)
	}
}
