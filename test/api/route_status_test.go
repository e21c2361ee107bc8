package api

import (
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRouteStatus: a write to the status changes nothing but the status, and the API
// server does not judge its content.
func TestRouteStatus(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ns := routeNamespace(t, c)
	r := &routev1.Route{Spec: routev1.RouteSpec{Host: "status.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "a"}}}
	r.Namespace, r.Name = ns, "status"
	if err := c.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Spec.Host, r.Spec.To.Name = "other.example.com", "b"
	r.Status.Ingress = []routev1.RouteIngress{
		{RouterName: "one", Host: "status.example.com", Conditions: []routev1.RouteIngressCondition{{Type: "Odd", Status: corev1.ConditionUnknown, Reason: "of another router"}}},
		{RouterName: "two", WildcardPolicy: routev1.WildcardPolicySubdomain},
	}
	if err := c.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	if r.Spec.Host != "status.example.com" || r.Spec.To.Name != "a" {
		t.Errorf("the spec is %+v", r.Spec)
	}
	if i := r.Status.Ingress; len(i) != 2 || i[0].WildcardPolicy != routev1.WildcardPolicyNone || i[1].WildcardPolicy != routev1.WildcardPolicySubdomain || i[0].Conditions[0].Reason != "of another router" {
		t.Errorf("the status is %+v", i)
	}
	wantColumns(t, ns)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	r.Status = routev1.RouteStatus{}
	r.Spec.Path = "/a"
	if err := c.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if len(r.Status.Ingress) != 2 || r.Spec.Path != "/a" {
		t.Errorf("after an update: %+v", r)
	}
}

// wantColumns: "kubectl get rt" shows under which host a Route is served, or
// why not.
func wantColumns(t *testing.T, ns string) {
	t.Helper()
	patch := `{"status":{"ingress":[{"routerName":"default","host":"served.example.com","conditions":[{"type":"Admitted","status":"False","reason":"HostAlreadyClaimed","message":"route web already exposes it"}]},{"routerName":"two"}]}}`
	if _, err := server.Kubectl(t.Context(), "patch", "route", "status", "-n", ns, "--subresource=status", "--type=merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
	out, err := server.Kubectl(t.Context(), "get", "rt", "status", "-n", ns, "-o", "wide")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("got:\n%s", out)
	}
	for column, want := range map[string]string{
		"HOST": "served.example.com", "SERVICES": "a", "WILDCARD": "None", "ADMITTED": "False",
		"REASON": "HostAlreadyClaimed", "MESSAGE": "route web already exposes it", "ROUTER": "default",
	} {
		at := strings.Index(lines[0], column)
		if at < 0 || !strings.HasPrefix(lines[1][min(at, len(lines[1])):], want) {
			t.Errorf("column %s is not %q in:\n%s", column, want, out)
		}
	}
}
