package ingress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// simple is an Ingress of one path.
func simple(annotations, labels map[string]string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1", Annotations: annotations, Labels: labels},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: "a.example.com",
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}},
			}}}},
		}}},
	}
}

func routeOf(t *testing.T, i *networkingv1.Ingress) *routev1.Route {
	t.Helper()
	out := Convert(Input{Ingress: i})
	if len(out.Routes) != 1 {
		t.Fatalf("%d routes", len(out.Routes))
	}
	return out.Routes[0]
}

func TestMerge(t *testing.T) {
	t.Parallel()
	const follow, labels = annotationReconcileLabels, api.AnnotationIngressLabels
	tests := []struct {
		name            string
		before, after   *networkingv1.Ingress
		edit            func(*routev1.Route)
		changed         bool
		wantAnnotations map[string]string
		wantLabels      map[string]string
	}{
		{name: "nothing", before: simple(nil, nil), after: simple(nil, nil)},
		{
			name: "annotations of others stay", before: simple(nil, nil), after: simple(nil, nil),
			edit:            func(r *routev1.Route) { r.Annotations = map[string]string{"theirs": "x"} },
			wantAnnotations: map[string]string{"theirs": "x"},
		},
		{
			name: "an annotation goes with that of the Ingress", changed: true,
			before: simple(map[string]string{"router.openshift.io/gone": "1", "example.com/means-nothing": "1"}, nil), after: simple(nil, nil),
			edit: func(r *routev1.Route) { r.Annotations["theirs"] = "x" }, wantAnnotations: map[string]string{"theirs": "x"},
		},
		{
			name: "labels are copied once, but policies see those of now", before: simple(nil, map[string]string{"l": "1"}), after: simple(nil, map[string]string{"l": "2"}),
			changed: true, wantLabels: map[string]string{"l": "1"}, wantAnnotations: map[string]string{labels: "l=2", api.AnnotationFromIngress: labels},
		},
		{
			name: "labels follow if asked to", changed: true,
			before:     simple(map[string]string{follow: "true"}, map[string]string{"l": "1"}),
			after:      simple(map[string]string{follow: "true"}, map[string]string{"l": "2"}),
			wantLabels: map[string]string{"l": "2"}, wantAnnotations: map[string]string{follow: "true", labels: "l=2", api.AnnotationFromIngress: labels + "," + follow},
		},
		{
			name: "host changed by hand", before: simple(nil, nil), after: simple(nil, nil), changed: true,
			edit: func(r *routev1.Route) { r.Spec.Host = "stolen.example.com" },
		},
		{
			name: "backends added by hand", before: simple(nil, nil), after: simple(nil, nil), changed: true,
			edit: func(r *routev1.Route) {
				r.Spec.AlternateBackends = []routev1.RouteTargetReference{{Kind: "Service", Name: "b"}}
			},
		},
		{
			name: "left by an Ingress of the same name", before: simple(nil, nil), after: simple(nil, nil), changed: true,
			edit: func(r *routev1.Route) { r.OwnerReferences[0].UID = "old" },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			live, desired := routeOf(t, test.before), routeOf(t, test.after)
			if test.edit != nil {
				test.edit(live)
			}
			got, changed := Merge(test.after, live, desired)
			if changed != test.changed {
				t.Errorf("changed is %t", changed)
			}
			if diff := cmp.Diff(desired.Spec, got.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if test.wantAnnotations == nil {
				test.wantAnnotations = map[string]string{}
			}
			if diff := cmp.Diff(test.wantAnnotations, got.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantLabels, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if _, again := Merge(test.after, got, desired); again {
				t.Error("the merged Route is not stable")
			}
		})
	}
}

func TestManaged(t *testing.T) {
	t.Parallel()
	ours := &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: api.IngressClassController}}
	theirs := &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: "k8s.io/ingress-nginx"}}
	named := simple(nil, nil)
	named.Spec.IngressClassName = new("x")
	annotated := simple(map[string]string{annotationClass: "x"}, nil)
	tests := []struct {
		name      string
		ingress   *networkingv1.Ingress
		class     *networkingv1.IngressClass
		classless bool
		want      bool
	}{
		{"our class", named, ours, false, true},
		{"our class by annotation", annotated, ours, false, true},
		{"class of others", named, theirs, true, false},
		{"class that does not exist", named, nil, true, false},
		{"no class, as in OpenShift", simple(nil, nil), nil, true, true},
		{"no class, beside other controllers", simple(nil, nil), nil, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Managed(test.ingress, test.class, test.classless); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestRouteName(t *testing.T) {
	t.Parallel()
	key := hostPath{host: "a.example.com", path: "/"}
	if a, b := routeName("a", key), routeName("a", key); a != b {
		t.Errorf("%s and then %s", a, b)
	}
	long := routeName("an-ingress-with-a-name-that-is-longer-than-the-limit-o-.f-names", key)
	if len(long) > maxNameLength || long[len(long)-hashLength-2] == '-' {
		t.Errorf("%s has %d characters", long, len(long))
	}
	exact := key
	exact.exact = true
	if routeName("a", key) == routeName("a", exact) {
		t.Error("Prefix and Exact share a Route")
	}
}

func TestRefusalsAndStatus(t *testing.T) {
	t.Parallel()
	route := func(router string, status corev1.ConditionStatus) *routev1.Route {
		r := &routev1.Route{}
		r.Status.Ingress = []routev1.RouteIngress{{RouterName: router, Conditions: []routev1.RouteIngressCondition{
			{Type: routev1.RouteAdmitted, Status: status, Reason: "HostAlreadyClaimed", Message: "taken"},
		}}}
		return r
	}
	both := route("a", corev1.ConditionTrue)
	both.Status.Ingress = append(both.Status.Ingress, route("b", corev1.ConditionFalse).Status.Ingress...)
	routes := []*routev1.Route{both, route("c", corev1.ConditionFalse), {}}
	if got := Routers(routes); !cmp.Equal(got, []string{"a"}) {
		t.Errorf("routers %v", got)
	}
	if got := Refusals(simple(nil, nil), routes); len(got) != 1 || got[0].Reason != "HostAlreadyClaimed" {
		t.Errorf("refusals %v", got)
	}
	status := LoadBalancerStatus([]string{"198.18.0.1", "2001:db8::1", "lb.example.com"})
	want := []networkingv1.IngressLoadBalancerIngress{{IP: "198.18.0.1"}, {IP: "2001:db8::1"}, {Hostname: "lb.example.com"}}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	ours := func(a string) bool { return a == "198.18.0.1" || a == "lb.example.com" }
	if left := MergeStatus(status, nil, ours); len(left) != 1 || left[0].IP != "2001:db8::1" {
		t.Errorf("what is left when it is ours no more: %v", left)
	}
	merged := MergeStatus(status, []string{"198.18.0.9", "2001:db8::1"}, ours)
	if diff := cmp.Diff([]networkingv1.IngressLoadBalancerIngress{{IP: "198.18.0.9"}, {IP: "2001:db8::1"}}, merged); diff != "" {
		t.Errorf("a new address (-want +got):\n%s", diff)
	}
	theirs := []networkingv1.IngressLoadBalancerIngress{{Hostname: "theirs.example.com", Ports: []networkingv1.IngressPortStatus{{Port: 80}}}, {IP: "198.18.0.1"}}
	merged = MergeStatus(theirs, []string{"198.18.0.9"}, ours)
	if diff := cmp.Diff([]networkingv1.IngressLoadBalancerIngress{{IP: "198.18.0.9"}, theirs[0]}, merged); diff != "" {
		t.Errorf("beside another controller (-want +got):\n%s", diff)
	}
}
