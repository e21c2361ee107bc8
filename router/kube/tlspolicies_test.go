package kube

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// TestBackendTLSPolicies: a router reads all of them, writes one entry for each Gateway with a
// route to their Services, and takes it out when the route goes. Entries of others stay.
func TestBackendTLSPolicies(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.namespace(t, "shop", nil)
	e.installGateways(t)
	w, _ := e.watcher(t, Options{Namespace: "shop"})
	changesUntil(t, w, "the first state", all)
	s, err := NewStatusWriter(StatusOptions{Watcher: w, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	e.installGatewayKinds(t, "backendtlspolicies")
	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: "+string(gatewayapi.ControllerName)+"}")
	gw := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: ours}\nspec: {gatewayClassName: ours, listeners: [{name: http, port: 80, protocol: HTTP}]}")
	route := e.create(t, "httproutes", "kind: HTTPRoute\nmetadata: {namespace: shop, name: web}\nspec: {parentRefs: [{name: ours}], rules: [{}]}")
	policy := e.create(t, "backendtlspolicies", "kind: BackendTLSPolicy\nmetadata: {namespace: shop, name: web}\nspec: {targetRefs: [{group: '', kind: Service, name: web}], validation: {hostname: web.test, caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}]}}")
	changesUntil(t, w, "all of the namespace", has(gateway.TLSPoliciesOf("shop")))
	eventually(t, "all are read", func() bool { return w.Object(gw) != nil && w.Object(route) != nil && w.Object(policy) != nil })
	if all := w.TLSPolicies("shop"); len(all) != 1 || !slices.Contains(w.All(), policy) || len(w.TLSPolicies("other")) != 0 {
		t.Errorf("policies of the namespace: %v; all objects: %v", all, w.All())
	}
	stranger := `{"ancestorRef":{"name":"theirs"},"controllerName":"example.com/other","conditions":[{"type":"Accepted","status":"True","reason":"Fine","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`
	patch(t, e.crds.gateway, "backendtlspolicies", "shop", "web", "status", `{"status":{"ancestors":[`+stranger+`]}}`)

	version := w.Object(policy)
	s.Publish([]model.RouteStatus{
		{
			Object: route, UID: string(w.Object(route).GetUID()), Generation: w.Object(route).GetGeneration(), TLSPolicies: []model.Object{policy},
			Parents: []model.ParentStatus{{Ref: `{"name":"ours"}`, Parent: gw, Listeners: []string{"http"}}},
		},
		{Object: policy, UID: string(version.GetUID()), Generation: version.GetGeneration(), Conditions: []model.StatusCondition{{Type: "Accepted", True: true, Reason: "Accepted"}}},
	})
	says := func(want string) func() bool {
		return func() bool {
			o := &gatewayv1.BackendTLSPolicy{}
			e.raw(t, policy, o)
			var got []string
			for _, a := range o.Status.Ancestors {
				got = append(got, string(a.ControllerName)+" "+string(a.AncestorRef.Name)+" "+a.Conditions[0].Reason)
			}
			return strings.Join(got, ", ") == want
		}
	}
	eventually(t, "the entry of the Gateway", says("example.com/other theirs Fine, "+string(gatewayapi.ControllerName)+" ours Accepted"))
	s.Publish([]model.RouteStatus{{Object: policy, UID: string(version.GetUID()), Generation: version.GetGeneration(), Conditions: []model.StatusCondition{{Type: "Accepted", Reason: "Conflicted"}}}})
	eventually(t, "another condition", says("example.com/other theirs Fine, "+string(gatewayapi.ControllerName)+" ours Conflicted"))
	s.Forget([]model.Object{route})
	eventually(t, "no entry", says("example.com/other theirs Fine"))
}

// TestUseWhileWritten: a route that comes or goes while the status of its policy is being written
// has its turn soon, and not as a repair does.
func TestUseWhileWritten(t *testing.T) {
	t.Parallel()
	policy := model.Object{Kind: gateway.KindBackendTLSPolicy, Namespace: "ns", Name: "p"}
	route := model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r"}
	g := &gatewayReports{desired: map[model.Object]*gatewayOpinion{policy: {}}, routesOf: map[model.Object]model.Objects{}}
	o, with := g.desired[policy], &model.RouteStatus{TLSPolicies: []model.Object{policy}}
	g.useTLSPolicies(route, &model.RouteStatus{}, with)
	read := o.changes
	g.useTLSPolicies(route, with, &model.RouteStatus{})
	if o.wrote(read); !o.urgent {
		t.Error("the end of the use is not urgent any more")
	}
	if o.wrote(o.changes); o.urgent {
		t.Error("all is written, and it is urgent")
	}
}

// TestTLSAncestors: entries of others keep every byte and their place, and no entry is written
// where there is no room.
func TestTLSAncestors(t *testing.T) {
	t.Parallel()
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw"}}
	ref := ancestorRef(g)
	status := &model.RouteStatus{Generation: 2, Conditions: []model.StatusCondition{{Type: "Accepted", True: true, Reason: "Accepted"}}}
	nothing := func(*gatewayv1.ParentReference) bool { return false }
	odd := `{"controllerName":"other/x", "more": [1,  2]}`
	out, differs, err := withTLSAncestors(jsontext.Value("["+odd+"]"), []gatewayv1.ParentReference{ref}, status, nothing, metav1.Now())
	if err != nil || !differs || len(out) != 2 || string(out[0]) != odd {
		t.Fatalf("%s %t %v", out, differs, err)
	}
	now, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if again, differs, err := withTLSAncestors(now, []gatewayv1.ParentReference{ref}, status, nothing, metav1.Now()); err != nil || differs || len(again) != 2 {
		t.Errorf("the same once more: %s %t %v", again, differs, err)
	}
	if left, differs, err := withTLSAncestors(now, nil, status, nothing, metav1.Now()); err != nil || !differs || len(left) != 1 {
		t.Errorf("without the Gateway: %s %t %v", left, differs, err)
	}
	if left, differs, err := withTLSAncestors(now, nil, status, func(*gatewayv1.ParentReference) bool { return true }, metav1.Now()); err != nil || differs || len(left) != 2 {
		t.Errorf("of another router: %s %t %v", left, differs, err)
	}
	full := "[" + strings.Repeat(odd+",", maxAncestors-1) + odd + "]"
	if out, differs, err := withTLSAncestors(jsontext.Value(full), []gatewayv1.ParentReference{ref}, status, nothing, metav1.Now()); err != nil || differs || len(out) != maxAncestors {
		t.Errorf("without room: %d %t %v", len(out), differs, err)
	}
}
