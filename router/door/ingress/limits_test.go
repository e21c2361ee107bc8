package ingress

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// huge is an Ingress with many paths, each at a host and with a Secret of its own.
func huge(paths int, annotations, labels map[string]string) *networkingv1.Ingress {
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "huge", Annotations: annotations, Labels: labels}}
	prefix := networkingv1.PathTypePrefix
	for n := range paths {
		host := fmt.Sprintf("h%d.example.com", n)
		i.Spec.TLS = append(i.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{host}, SecretName: fmt.Sprint("s", n)})
		i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}},
			}}},
		}})
	}
	return i
}

func reasons(out Output) map[api.Reason]int {
	count := map[api.Reason]int{}
	for _, f := range out.Findings {
		count[f.Reason]++
	}
	return count
}

// TestHugeIngress: an Ingress of 9000 paths with 250 kB of annotations, or one of
// 60,000 Secrets, is bounded in Routes, bytes, reads and findings.
func TestHugeIngress(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits()
	big := strings.Repeat("x", 250_000)
	tests := []struct {
		name    string
		ingress *networkingv1.Ingress
		routes  int
	}{
		{"paths", huge(9000, nil, nil), limits.Routes},
		{"annotations that mean nothing", huge(9000, map[string]string{"example.com/x": big}, nil), limits.Routes},
		{"annotations that mean something", huge(9000, map[string]string{api.AnnotationCookieName: big}, nil), 66},
		{"labels", huge(9000, nil, map[string]string{"x": big}), 33}, // an annotation has them, too
		{"Secrets", huge(60_000, nil, nil), limits.Routes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := Convert(Input{Ingress: test.ingress})
			used, told := UsageOf(out.Routes), reasons(out)
			switch {
			case used.Routes != test.routes || used.Bytes > limits.Bytes:
				t.Errorf("used %+v, want %d Routes", used, test.routes)
			case told[api.ReasonIngressTooLarge] == 0 || told[api.ReasonMoreFindings] != 1:
				t.Errorf("told %v", told)
			case len(out.Findings) > maxFindings+3:
				t.Errorf("%d findings", len(out.Findings))
			case len(SecretNames(test.ingress, Limits{})) > limits.Secrets:
				t.Errorf("%d Secrets are read", len(SecretNames(test.ingress, Limits{})))
			}
		})
	}
}

// TestHugeProtectedIngress: the last paths of an Ingress that keeps requests away
// are nobody's, and shorter ones of other Ingresses must not serve them.
func TestHugeProtectedIngress(t *testing.T) {
	t.Parallel()
	i := huge(10, map[string]string{api.AnnotationAllowlist: "10.0.0.0/8"}, nil)
	limits := Limits{Routes: 9}
	if closed := ClosedHosts(i, limits); len(closed) != 10 {
		t.Errorf("closed hosts %v", closed)
	}
	for _, r := range Convert(Input{Ingress: i, Limits: limits}).Routes {
		if r.Spec.Port == nil || r.Spec.Port.TargetPort.StrVal != api.ClosedPort {
			t.Errorf("Route %s is open", r.Spec.Host)
		}
	}
	if closed := ClosedHosts(i, Limits{Routes: 10}); len(closed) > 0 {
		t.Errorf("it fits, and closes %v", closed)
	}
}

// TestFewFindings: what is wrong with each of many paths is told of the first ones.
func TestFewFindings(t *testing.T) {
	t.Parallel()
	out := Convert(Input{Ingress: huge(200, nil, nil), Limits: Limits{Secrets: 300}})
	if n := reasons(out)[api.ReasonMoreFindings]; n != 1 || len(out.Findings) != maxFindings+1 {
		t.Errorf("%d findings, %v", len(out.Findings), reasons(out))
	}
}
