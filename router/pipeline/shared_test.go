package pipeline_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
)

// TestSharedCertificate: hosts at the router's address show the certificate of the listener, each
// by a name of its own, and what HAProxy has against one is the Gateway's.
func TestSharedCertificate(t *testing.T) {
	t.Parallel()
	src := gateways{
		gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g", Annotations: map[string]string{gatewayapi.AnnotationAddress: gatewayapi.AddressRouter}}},
		route:   &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}},
	}
	src.gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "s", Port: 443, Protocol: gatewayv1.HTTPSProtocolType, TLS: &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "wild"}}}}}
	src.route.Spec = gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "gw"}}},
		Hostnames:       []gatewayv1.Hostname{"a.test", "b.test"}, Rules: []gatewayv1.HTTPRouteRule{{}},
	}
	p := pipeline.New(doors.All(), src, door.Settings{SharedAddress: true}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	want := p.Want()
	a, b := want.Lines["a.test"], want.Lines["b.test"]
	if a == "" || b == "" || a == b || want.Certs[a] == "" || want.Certs[a] != want.Certs[b] {
		t.Fatalf("certificates %q and %q of %v", a, b, want.Lines)
	}
	for _, id := range []string{a, b} {
		if owner := p.Owners()[id]; owner != theGateway {
			t.Errorf("%s is owned by %v", id, owner)
		}
	}
	// What HAProxy refuses of the Gateway leaves the hosts their default certificate.
	if _, _, refused := p.Refuse(theGateway, "no"); !refused {
		t.Fatal("the Gateway brings nothing")
	}
	if _, has := p.Want().Lines["a.test"]; has {
		t.Errorf("still shown: %v", p.Want().Lines)
	}
	if key := (plan.Entry{Map: plan.MapSNI, Key: "a.test"}); p.Want().Entries[key] == "" {
		t.Error("TLS of the host ends nowhere")
	}
}
