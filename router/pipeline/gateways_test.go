package pipeline_test

import (
	"encoding/json"
	"slices"
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

// TestSavedHTTPRoute: what HAProxy took of an HTTPRoute before it refused a version is
// known to the next process, also where a share of the requests has no target.
func TestSavedHTTPRoute(t *testing.T) {
	t.Parallel()
	port, kind := gatewayv1.PortNumber(80), gatewayv1.Kind("Bucket")
	ref := func(change func(*gatewayv1.HTTPBackendRef)) gatewayv1.HTTPBackendRef {
		r := gatewayv1.HTTPBackendRef{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: "web", Port: &port}}}
		change(&r)
		return r
	}
	src := &gateways{
		gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}},
		route:   &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}},
	}
	src.gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	src.route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "gw"}}
	src.route.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{
		ref(func(*gatewayv1.HTTPBackendRef) {}), ref(func(*gatewayv1.HTTPBackendRef) {}), ref(func(r *gatewayv1.HTTPBackendRef) { r.Kind = &kind }),
	}}}
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default"}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	p.Accept(model.Objects{theRoute: {}})
	src.route = src.route.DeepCopy()
	src.route.Spec.Hostnames = []gatewayv1.Hostname{"a.test"}
	p.Update(door.Changes{Objects: model.Objects{theRoute: {}}})
	if _, _, ok := p.Refuse(theRoute, "no memory"); !ok {
		t.Fatal("it cannot be refused")
	}
	saved, is := p.Saved(theRoute)
	text, err := json.Marshal([]pipeline.Saved{saved})
	if err != nil || !is || len(saved.Claims) == 0 {
		t.Fatalf("saved %t with %d claims: %v", is, len(saved.Claims), err)
	}
	next := pipeline.New(doors.All(), src, door.Settings{RouterName: "default"}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	kept, err := next.ParseSaved(text)
	if err != nil || len(kept) != 1 {
		t.Fatalf("%d kept: %v", len(kept), err)
	}
	next.Restore(kept)
	next.Update(door.Changes{All: true})
	served := func(p *pipeline.Pipeline) (hosts []string) {
		for e := range p.Want().Entries {
			hosts = append(hosts, string(e.Map)+" "+e.Key)
		}
		slices.Sort(hosts)
		return hosts
	}
	if before, now := served(p), served(next); len(before) == 0 || !slices.Equal(before, now) {
		t.Errorf("the next process serves %v, this one %v", now, before)
	}
}
