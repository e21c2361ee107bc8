package ingress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

// at returns an Ingress that leads one path of a host to a Service.
func at(name, host, path, service string, annotations ...string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(len(name)), 0)), Annotations: map[string]string{}}}
	for n := 0; n < len(annotations); n += 2 {
		i.Annotations[annotations[n]] = annotations[n+1]
	}
	i.Spec.Rules = []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
		Path: path, PathType: &prefix, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}}},
	}}}}}}
	return i
}

func canaryServices() map[string]*corev1.Service {
	out := map[string]*corev1.Service{}
	for _, name := range []string{"web", "next"} {
		out[name] = &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	}
	return out
}

// TestCanary: the Routes of an Ingress have the annotation that says what its canary
// gets, and the canary itself has no Routes.
func TestCanary(t *testing.T) {
	t.Parallel()
	const n = prefixNginx
	for _, tt := range []struct {
		name           string
		main, canary   []string
		want, findings string
	}{
		{"weight", nil, []string{n + "canary-weight", "10"}, "next:http 10", ""},
		{"total", nil, []string{n + "canary-weight", "10", n + "canary-weight-total", "1000"}, "next:http 10/1000", ""},
		{"header", nil, []string{n + "canary-by-header", "X-Canary"}, "next:http header:X-Canary=always not-header:X-Canary=never", ""},
		{"value", nil, []string{n + "canary-by-header", "X-Canary", n + "canary-by-header-value", "a b", n + "canary-by-header-pattern", "x"}, "next:http header:X-Canary=a%20b", ""},
		{"pattern", nil, []string{n + "canary-by-header", "X-Canary", n + "canary-by-header-pattern", "^v[12]$"}, "next:http header:X-Canary~=%5Ev%5B12%5D$", ""},
		{"cookie and weight", nil, []string{n + "canary-by-cookie", "beta", n + "canary-weight", "5"}, "next:http 5 cookie:beta=always not-cookie:beta=never", ""},
		{"sticky", []string{n + "affinity", "cookie"}, []string{n + "canary-weight", "5"}, "next:http 5 sticky", ""},
		{"legacy", []string{n + "affinity", "cookie"}, []string{n + "canary-weight", "5", n + "affinity-canary-behavior", "legacy"}, "next:http 5", ""},
		{"own annotation", []string{policy.AnnotationCanary, "other 1"}, []string{n + "canary-weight", "5"}, "other 1", ""},
		{"nothing", nil, nil, "next:http", "neither a weight"},
		{"no number", nil, []string{n + "canary-weight", "ten"}, "", "must be a whole number"},
		{"too much", nil, []string{n + "canary-weight", "101"}, "", "add up to 101"},
		{"slow pattern", nil, []string{n + "canary-by-header", "X", n + "canary-by-header-pattern", "(a+)+"}, "", "repeats"},
		{"protected by itself", nil, []string{n + "canary-weight", "5", n + "whitelist-source-range", "10.0.0.0/8"}, "", "keeps requests away"},
		{"our protection", nil, []string{n + "canary-weight", "5", policy.AnnotationAllow, "10.0.0.0/8"}, "", "keeps requests away"},
		{"protected as the main one", []string{n + "whitelist-source-range", "10.0.0.0/8"}, []string{n + "canary-weight", "5", n + "whitelist-source-range", "10.0.0.0/8"}, "next:http 5", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			main := at("web", "shop.test", "/", "web", tt.main...)
			canary := at("canary", "shop.test", "/", "next", append(tt.canary, n+"canary", "true")...)
			out := Convert(Input{Ingress: main, Services: canaryServices(), Relatives: []*networkingv1.Ingress{canary}})
			if len(out.Routes) != 1 || out.Routes[0].Annotations[policy.AnnotationCanary] != tt.want {
				t.Fatalf("Routes %+v, want the annotation %q", out.Routes, tt.want)
			}
			if listed := strings.Contains(out.Routes[0].Annotations[api.AnnotationFromIngress], policy.AnnotationCanary); listed != (tt.want != "") {
				t.Errorf("listed among the annotations of the Ingress: %v", listed)
			}
			own := Convert(Input{Ingress: canary, Services: canaryServices(), Relatives: []*networkingv1.Ingress{main}})
			if len(own.Routes) > 0 {
				t.Errorf("the canary has Routes: %+v", own.Routes)
			}
			if text := fmt.Sprint(own.Findings); tt.findings == "" && len(own.Findings) > 0 || !strings.Contains(text, tt.findings) {
				t.Errorf("findings %s, want %q", text, tt.findings)
			}
		})
	}
}

// TestCanaryAlone: a canary of what no other Ingress has is closed. So it is where the
// other one is of another class, or has another path.
func TestCanaryAlone(t *testing.T) {
	t.Parallel()
	canary := at("canary", "shop.test", "/cart", "next", annotationCanary, "true", prefixNginx+"canary-weight", "10")
	other := at("web", "shop.test", "/cart", "web")
	class := "another"
	other.Spec.IngressClassName = &class
	for name, relatives := range map[string][]*networkingv1.Ingress{
		"none": nil, "another path": {at("web", "shop.test", "/", "web")}, "another host": {at("web", "web.test", "/cart", "web")},
		"another class": {other}, "a canary": {at("canary2", "shop.test", "/cart", "web", annotationCanary, "true")},
	} {
		out := Convert(Input{Ingress: canary, Services: canaryServices(), Relatives: relatives})
		if len(out.Routes) != 1 || out.Routes[0].Spec.Port.TargetPort.String() != api.ClosedPort || out.Routes[0].Spec.Path != "/cart" {
			t.Errorf("%s: Routes %+v, want one that is closed", name, out.Routes)
		}
		if len(out.Findings) == 0 || out.Findings[0].Reason != api.ReasonCanaryWithoutMain {
			t.Errorf("%s: findings %v", name, out.Findings)
		}
	}
	// A slash at the end means the same.
	if out := Convert(Input{Ingress: canary, Services: canaryServices(), Relatives: []*networkingv1.Ingress{at("web", "shop.test", "/cart/", "web")}}); len(out.Routes) > 0 {
		t.Errorf("Routes %+v beside the Ingress with the path", out.Routes)
	}
}

// TestTwoCanaries: of two canaries of a path the older one counts.
func TestTwoCanaries(t *testing.T) {
	t.Parallel()
	main := at("web", "shop.test", "/", "web")
	older := at("one", "shop.test", "/", "next", annotationCanary, "true", prefixNginx+"canary-weight", "10")
	younger := at("three", "shop.test", "/", "web", annotationCanary, "true", prefixNginx+"canary-weight", "20")
	out := Convert(Input{Ingress: main, Services: canaryServices(), Relatives: []*networkingv1.Ingress{younger, older}})
	if got := out.Routes[0].Annotations[policy.AnnotationCanary]; got != "next:http 10" {
		t.Errorf("the annotation is %q", got)
	}
	out = Convert(Input{Ingress: younger, Services: canaryServices(), Relatives: []*networkingv1.Ingress{main, older}})
	if len(out.Routes) > 0 || !strings.Contains(fmt.Sprint(out.Findings), "an older canary") {
		t.Errorf("%+v", out)
	}
}
