package pipeline_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// TestRelays: a listener for UDP with a route is a port to relay, of which HAProxy's wanted state
// has nothing, and what it was is said once.
func TestRelays(t *testing.T) {
	t.Parallel()
	src := &gateways{
		gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}},
		route:   &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}},
		udp:     &gatewayv1.UDPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "v"}},
	}
	src.gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "tcp", Port: 53, Protocol: gatewayv1.TCPProtocolType}, {Name: "udp", Port: 53, Protocol: gatewayv1.UDPProtocolType}}
	src.udp.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "gw"}}
	src.udp.Spec.Rules = []gatewayv1.UDPRouteRule{{BackendRefs: []gatewayv1.BackendRef{{BackendObjectReference: gatewayv1.BackendObjectReference{Name: "web", Port: new(gatewayv1.PortNumber(81))}}}}}
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default", Agent: true}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	bare := len(p.Want().Entries)
	p.Update(door.Changes{All: true})
	relays, changed := p.Relays()
	if !changed || len(relays) != 1 || relays[0].Port != 24001 || relays[0].Namespace != "ns" || relays[0].Unusable != 1 {
		t.Errorf("changed %t: %+v", changed, relays)
	}
	if n := len(p.Want().Backends); n != 0 {
		t.Errorf("HAProxy has %d backends", n)
	}
	if n := len(p.Want().Entries) - bare; n != 2 { // those of the listener for TCP
		t.Errorf("HAProxy has %d entries: %v", n, p.Want().Entries)
	}
	if _, served := p.Count(); served != 1 {
		t.Errorf("%d objects are served", served)
	}
	if _, changed := p.Relays(); changed {
		t.Error("said twice")
	}
	src.gateway = src.gateway.DeepCopy()
	src.gateway.Spec.Listeners = src.gateway.Spec.Listeners[:1]
	p.Update(door.Changes{Objects: model.Objects{theGateway: {}}})
	if relays, changed := p.Relays(); !changed || len(relays) != 0 {
		t.Errorf("without the listener, changed %t: %+v", changed, relays)
	}
	if known, served := p.Count(); known != 2 || served != 0 {
		t.Errorf("%d routes known, %d served", known, served)
	}
}
