package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// shows reports about the newest version of a Gateway or ListenerSet, as the router does once
// HAProxy has it: each listener is live, or has the reason for which it is not.
func (r *replica) shows(t *testing.T, key model.Object, generation int64, listeners map[string]gatewayv1.ListenerConditionReason) {
	t.Helper()
	eventually(t, "the version", func() bool {
		l := r.watcher.Object(key)
		return l != nil && l.GetGeneration() == generation
	})
	condition := func(reason gatewayv1.ListenerConditionReason) []model.StatusCondition {
		return []model.StatusCondition{{Type: "Programmed", True: reason == gatewayv1.ListenerReasonProgrammed, Reason: string(reason)}}
	}
	st := model.RouteStatus{Object: key, UID: string(r.watcher.Object(key).GetUID()), Generation: generation}
	for name, reason := range listeners {
		st.Listeners = append(st.Listeners, model.ListenerStatus{Name: name, Conditions: condition(reason)})
	}
	slices.SortFunc(st.Listeners, func(a, b model.ListenerStatus) int { return strings.Compare(a.Name, b.Name) })
	if key.Kind == gateway.KindListenerSet {
		st.Conditions = condition(gatewayv1.ListenerReasonProgrammed)
	}
	r.Publish([]model.RouteStatus{st})
}

// TestListenerReplicas: a listener of a Gateway or ListenerSet is programmed once all ready
// replicas have it, and no longer when one of them says otherwise.
func TestListenerReplicas(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.installPolicies(t)
	e.installGateways(t, "listenersets")
	e.namespace(t, "shop", nil)
	e.namespace(t, "routers", nil)
	e.routerPods(t, "default", "one", "two")
	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: "+string(gatewayapi.ControllerName)+"}")
	gw := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: ours}\nspec: {gatewayClassName: ours, allowedListeners: {namespaces: {from: Same}}, listeners: [{name: http, port: 80, protocol: HTTP}, {name: bad, port: 81, protocol: HTTP}]}")
	set := e.create(t, "listenersets", "kind: ListenerSet\nmetadata: {namespace: shop, name: set}\nspec: {parentRef: {name: ours}, listeners: [{name: high, port: 82, protocol: HTTP}]}")
	all := []*replica{e.replica(t, "default", "one"), e.replica(t, "default", "two")}
	var elected, other *replica
	eventually(t, "an elected replica", func() bool {
		for i, r := range all {
			if r.Stats().Leading {
				elected, other = r, all[1-i]
			}
		}
		return elected != nil
	})
	is := func(listener, want string) func() bool {
		return func() bool {
			o := &gatewayv1.Gateway{}
			e.raw(t, gw, o)
			for _, l := range o.Status.Listeners {
				c := meta.FindStatusCondition(l.Conditions, "Programmed")
				if string(l.Name) == listener && c != nil {
					return c.ObservedGeneration == o.Generation && string(c.Status)+" "+c.Reason == want
				}
			}
			return false
		}
	}
	setIs := func(want string) func() bool {
		return func() bool {
			o := &gatewayv1.ListenerSet{}
			e.raw(t, set, o)
			c := meta.FindStatusCondition(o.Status.Conditions, "Programmed")
			return c != nil && string(c.Status)+" "+c.Reason == want && len(o.Status.Listeners) == 1 && string(o.Status.Listeners[0].Conditions[0].Status)+" "+o.Status.Listeners[0].Conditions[0].Reason == want
		}
	}
	live, mixed := gatewayv1.ListenerReasonProgrammed, map[string]gatewayv1.ListenerConditionReason{"http": gatewayv1.ListenerReasonProgrammed, "bad": gatewayv1.ListenerReasonInvalid}
	high := map[string]gatewayv1.ListenerConditionReason{"high": live}
	elected.shows(t, gw, 1, mixed)
	elected.shows(t, set, 1, high)
	eventually(t, "the other one has no listener", is("http", "False Pending"))
	eventually(t, "nor that of the ListenerSet", setIs("False Pending"))
	if !is("bad", "False Invalid")() {
		t.Error("what is wrong with a listener is not said")
	}
	other.shows(t, gw, 1, mixed)
	eventually(t, "both have it", is("http", "True Programmed"))
	if !setIs("False Pending")() {
		t.Error("the ListenerSet is programmed with the Gateway")
	}
	other.shows(t, set, 1, high)
	eventually(t, "both have the ListenerSet", setIs("True Programmed"))

	// Versions that both take at once.
	slowest, said := time.Duration(0), other.replica.count.Load()
	const changes = 5
	for i := range changes {
		e.patchGateway(t, gw, "", fmt.Sprintf(`{"spec":{"listeners":[{"name":"http","port":%d,"protocol":"HTTP"},{"name":"bad","port":81,"protocol":"HTTP"}]}}`, 90+i))
		o := &gatewayv1.Gateway{}
		e.raw(t, gw, o)
		began := time.Now()
		for _, r := range all {
			r.shows(t, gw, o.Generation, mixed)
		}
		eventually(t, "both have the new version", is("http", "True Programmed"))
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest of %d changes was programmed after %v", changes, slowest)
	if n := other.replica.count.Load() - said; n > changes {
		t.Errorf("%d annotations for %d changes", n, changes)
	}

	// One loses what both had, and gets it again.
	o := &gatewayv1.Gateway{}
	e.raw(t, gw, o)
	other.shows(t, gw, o.Generation, map[string]gatewayv1.ListenerConditionReason{"http": gatewayv1.ListenerReasonInvalid, "bad": gatewayv1.ListenerReasonInvalid})
	eventually(t, "one has lost it", is("http", "False Pending"))
	other.shows(t, gw, o.Generation, mixed)
	eventually(t, "both have it again", is("http", "True Programmed"))

	// The other one is not ready any more, and its word not waited for.
	e.patchGateway(t, gw, "", `{"spec":{"listeners":[{"name":"http","port":99,"protocol":"HTTP"},{"name":"bad","port":81,"protocol":"HTTP"}]}}`)
	e.raw(t, gw, o)
	elected.shows(t, gw, o.Generation, mixed)
	eventually(t, "the other one does not have it", is("http", "False Pending"))
	e.routerPods(t, "default", map[bool]string{true: "one", false: "two"}[elected == all[0]])
	eventually(t, "all that are ready have it", is("http", "True Programmed"))
}
