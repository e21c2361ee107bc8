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

// TestGatewayCount: a Gateway makes no claims, so it is not among the routes that are not
// served.
func TestGatewayCount(t *testing.T) {
	t.Parallel()
	src := gateways{
		gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}},
		route:   &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}},
	}
	src.gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	src.route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "gw"}}
	src.route.Spec.Rules = []gatewayv1.HTTPRouteRule{{}}
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default"}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	if known, served := p.Count(); known != 1 || served != 1 {
		t.Errorf("%d known, %d served", known, served)
	}
	if st := p.Status(theRoute); len(st.Parents) != 1 || len(st.Parents[0].Listeners) != 1 {
		t.Errorf("status %+v", st)
	}
}
