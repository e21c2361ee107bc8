package kube

import (
	"fmt"
	"log/slog"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// TestListenerSets: a router takes the ListenerSets of its Gateways, with the routes that name
// them, and writes their status and how many a Gateway has; it withdraws the status of those
// whose Gateway goes.
func TestListenerSets(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.namespace(t, "shop", nil)
	e.namespace(t, "team", map[string]string{"team": "a"})
	e.installGateways(t)
	w, _ := e.watcher(t, Options{Namespace: "shop"})
	changesUntil(t, w, "the first state", all)
	s, err := NewStatusWriter(StatusOptions{Watcher: w, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	e.installGatewayKinds(t, "listenersets")
	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: "+string(gatewayapi.ControllerName)+"}")
	gw := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: ours}\nspec: {gatewayClassName: ours, listeners: [{name: http, port: 80, protocol: HTTP}], allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {team: a}}}}}")
	set := e.create(t, "listenersets", "kind: ListenerSet\nmetadata: {namespace: team, name: set}\nspec: {parentRef: {name: ours, namespace: shop}, listeners: [{name: high, port: 81, protocol: HTTP}]}")
	refused := e.create(t, "listenersets", "kind: ListenerSet\nmetadata: {namespace: shop, name: set}\nspec: {parentRef: {name: ours}, listeners: [{name: high, port: 81, protocol: HTTP}]}")
	lost := e.create(t, "listenersets", "kind: ListenerSet\nmetadata: {namespace: team, name: lost}\nspec: {parentRef: {name: none}, listeners: [{name: high, port: 81, protocol: HTTP}]}")
	route := e.create(t, "httproutes", "kind: HTTPRoute\nmetadata: {namespace: team, name: web}\nspec: {parentRefs: [{kind: ListenerSet, name: set}], rules: [{}]}")
	eventually(t, "all are read", func() bool {
		return w.Object(gw) != nil && w.Object(set) != nil && w.Object(refused) != nil && w.Object(route) != nil && w.gateways.sets.get(lost) != nil
	})
	if w.Object(lost) != nil || len(w.All()) != 4 {
		t.Errorf("what is for the router: %v", w.All())
	}
	// One that may not attach concerns only itself, and one that may those of which something
	// else is true by it.
	port := func(key model.Object, port string) {
		t.Helper()
		patch(t, e.crds.gateway, "listenersets", key.Namespace, key.Name, "", `{"spec":{"listeners":[{"name":"high","port":`+port+`,"protocol":"HTTP"}]}}`)
	}
	others := gateway.SetsOf(gw)
	w.Take()
	port(refused, "82")
	changesUntil(t, w, "the one that may not", func(c door.Changes) bool {
		if has(others)(c) {
			t.Error("a ListenerSet that may not attach makes work with those that may")
		}
		return has(refused)(c)
	})
	port(set, "83")
	changesUntil(t, w, "the one that may", has(set))
	_ = w.Take()
	e.patchGateway(t, set, "", `{"metadata":{"annotations":{"fairlead.dev/allow":"198.18.0.0/15"}}}`)
	changesUntil(t, w, "annotations of the ListenerSet", has(set))
	e.patchGateway(t, set, "", `{"metadata":{"annotations":null}}`)
	changesUntil(t, w, "their end", has(set))
	publish := func(key model.Object) {
		t.Helper()
		d := map[model.Kind]door.Door{gateway.KindGateway: gateway.Gateways{}, gateway.KindHTTPRoute: gateway.HTTPRoutes{}, gateway.KindListenerSet: gateway.ListenerSets{}}[key.Kind]
		res := d.Ingest(w.Object(key), w, door.Settings{}, door.Past{})
		s.Publish([]model.RouteStatus{{
			Object: key, UID: res.UID, Generation: res.Generation, Parents: res.Parents, Listeners: res.ListenerStatus,
			Conditions: res.Conditions, AttachedTo: res.AttachedTo, Findings: res.Findings,
		}})
	}
	for _, key := range []model.Object{gw, set, refused, route} {
		publish(key)
	}
	says := func(key model.Object, kind, want string) func() bool {
		return func() bool {
			o := &gatewayv1.ListenerSet{}
			e.raw(t, key, o)
			for _, c := range o.Status.Conditions {
				if c.Type == kind && string(c.Status)+" "+c.Reason == want {
					return c.ObservedGeneration == o.Generation || c.Status == metav1.ConditionUnknown
				}
			}
			return false
		}
	}
	eventually(t, "the ListenerSet is accepted", says(set, "Accepted", "True Accepted"))
	eventually(t, "it has no slot", says(set, "Programmed", "False Pending"))
	eventually(t, "the other one is not allowed", says(refused, "Accepted", "False NotAllowed"))
	eventually(t, "the route is counted", func() bool {
		o := &gatewayv1.ListenerSet{}
		e.raw(t, set, o)
		return len(o.Status.Listeners) == 1 && o.Status.Listeners[0].AttachedRoutes == 1 && len(o.Status.Listeners[0].Conditions) == 4
	})
	attached := func(want int32) func() bool {
		return func() bool {
			o := &gatewayv1.Gateway{}
			e.raw(t, gw, o)
			return valueOf(o.Status.AttachedListenerSets) == want && len(o.Status.Listeners) == 1 && o.Status.Listeners[0].AttachedRoutes == 0
		}
	}
	eventually(t, "the Gateway has one", attached(1))
	// Without an address of the Gateway nothing is programmed, wherever HAProxy listens.
	programmed := func(of model.Object, status, reason string) {
		t.Helper()
		e.patchGateway(t, of, "status", `{"status":{"conditions":[{"type":"Programmed","status":"`+status+`","reason":"`+reason+`","message":"","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	}
	served := model.RouteStatus{Object: set, UID: string(w.Object(set).GetUID()), Generation: w.Object(set).GetGeneration(), AttachedTo: gw, Conditions: []model.StatusCondition{
		{Type: "Accepted", True: true, Reason: "Accepted"}, {Type: "Programmed", True: true, Reason: "Programmed"},
	}}
	s.Publish([]model.RouteStatus{served})
	eventually(t, "the ListenerSet is programmed", says(set, "Programmed", "True Programmed"))
	programmed(gw, "False", "AddressNotAssigned")
	eventually(t, "its Gateway is not", says(set, "Programmed", "False ParentNotProgrammed"))
	programmed(gw, "False", "Pending")
	eventually(t, "its Gateway may be soon", says(set, "Programmed", "True Programmed"))
	programmed(gw, "False", "AddressNotUsable")
	eventually(t, "its Gateway is not again", says(set, "Programmed", "False ParentNotProgrammed"))
	// What is said of a former generation holds until something is said of the next one.
	e.patchGateway(t, gw, "", `{"spec":{"addresses":[{"type":"IPAddress","value":"198.51.100.1"}]}}`)
	eventually(t, "the Gateway is another one", func() bool { g, ok := w.Object(gw).(*gatewayv1.Gateway); return ok && g.Generation == 2 })
	publish(gw)
	if !says(set, "Programmed", "False ParentNotProgrammed")() {
		t.Error("the ListenerSet is programmed while nothing is known of the Gateway's new generation")
	}
	e.patchGateway(t, gw, "status", `{"status":{"conditions":[{"type":"Programmed","status":"True","reason":"Programmed","message":"","observedGeneration":2,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	eventually(t, "its Gateway is programmed", says(set, "Programmed", "True Programmed"))
	if _, err := e.core.CoreV1().Namespaces().Patch(t.Context(), "team", types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its namespace has other labels", func() bool { return w.Namespace("team") != nil && w.Namespace("team").Labels["team"] == "b" })
	publish(set)
	eventually(t, "the ListenerSet is not allowed any more", says(set, "Accepted", "False NotAllowed"))
	eventually(t, "the Gateway has none", attached(0))
	if err := e.crds.gateway.Delete().Namespace(gw.Namespace).Resource("gateways").Name(gw.Name).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Gateway goes", func() bool { return w.Object(set) == nil })
	s.Forget([]model.Object{gw, set, refused, route})
	eventually(t, "the status is withdrawn", says(set, "Accepted", "Unknown Pending"))
}

// TestSetsInCrowd: ListenerSets that come one after the other do not each make work with all
// others of the Gateway, and one that gets what another one had is told at once.
func TestSetsInCrowd(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.namespace(t, "shop", nil)
	e.installGateways(t)
	w, _ := e.watcher(t, Options{Namespace: "shop"})
	changesUntil(t, w, "the first state", all)
	e.installGatewayKinds(t, "listenersets")
	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: "+string(gatewayapi.ControllerName)+"}")
	gw := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: ours}\nspec: {gatewayClassName: ours, listeners: [{name: http, port: 80, protocol: HTTP}], allowedListeners: {namespaces: {from: Same}}}")
	create := func(name, host string) model.Object {
		return e.create(t, "listenersets", "kind: ListenerSet\nmetadata: {namespace: shop, name: "+name+"}\nspec: {parentRef: {name: ours}, listeners: [{name: one, port: 443, protocol: HTTPS, hostname: '"+host+"', tls: {certificateRefs: [{name: c}]}}]}")
	}
	first := create("first", "first.test")
	eventually(t, "it is read", func() bool { return w.Object(gw) != nil && w.Object(first) != nil })
	took := 0
	for i := range 12 {
		name := fmt.Sprintf("set%d", i)
		key := create(name, name+".test")
		if has(gateway.SetsOf(gw))(changesUntil(t, w, "what comes", has(key))) {
			took++
		}
	}
	loser := create("loser", "first.test")
	changesUntil(t, w, "what loses", has(loser))
	if took > 1 { // what is there at first
		t.Errorf("12 ListenerSets made %d times work with all others", took)
	}
	eventually(t, "all is compared", func() bool {
		j := &w.gateways.joints
		j.comparing.Lock()
		defer j.comparing.Unlock()
		j.mu.Lock()
		defer j.mu.Unlock()
		m := j.marked[gw]
		return !m.due && m.by != nil && m.by.Set("shop", "loser") != nil
	})
	w.Take()
	if err := e.crds.gateway.Delete().Namespace("shop").Resource("listenersets").Name("first").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	sum := changesUntil(t, w, "what wins", has(loser))
	for key := range sum.Objects {
		if key.Kind == gateway.KindListenerSet && key != first && key != loser {
			t.Errorf("%v is marked, of which the same is true as before", key)
		}
	}
	create("wide", "*.test")
	overlapping := 0
	changesUntil(t, w, "all that it overlaps with", func(c door.Changes) bool {
		if has(gateway.SetsOf(gw))(c) {
			t.Error("all are marked at once")
		}
		overlapping = 0
		for key := range c.Objects {
			if key.Kind == gateway.KindListenerSet {
				overlapping++
			}
		}
		return overlapping == 14
	})
}
