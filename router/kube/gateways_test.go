package kube

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// installGateways makes kinds of the Gateway API known: those that a router needs to read any, and more.
func (e *env) installGateways(t *testing.T, more ...string) {
	t.Helper()
	e.installGatewayKinds(t, append([]string{"gatewayclasses", "gateways", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes", "referencegrants"}, more...)...)
}

// installGatewayKinds makes kinds of the Gateway API known, by their plurals.
func (e *env) installGatewayKinds(t *testing.T, plurals ...string) {
	t.Helper()
	var kinds []string
	for _, plural := range plurals {
		kinds = append(kinds, plural+".gateway.networking.k8s.io")
	}
	e.installCRDs(t, "gateway", kinds...)
}

// create makes an object of the Gateway API from YAML, and returns its key.
func (e *env) create(t *testing.T, resource, text string) model.Object {
	t.Helper()
	var meta struct {
		Kind     string
		Metadata metav1.ObjectMeta
	}
	body, err := yaml.YAMLToJSON([]byte("apiVersion: gateway.networking.k8s.io/v1\n" + strings.Trim(text, "\n")))
	if err == nil {
		err = json.Unmarshal(body, &meta)
	}
	if err == nil {
		request := e.crds.gateway.Post().Resource(resource).SetHeader("Content-Type", "application/json").Body(body)
		if meta.Metadata.Namespace != "" {
			request = request.Namespace(meta.Metadata.Namespace)
		}
		err = request.Do(t.Context()).Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return model.Object{Kind: model.Kind(meta.Kind), Namespace: meta.Metadata.Namespace, Name: meta.Metadata.Name}
}

func (e *env) raw(t *testing.T, key model.Object, into any) {
	t.Helper()
	text, err := e.crds.gateway.Get().Namespace(key.Namespace).Resource(gatewayResources[key.Kind]).Name(key.Name).Do(t.Context()).Raw()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (e *env) patchGateway(t *testing.T, key model.Object, sub, document string) {
	t.Helper()
	request := e.crds.gateway.Patch(types.MergePatchType).Namespace(key.Namespace).Resource(gatewayResources[key.Kind]).Name(key.Name)
	if sub != "" {
		request = request.SubResource(sub)
	}
	if err := request.Body([]byte(document)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
}

const foreignParent = `{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"","reason":"Fine","status":"True","type":"Accepted"}],"controllerName":"example.com/other","parentRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"theirs"}}`

// TestGateways: a router starts without the Gateway API, reads it as soon as it is there,
// takes what is for it, and writes the status of it.
func TestGateways(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.namespace(t, "shop", map[string]string{"team": "a"})
	w, _ := e.watcher(t, Options{Namespace: "shop"})
	changesUntil(t, w, "the first state", all)
	s, err := NewStatusWriter(StatusOptions{Watcher: w, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	e.installGateways(t)

	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: "+string(gatewayapi.ControllerName)+"}")
	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: others}\nspec: {controllerName: example.com/other}")
	const listeners = "listeners: [{name: http, port: 80, protocol: HTTP}]"
	gw := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: ours}\nspec: {gatewayClassName: ours, "+listeners+"}")
	theirs := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: theirs}\nspec: {gatewayClassName: others, "+listeners+"}")
	route := e.create(t, "httproutes", "kind: HTTPRoute\nmetadata: {namespace: shop, name: web}\nspec: {parentRefs: [{name: ours}, {name: theirs}], rules: [{backendRefs: [{name: web, port: 80}]}]}")
	rpc := e.create(t, "grpcroutes", "kind: GRPCRoute\nmetadata: {namespace: shop, name: web}\nspec: {parentRefs: [{name: ours}], rules: [{matches: [{method: {service: a.S}}], backendRefs: [{name: web, port: 80}]}]}")
	e.create(t, "grpcroutes", "kind: GRPCRoute\nmetadata: {namespace: shop, name: stranger}\nspec: {parentRefs: [{name: theirs}]}")
	stranger := e.create(t, "httproutes", "kind: HTTPRoute\nmetadata: {namespace: shop, name: stranger}\nspec: {parentRefs: [{name: theirs}]}")
	eventually(t, "the Gateway and its routes", func() bool { return w.Object(gw) != nil && w.Object(route) != nil && w.Object(rpc) != nil })
	eventually(t, "the stranger is read", func() bool { return w.gateways.route(stranger) != nil })
	if w.Object(theirs) != nil || w.Object(stranger) != nil || len(w.All()) != 3 {
		t.Errorf("what is not for the router: %v", w.All())
	}
	e.testSlots(t, w, gw)
	e.testMetadata(t, w, gw, route)

	e.patchGateway(t, route, "status", `{"status":{"parents":[`+foreignParent+`]}}`)
	publish := func(key model.Object) {
		t.Helper()
		d := map[model.Kind]door.Door{gateway.KindGateway: gateway.Gateways{}, gateway.KindHTTPRoute: gateway.HTTPRoutes{}, gateway.KindGRPCRoute: gateway.GRPCRoutes{}}[key.Kind]
		res := d.Ingest(w.Object(key), w, door.Settings{}, door.Past{})
		s.Publish([]model.RouteStatus{{Object: key, UID: res.UID, Generation: res.Generation, Parents: res.Parents, Listeners: res.ListenerStatus, Findings: res.Findings}})
	}
	publish(gw)
	publish(route)
	publish(rpc)
	parentsOf := func(key model.Object) (texts []string) {
		var r struct {
			Status struct{ Parents []json.RawMessage }
		}
		e.raw(t, key, &r)
		for _, p := range r.Status.Parents {
			texts = append(texts, string(p))
		}
		return texts
	}
	parents := func() []string { return parentsOf(route) }
	eventually(t, "the entry for the Gateway", func() bool { return len(parents()) == 2 })
	if got := parents(); got[0] != foreignParent || !strings.Contains(got[1], `"Accepted"`) || !strings.Contains(got[1], `"BackendNotFound"`) {
		t.Errorf("parents %s", got)
	}
	attached := func() string {
		var g gatewayv1.Gateway
		e.raw(t, gw, &g)
		if len(g.Status.Listeners) != 1 {
			return ""
		}
		l := g.Status.Listeners[0]
		return fmt.Sprint(l.AttachedRoutes, l.SupportedKinds[0].Kind, len(l.Conditions))
	}
	eventually(t, "two routes attached", func() bool { return attached() == "2HTTPRoute4" })
	eventually(t, "the entry of the GRPCRoute", func() bool { return len(parentsOf(rpc)) == 1 })
	if got := parentsOf(rpc)[0]; !strings.Contains(got, `"Accepted"`) || !strings.Contains(got, `"BackendNotFound"`) {
		t.Errorf("parent of the GRPCRoute: %s", got)
	}

	e.create(t, "referencegrants", "kind: ReferenceGrant\nmetadata: {namespace: shop, name: g}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: x}], to: [{group: \"\", kind: Service}]}")
	changesUntil(t, w, "the grants", has(model.Object{Kind: door.KindGrants, Namespace: "shop"}))
	if len(w.Grants("shop")) != 1 {
		t.Error("no grant")
	}
	if _, err := e.core.CoreV1().Namespaces().Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the labels of the namespace", has(model.Object{Kind: door.KindNamespace, Name: "shop"}))

	// A parentRef that goes takes its entry with it, and that of another controller stays.
	writes := s.Stats().Writes
	e.patchGateway(t, route, "", `{"spec":{"parentRefs":[{"name":"theirs"}]}}`)
	eventually(t, "the route is not for the router", func() bool { return w.Object(route) == nil })
	s.Forget([]model.Object{route})
	eventually(t, "the entry has left", func() bool { return len(parents()) == 1 && parents()[0] == foreignParent })
	eventually(t, "one route attached", func() bool { return attached() == "1HTTPRoute4" })
	eventually(t, "both writes are counted", func() bool { return s.Stats().Writes-writes >= 2 })
	if n := s.Stats().Writes - writes; n != 2 {
		t.Errorf("%d writes for two changes", n)
	}
}

// testMetadata changes what policies find a route by, which raises no generation.
func (e *env) testMetadata(t *testing.T, w *Watcher, gw, route model.Object) {
	t.Helper()
	_ = w.Take()
	e.patchGateway(t, route, "", `{"metadata":{"labels":{"app":"shop"}}}`)
	changesUntil(t, w, "labels of the route", has(route))
	e.patchGateway(t, route, "", `{"metadata":{"annotations":{"fairlead.dev/policy":"p","example.com/large":"x"}}}`)
	changesUntil(t, w, "annotations of the route", has(route))
	e.patchGateway(t, gw, "", `{"metadata":{"annotations":{"fairlead.dev/allow":"198.18.0.0/15"}}}`)
	changesUntil(t, w, "annotations of the Gateway", has(gw))
	if o := w.Object(route); o.GetLabels()["app"] != "shop" || len(o.GetAnnotations()) != 1 || o.GetAnnotations()["fairlead.dev/policy"] != "p" {
		t.Errorf("labels %v, annotations %v", o.GetLabels(), o.GetAnnotations())
	}
}

// testSlots reads the ConfigMap that the operator writes.
func (e *env) testSlots(t *testing.T, w *Watcher, gw model.Object) {
	t.Helper()
	g := w.gateways.objects.get(gw)
	table := gatewayapi.Table{20007: {Namespace: gw.Namespace, Name: gw.Name, UID: g.UID, Port: 80}}
	if w.HasGateways() {
		t.Error("no Gateway has a slot yet")
	}
	m, err := e.core.CoreV1().ConfigMaps("shop").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayapi.SlotsName("default")}, Data: table.Data(),
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the settings, with the first slots", all)
	if got := w.Slots(g); got[gatewayapi.Port{Number: 80}] != 20007 || !w.HasGateways() {
		t.Errorf("slots %v", got)
	}
	m.Data = gatewayapi.Table{20008: table[20007]}.Data()
	if _, err := e.core.CoreV1().ConfigMaps("shop").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "other slots", has(model.Object{Kind: door.KindSlots}))
	if got := w.Slots(g); got[gatewayapi.Port{Number: 80}] != 20008 || w.SlotsFull(gatewayapi.HTTP, gw.Namespace) {
		t.Errorf("slots %v", got)
	}
	full := gatewayapi.Table{}
	for i := range int32(full.PerNamespace(gatewayapi.HTTP)) {
		full[gatewayapi.HTTP.First+i] = gatewayapi.Slot{Namespace: gw.Namespace, Name: gw.Name, UID: g.UID, Port: 80 + i}
	}
	if m, err = e.core.CoreV1().ConfigMaps("shop").Get(t.Context(), m.Name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	m.Data = full.Data()
	if _, err := e.core.CoreV1().ConfigMaps("shop").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the share is used up", has(model.Object{Kind: door.KindSlots}))
	if !w.SlotsFull(gatewayapi.HTTP, gw.Namespace) || w.SlotsFull(gatewayapi.HTTP, "other") {
		t.Error("the share of the namespace is not used up, or that of others is")
	}
}

// TestParents compares entries without an API server.
func TestParents(t *testing.T) {
	t.Parallel()
	const ref = `{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"gw"}`
	now, before := metav1.NewTime(time.Unix(1000, 0).UTC()), metav1.NewTime(time.Unix(1, 0).UTC())
	accepted := model.StatusCondition{Type: "Accepted", True: true, Reason: "Accepted"}
	status := func(c ...model.StatusCondition) *model.RouteStatus {
		s := &model.RouteStatus{Generation: 2}
		if len(c) > 0 {
			s.Parents = []model.ParentStatus{{Ref: ref, Conditions: c}}
		}
		return s
	}
	entry := func(name, status string, generation int, at metav1.Time) string {
		text, _ := json.Marshal(at)
		return fmt.Sprintf(`{"parentRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":%q},"controllerName":%q,"conditions":[{"type":"Accepted","status":%q,"observedGeneration":%d,"lastTransitionTime":%s,"reason":"Accepted","message":""}]}`,
			name, gatewayapi.ControllerName, status, generation, text)
	}
	none := func(*gatewayv1.ParentReference) bool { return false }
	for _, test := range []struct {
		name, current, want string
		status              *model.RouteStatus
		others              bool
	}{
		{"the first entry", "", "[" + entry("gw", "True", 2, now) + "]", status(accepted), false},
		{"nothing new", "[" + foreignParent + "," + entry("gw", "True", 2, before) + "]", "", status(accepted), false},
		{"another generation keeps the time", "[" + entry("gw", "True", 1, before) + "]", "[" + entry("gw", "True", 2, before) + "]", status(accepted), false},
		{"another status moves it", "[" + entry("gw", "False", 1, before) + "," + foreignParent + "]", "[" + entry("gw", "True", 2, now) + "," + foreignParent + "]", status(accepted), false},
		{"a parentRef that is gone", "[" + entry("old", "True", 1, before) + "," + foreignParent + "]", "[" + foreignParent + "]", status(), false},
		{"another router's", "[" + entry("old", "True", 1, before) + "]", "", status(), true},
		{"twice", "[" + entry("gw", "True", 2, before) + "," + entry("gw", "True", 2, before) + "]", "[" + entry("gw", "True", 2, before) + "]", status(accepted), false},
	} {
		others := none
		if test.others {
			others = func(*gatewayv1.ParentReference) bool { return true }
		}
		out, differs, err := withParents([]byte(test.current), test.status, others, now)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(out)
		if !differs {
			text = nil
		}
		if string(text) != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, text, test.want)
		}
	}
}
