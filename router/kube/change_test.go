package kube

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	route := func(edit func(*routev1.Route)) bool {
		before := &routev1.Route{ObjectMeta: metav1.ObjectMeta{UID: "1", ResourceVersion: "1", Labels: map[string]string{"a": "b"}}}
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		edit(after)
		return routeChanged(before, after)
	}
	service := func(edit func(*corev1.Service)) bool {
		before := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "198.18.0.9", Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
		after := before.DeepCopy()
		edit(after)
		return serviceChanged(backend.NewService(before), backend.NewService(after))
	}
	slice := func(edit func(*discoveryv1.EndpointSlice)) bool {
		port := int32(8080)
		before := &discoveryv1.EndpointSlice{
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.1"}}},
			Ports:     []discoveryv1.EndpointPort{{Port: &port}},
		}
		after := before.DeepCopy()
		edit(after)
		return sliceChanged(backend.NewSlice(before), backend.NewSlice(after))
	}
	secret := func(edit func(*corev1.Secret)) bool {
		before := &corev1.Secret{Data: map[string][]byte{"tls.crt": []byte("a")}}
		after := before.DeepCopy()
		edit(after)
		return secretChanged(before, after)
	}
	controller := func(edit func(*operatorv1.IngressController)) bool {
		before := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		after := before.DeepCopy()
		edit(after)
		return controllerChanged(before, after)
	}
	no := false
	tests := []struct {
		name      string
		got, want bool
	}{
		{"route: nothing", route(func(*routev1.Route) {}), false},
		{"route: status", route(func(r *routev1.Route) { r.Status.Ingress = []routev1.RouteIngress{{Host: "a"}} }), false},
		{"route: managed fields", route(func(r *routev1.Route) { r.ManagedFields = []metav1.ManagedFieldsEntry{{}} }), false},
		{"route: spec", route(func(r *routev1.Route) { r.Spec.Path = "/a" }), true},
		{"route: label", route(func(r *routev1.Route) { r.Labels["a"] = "c" }), true},
		{"route: annotation", route(func(r *routev1.Route) { r.Annotations = map[string]string{"a": "b"} }), true},
		{"route: made again", route(func(r *routev1.Route) { r.UID = types.UID("2") }), true},
		{"route: appears", routeChanged(nil, &routev1.Route{}), true},
		{"route: disappears", routeChanged(&routev1.Route{}, nil), true},
		{"service: status", service(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}
		}), false},
		{"service: port, which HTTPRoutes name", service(func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 }), true},
		{"service: its pods sleep", service(func(s *corev1.Service) {
			s.Annotations = map[string]string{"idling.alpha.openshift.io/idled-at": "2026-01-01T00:00:00Z"}
		}), true},
		{"service: appears", serviceChanged(nil, &backend.Service{}), true},
		{"slice: annotation", slice(func(s *discoveryv1.EndpointSlice) { s.Annotations = map[string]string{"a": "b"} }), false},
		{"slice: readiness", slice(func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = &no }), true},
		{"slice: port", slice(func(s *discoveryv1.EndpointSlice) { s.Ports = []discoveryv1.EndpointPort{{}} }), true},
		{"slice: disappears", sliceChanged(&backend.Slice{}, nil), true},
		{"secret: label", secret(func(s *corev1.Secret) { s.Labels = map[string]string{"a": "b"} }), false},
		{"secret: data", secret(func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("b") }), true},
		{"secret: type", secret(func(s *corev1.Secret) { s.Type = corev1.SecretTypeTLS }), true},
		{"controller: status", controller(func(c *operatorv1.IngressController) { c.Status.AvailableReplicas = 2 }), false},
		{"controller: decided domain", controller(func(c *operatorv1.IngressController) { c.Status.Domain = "a" }), true},
		{"controller: spec", controller(func(c *operatorv1.IngressController) { c.Generation = 2 }), true},
		{"controller: annotation", controller(func(c *operatorv1.IngressController) {
			c.Annotations = map[string]string{"a": "b"}
		}), true},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: changed = %v, want %v", test.name, test.got, test.want)
		}
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	namespaces := newStore(kindNamespace, part(readNamespace), func(_ model.Object, _, _ *policy.Namespace) {})
	if err := namespaces.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "prod", Labels: map[string]string{"stage": "prod"},
	}}); err != nil {
		t.Fatal(err)
	}
	public := &metav1.LabelSelector{MatchLabels: map[string]string{"type": "public"}}
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "prod"}}
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	route := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Labels: map[string]string{"type": "public"}}}
	private := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "prod"}}
	elsewhere := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Labels: route.Labels}}

	tests := []struct {
		name                         string
		routes, namespaces           *metav1.LabelSelector
		route, private, other, fails bool
	}{
		{name: "no selectors", route: true, private: true, other: true},
		{name: "empty selectors", routes: &metav1.LabelSelector{}, namespaces: &metav1.LabelSelector{}, route: true, private: true, other: true},
		{name: "route selector", routes: public, route: true, other: true},
		{name: "namespace selector", namespaces: prod, route: true, private: true},
		{name: "both", routes: public, namespaces: prod, route: true},
		{name: "invalid route selector", routes: broken, fails: true},
		{name: "invalid namespace selector", namespaces: broken, fails: true},
	}
	for _, test := range tests {
		s, err := newSelection("default", &operatorv1.IngressController{Spec: operatorv1.IngressControllerSpec{
			RouteSelector: test.routes, NamespaceSelector: test.namespaces,
		}})
		if (err != nil) != test.fails {
			t.Errorf("%s: error %v", test.name, err)
		}
		if err != nil {
			continue
		}
		s.known = namespaces
		if a, b, c := s.selects(route), s.selects(private), s.selects(elsewhere); a != test.route || b != test.private || c != test.other {
			t.Errorf("%s: selects %v %v %v, want %v %v %v", test.name, a, b, c, test.route, test.private, test.other)
		}
		if s.excludes(route) == s.selects(route) {
			t.Errorf("%s: a known selection must either select or exclude", test.name)
		}
	}
	everything := &selection{router: "default"}
	for only, want := range map[string]bool{"default": true, "other": false, "": true} {
		pinned := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.AnnotationIngressController: only}}}
		if everything.selects(pinned) != want {
			t.Errorf("a route for router %q: selects is %t", only, !want)
		}
	}
	for name, s := range map[string]*selection{"not known yet": nil, "invalid": {invalid: true}} {
		if s.selects(route) || s.excludes(route) {
			t.Errorf("%s: must neither select nor exclude", name)
		}
	}
}
