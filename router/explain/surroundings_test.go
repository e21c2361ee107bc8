package explain

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// TestSurroundings: what other Ingresses of a host mean to one is what it is for the operator: who asks
// clients for other certificates closes the host for the others, who asks for the same does not.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	at := func(name, host, authority string) *networkingv1.Ingress {
		prefix := networkingv1.PathTypePrefix
		i := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: name},
			Spec: networkingv1.IngressSpec{
				IngressClassName: new("fairlead"), TLS: []networkingv1.IngressTLS{{Hosts: []string{host}}},
				Rules: []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
					Path: "/" + name, PathType: &prefix, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80}}},
				}}}}}},
			},
		}
		if authority != "" {
			i.Annotations = map[string]string{"nginx.ingress.kubernetes.io/auth-tls-secret": "own/" + authority}
		}
		return i
	}
	closed := func(objects ...*networkingv1.Ingress) (names []string) {
		o := NewObjects()
		o.Offline = true
		for _, i := range objects {
			o.Add(i)
		}
		s, err := NewSnapshot(o, Options{Now: time.Unix(1e9, 0)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.allFindings() {
			if f.Reason == api.ReasonForeignProtection {
				names = append(names, f.Object.Name)
			}
		}
		return names
	}
	if got := closed(at("a", "x.test", "ca"), at("b", "x.test", "ca"), at("c", "y.test", "")); len(got) > 0 {
		t.Errorf("the same certificates: closed %q", got)
	}
	if got := closed(at("a", "x.test", "ca"), at("b", "x.test", ""), at("c", "y.test", "")); len(got) != 1 || got[0] != "b" {
		t.Errorf("no certificates: closed %q", got)
	}
}
