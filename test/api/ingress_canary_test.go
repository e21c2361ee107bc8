package api

import (
	"fmt"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

const canaryIngress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: NAME, namespace: NAMESPACE, annotations: {ANNOTATIONS}}
spec:
  ingressClassName: openshift-default
  rules:
  - host: canary.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: NAME, port: {number: 80}}}}]}
`

const canaryService = `apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAMESPACE}
spec: {ports: [{name: PORT, port: 80, targetPort: 8080}]}
`

// TestIngressCanary follows a canary that comes before the Ingress that it belongs to,
// changes, loses its Service's port, and is made an Ingress of its own.
func TestIngressCanary(t *testing.T) {
	c, _ := startOperator(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "canary-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	write := func(manifest, name string, more ...string) {
		t.Helper()
		text := strings.NewReplacer(append([]string{"NAMESPACE", ns.Name, "NAME", name}, more...)...).Replace(manifest)
		if err := apply(t, text); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, check func(routev1.Route) error) {
		t.Helper()
		wantRoute(t, c, ns.Name, "canary.example.com/", func(r routev1.Route) error {
			if err := check(r); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return nil
		})
	}
	has := func(service, canary string, closed bool) func(routev1.Route) error {
		return func(r routev1.Route) error {
			if got := r.Annotations[policy.AnnotationCanary]; got != canary || r.Spec.To.Name != service {
				return fmt.Errorf("the Route leads to %s and has the canary %q, want %s and %q", r.Spec.To.Name, got, service, canary)
			}
			if is := r.Spec.Port != nil && r.Spec.Port.TargetPort.String() == names.ClosedPort; is != closed {
				return fmt.Errorf("closed: %v", is)
			}
			return nil
		}
	}
	const nginx = "nginx.ingress.kubernetes.io/"
	weight := func(n string) string { return nginx + `canary: "true", ` + nginx + `canary-weight: "` + n + `"` }
	write(canaryService, "web", "PORT", "http")
	write(canaryService, "next", "PORT", "http")
	write(canaryIngress, "next", "ANNOTATIONS", weight("10"))
	want("a canary alone", has("next", "", true))
	wantEvent(t, c, ns.Name, "next", "Warning CanaryWithoutMain")
	write(canaryIngress, "web", "ANNOTATIONS", "")
	eventually(t, func() error { // the path is that of the other one now
		routes, err := byPath(c, ns.Name)
		if err == nil && len(routes) != 1 {
			err = fmt.Errorf("%d Routes", len(routes))
		}
		return err
	})
	want("both", has("web", "next:http 10", false))
	write(canaryIngress, "next", "ANNOTATIONS", weight("50"))
	want("another weight", has("web", "next:http 50", false))
	write(canaryService, "next", "PORT", "main")
	want("another port of the Service", has("web", "next:main 50", false))
	if _, err := server.Kubectl(t.Context(), "delete", "ingress", "next", "-n", ns.Name); err != nil {
		t.Fatal(err)
	}
	want("no canary", has("web", "", false))
}
