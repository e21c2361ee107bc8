package gateway_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// BenchmarkAgain changes one of 2,500 ListenerSets of a Gateway.
func BenchmarkAgain(b *testing.B) {
	from := gatewayv1.NamespacesFromAll
	g := &gatewayv1.Gateway{}
	g.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &from}}
	g.Spec.Listeners = []gatewayv1.Listener{{Name: "plain", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	first := time.Date(2026, 1, 9, 0, 0, 0, 0, time.UTC)
	set := func(n int) *gatewayv1.ListenerSet {
		s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprint("ns", n/50), Name: fmt.Sprint("app", n%50), CreationTimestamp: metav1.NewTime(first.Add(time.Duration(n/25) * time.Second)),
		}}
		host := gatewayv1.Hostname(s.Namespace + "-" + s.Name + ".example.com")
		s.Spec.Listeners = []gatewayv1.ListenerEntry{{Name: "l", Port: 443, Protocol: gatewayv1.HTTPSProtocolType, Hostname: &host, TLS: &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "c"}}}}}
		return s
	}
	sets := make([]*gatewayv1.ListenerSet, 2500)
	for n := range sets {
		sets[n] = set(n)
	}
	labels := func(string) (map[string]string, bool) { return nil, true }
	j := gateway.Join(g, sets, labels)
	b.ReportAllocs()
	for n := 0; b.Loop(); n = (n + 97) % len(sets) {
		sets[n] = set(n)
		j = j.Again(g, sets, labels)
	}
}
