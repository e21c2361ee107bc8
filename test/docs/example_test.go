package docs

import (
	"maps"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// TestExamples decodes every example strictly and lets the router's pipeline
// decide on it. Services that an example does not show are there, with a pod.
func TestExamples(t *testing.T) {
	t.Parallel()
	routes := 0
	for _, p := range pages(t) {
		secrets := manifest.NewReader("demo")
		for _, e := range p.examples(t) {
			secrets.Read(e.page, []byte(e.text))
		}
		for _, e := range p.examples(t) {
			if e.denied == "" {
				routes += decide(t, e, secrets.Objects())
			}
		}
	}
	if routes < 30 {
		t.Errorf("only %d routes in all examples; have they moved?", routes)
	}
}

// decide checks one example and returns how many routes it has.
func decide(t *testing.T, e example, ofPage *explain.Objects) int {
	t.Helper()
	r := manifest.NewReader("demo")
	r.Read(e.page, []byte(e.text))
	o := r.Objects()
	maps.Copy(o.Secrets, ofPage.Secrets)
	for _, route := range o.Routes {
		addServices(o, route)
	}
	// The age of manifests without one is their order.
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	w, err := explain.NewSnapshot(o, explain.Options{Domain: "apps.example.com", Now: now})
	if err != nil {
		t.Errorf("%s:%d: %v", e.page, e.line, err)
		return 0
	}
	lint := w.Lint("")
	met := e.finding == ""
	for _, f := range lint.Findings {
		switch {
		case f.Severity == api.SeverityInfo:
		case e.finding == "refused" && f.Severity == api.SeverityError && string(f.Reason) == e.reason,
			e.finding == "warns" && f.Severity == api.SeverityWarning && string(f.Reason) == e.reason:
			met = true
		case expected(e.page, f):
		default:
			t.Errorf("%s:%d: %s %s %s: %s", e.page, e.line, f.Severity, f.Field, f.Reason, f.Message)
		}
	}
	if !met {
		t.Errorf("%s:%d: no finding of reason %s", e.page, e.line, e.reason)
	}
	return len(o.Routes)
}

// expected reports whether a finding is what its page is about: the examples
// of kubectl fairlead are wrong on purpose, and a test of their own holds what
// is said about them.
func expected(page string, f explain.Finding) bool {
	if strings.HasPrefix(page, "docs/gateway/") && f.Reason == api.ReasonBackendNotFound || // Services are not shown
		strings.HasPrefix(page, "docs/gateway/") && (strings.HasSuffix(f.Message, "malformed certificate") || f.Reason == api.ReasonInvalidClientCertificateRef) { // nor are certificates
		return true
	}
	return page == "docs/explain.md" && (f.Reason == api.ReasonBackendNotFound || f.Reason == api.ReasonHostAlreadyClaimed ||
		f.Reason == api.ReasonUnknownField || f.Reason == api.ReasonUnknownAnnotation)
}

// addServices makes the Services of a route that the example leaves out.
func addServices(o *explain.Objects, r *routev1.Route) {
	port := "http"
	if r.Spec.Port != nil {
		port = r.Spec.Port.TargetPort.String()
	}
	all := append([]routev1.RouteTargetReference{r.Spec.To}, r.Spec.AlternateBackends...)
	for _, annotation := range []string{policy.AnnotationCanary, policy.AnnotationMirror} {
		if words := strings.Fields(r.Annotations[annotation]); len(words) > 0 {
			name, _, _ := strings.Cut(words[0], ":")
			all = append(all, routev1.RouteTargetReference{Name: name})
		}
	}
	for key, p := range o.Policies {
		if p.Spec.Pages == nil || key.Namespace != r.Namespace {
			continue
		}
		for _, e := range p.Spec.Pages.Errors {
			if e.Service != nil {
				all = append(all, routev1.RouteTargetReference{Name: string(e.Service.Name)})
			}
		}
	}
	for _, to := range all {
		key := model.Object{Kind: door.KindService, Namespace: r.Namespace, Name: to.Name}
		if o.Services[key] != nil {
			continue
		}
		number := int32(8080)
		o.Add(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: port, Port: 80, TargetPort: intstr.FromInt32(number)}}},
		})
		o.Add(&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{discoveryv1.LabelServiceName: key.Name}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: &port, Port: &number}},
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.10"}}},
		})
	}
}

// TestExamplesOfOurKinds: what looks like an example is marked as yaml, or it
// is not tested.
func TestExamplesOfOurKinds(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		for _, b := range fence.FindAllStringSubmatch(p.text, -1) {
			if !strings.HasPrefix(b[1], "yaml") && strings.Contains(b[2], "\nkind: Route\n") {
				t.Errorf("%s: a Route in a block that is marked %q, not yaml", p.path, b[1])
			}
		}
	}
}
