package api

import (
	"fmt"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/budget"
	"github.com/fairlead/fairlead/operator/dns"
	ingress "github.com/fairlead/fairlead/operator/ingress/controller"
	convert "github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/door/route"
)

// manyPaths is an Ingress with paths /0, /1 and so on.
func manyPaths(namespace, name, host string, paths int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: %s, namespace: %s}\nspec:\n  rules:\n  - host: %s\n    http:\n      paths:\n", name, namespace, host)
	for n := range paths {
		fmt.Fprintf(&b, "      - {path: /%d, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}\n", n)
	}
	return b.String()
}

func wantRoutes(t *testing.T, c client.Client, namespace string, want int) {
	t.Helper()
	eventually(t, func() error {
		routes, err := byPath(c, namespace)
		if err == nil && len(routes) != want {
			err = fmt.Errorf("%d Routes, want %d", len(routes), want)
		}
		return err
	})
}

// TestIngressLimits: one Ingress, and those of a namespace together, become a
// bounded number of Routes. What has Routes keeps them.
func TestIngressLimits(t *testing.T) {
	c, _ := startOperatorLimited(t, dns.Options{}, operator.Options{}, ingress.Options{
		Limits: convert.Limits{Routes: 120}, NamespaceLimits: convert.Limits{Routes: 130},
	})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "limits-"}}
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "limits-"}}
	for _, n := range []*corev1.Namespace{ns, other} {
		if err := c.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(t, manyPaths(ns.Name, "first", "first.example.com", 200)); err != nil {
		t.Fatal(err)
	}
	wantRoutes(t, c, ns.Name, 120)
	wantEvent(t, c, ns.Name, "first", "Warning IngressTooLarge")
	if err := apply(t, manyPaths(ns.Name, "second", "second.example.com", 20)); err != nil {
		t.Fatal(err)
	}
	wantRoutes(t, c, ns.Name, 130)
	wantEvent(t, c, ns.Name, "second", "Warning IngressTooLarge")
	if err := apply(t, manyPaths(other.Name, "third", "third.example.com", 20)); err != nil {
		t.Fatal(err)
	}
	wantRoutes(t, c, other.Name, 20)
}

// TestIngressChanges: an Ingress that changes again and again has no more Routes
// than it asks for, and some that are about to go.
func TestIngressChanges(t *testing.T) {
	c, _ := startOperator(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "changes-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	const paths, changes, left = 120, 25, 150 // two turns, and what one writes meanwhile
	most := 0
	for n := range changes {
		text := strings.ReplaceAll(manyPaths(ns.Name, "shop", "changes.example.com", paths), "{path: /", fmt.Sprintf("{path: /v%d-", n))
		if err := apply(t, text); err != nil {
			t.Fatal(err)
		}
		// When its first Routes are there the next change comes.
		eventually(t, func() error {
			routes, err := byPath(c, ns.Name)
			most = max(most, len(routes))
			if _, there := routes[fmt.Sprintf("changes.example.com/v%d-0", n)]; err == nil && !there {
				err = fmt.Errorf("no Route of change %d among %d", n, len(routes))
			}
			return err
		})
	}
	t.Logf("%d Routes at most", most)
	if most > paths+left {
		t.Errorf("an Ingress with %d paths had %d Routes at a time", paths, most)
	}
	wantRoutes(t, c, ns.Name, paths)
}

// TestIngressWrites: what is written for the Ingresses of a namespace has a bound;
// what closes a path does not wait for it, and neither do other namespaces.
func TestIngressWrites(t *testing.T) {
	c, _ := startOperatorLimited(t, dns.Options{}, operator.Options{}, ingress.Options{Writes: budget.New(0.01, 30)})
	loud := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "writes-"}}
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "writes-"}}
	for _, ns := range []*corev1.Namespace{loud, other} {
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	text := manyPaths(loud.Name, "shop", "writes.example.com", 50)
	if err := apply(t, text); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, c, loud.Name, "shop", "Warning IngressTooLarge")
	wantRoutes(t, c, loud.Name, 30)
	if err := apply(t, manyPaths(other.Name, "shop", "others.example.com", 10)); err != nil {
		t.Fatal(err)
	}
	wantRoutes(t, c, other.Name, 10)
	const deny = `annotations: {nginx.ingress.kubernetes.io/server-snippet: "deny all;"}, namespace: `
	if err := apply(t, strings.Replace(text, "namespace: ", deny, 1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		routes, err := byPath(c, loud.Name)
		for path, r := range routes {
			if !route.Closed(&r) {
				err = fmt.Errorf("%s is open", path)
			}
		}
		if len(routes) != 30 {
			err = fmt.Errorf("%d Routes", len(routes))
		}
		return err
	})
}

// TestIngressQuota: what a quota of the API server refuses is told, and asked for
// a few times only.
func TestIngressQuota(t *testing.T) {
	c, log := startOperator(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "quota-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	// Without the controller that counts, the quota stands at what its status says.
	hard := corev1.ResourceList{"count/routes.route.openshift.io": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	if err := c.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: hard}
	if err := c.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		probe := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "probe"}}
		probe.Spec.Host, probe.Spec.To = "probe.example.com", routev1.RouteTargetReference{Kind: "Service", Name: "web"}
		if err := c.Create(t.Context(), probe, client.DryRunAll); err == nil {
			return fmt.Errorf("the quota is not in force yet")
		}
		return nil
	})
	if err := apply(t, manyPaths(ns.Name, "shop", "quota.example.com", 100)); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, c, ns.Name, "shop", "Warning RouteRefused")
	wantRoutes(t, c, ns.Name, 0)
	if strings.Contains(log.all(), "exceeded quota") {
		t.Error("a refusal by quota is logged as an error of the operator")
	}
}
