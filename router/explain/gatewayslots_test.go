package explain

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
)

// TestUnavailablePorts: lint says which listeners of manifests would find no slot: those beyond the
// share of one namespace.
func TestUnavailablePorts(t *testing.T) {
	t.Parallel()
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
	share := gatewayapi.Table{}.PerNamespace(gatewayapi.HTTP)
	class.Spec.ControllerName = gatewayapi.ControllerName
	o := NewObjects()
	o.Add(class)
	for i, name := range []string{"a", "b"} {
		g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u"}}
		g.Spec.GatewayClassName = "fairlead"
		for n := range share*3/4 + i {
			g.Spec.Listeners = append(g.Spec.Listeners, gatewayv1.Listener{Name: gatewayv1.SectionName("p" + string(rune('a'+n/26)) + string(rune('a'+n%26))), Port: gatewayv1.PortNumber(1000 + n), Protocol: gatewayv1.HTTPProtocolType})
		}
		o.Add(g)
	}
	s, err := NewSnapshot(o, Options{Router: "default", Now: time.Unix(1000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a": 0, "b": share/2 + 1}
	for name, lacking := range want {
		y, err := s.Why("Gateway", "ns", name)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, l := range y.Listeners {
			for _, c := range l.Conditions {
				if c.Reason == string(gatewayv1.ListenerReasonPortUnavailable) {
					got++
				}
			}
		}
		if got != lacking {
			t.Errorf("Gateway %s: %d listeners without a port, want %d", name, got, lacking)
		}
	}
}
