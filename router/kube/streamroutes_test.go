package kube

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// TestStreamRoutes: a router reads TLSRoutes, TCPRoutes and UDPRoutes, writes their status, and counts them
// at their listeners.
func TestStreamRoutes(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.namespace(t, "shop", nil)
	w, _ := e.watcher(t, Options{Namespace: "shop"})
	changesUntil(t, w, "the first state", all)
	s, err := NewStatusWriter(StatusOptions{Watcher: w, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	e.installGateways(t)

	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: "+string(gatewayapi.ControllerName)+"}")
	gw := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: ours}\nspec: {gatewayClassName: ours, listeners: [{name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}, {name: tcp, port: 25, protocol: TCP}, {name: udp, port: 25, protocol: UDP}]}")
	const backend = "rules: [{backendRefs: [{name: web, port: 80}]}]}"
	byDoor := map[model.Object]door.Door{
		gw: gateway.Gateways{},
		e.create(t, "tlsroutes", "kind: TLSRoute\nmetadata: {namespace: shop, name: web}\nspec: {parentRefs: [{name: ours}], hostnames: [a.test], "+backend): gateway.TLSRoutes{},
		e.create(t, "tcproutes", "kind: TCPRoute\nmetadata: {namespace: shop, name: web}\nspec: {parentRefs: [{name: ours}], "+backend):                      gateway.TCPRoutes{},
		e.create(t, "udproutes", "kind: UDPRoute\nmetadata: {namespace: shop, name: web}\nspec: {parentRefs: [{name: ours}], "+backend):                      gateway.UDPRoutes{},
		e.create(t, "tcproutes", "kind: TCPRoute\nmetadata: {namespace: shop, name: young}\nspec: {parentRefs: [{name: ours, sectionName: tcp}], "+backend):  gateway.TCPRoutes{},
		e.create(t, "tcproutes", "kind: TCPRoute\nmetadata: {namespace: shop, name: wrong}\nspec: {parentRefs: [{name: ours, sectionName: tls}], "+backend):  gateway.TCPRoutes{},
	}
	for key, d := range byDoor {
		eventually(t, key.String(), func() bool { return w.Object(key) != nil })
		res := d.Ingest(w.Object(key), w, door.Settings{Agent: true}, door.Past{})
		s.Publish([]model.RouteStatus{{Object: key, UID: res.UID, Generation: res.Generation, Parents: res.Parents, Listeners: res.ListenerStatus, Findings: res.Findings}})
	}
	for key := range byDoor {
		if key == gw {
			continue
		}
		var r struct{ Status gatewayv1.RouteStatus }
		eventually(t, "the entry of "+key.String(), func() bool {
			e.raw(t, key, &r)
			return len(r.Status.Parents) == 1
		})
		text, want := fmt.Sprint(r.Status.Parents[0].Conditions), string(gatewayv1.RouteReasonAccepted)
		if key.Name == "wrong" {
			want = string(gatewayv1.RouteReasonNotAllowedByListeners)
		}
		if !strings.Contains(text, want) || !strings.Contains(text, string(gatewayv1.RouteReasonBackendNotFound)) {
			t.Errorf("%s has %s, want %s", key, text, want)
		}
	}
	eventually(t, "attached routes are counted", func() bool {
		var g gatewayv1.Gateway
		e.raw(t, gw, &g)
		var counts []string
		for _, l := range g.Status.Listeners {
			counts = append(counts, fmt.Sprint(l.Name, l.AttachedRoutes, l.SupportedKinds[0].Kind))
		}
		return fmt.Sprint(counts) == "[tls1TLSRoute tcp2TCPRoute udp1UDPRoute]"
	})
}
