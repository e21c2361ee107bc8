package gateway_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// datagramGateway has ports of TCP and UDP with one number.
const datagramGateway = `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: dns, port: 53, protocol: UDP, hostname: ignored.test}
  - {name: tcp, port: 53, protocol: TCP}
`

const dns = `
kind: Service
metadata: {namespace: ns, name: dns}
spec: {ports: [{name: tcp, port: 53, protocol: TCP}, {name: udp, port: 53, protocol: UDP}]}
---
kind: Service
metadata: {namespace: other, name: dns}
spec: {ports: [{name: udp, port: 53, protocol: UDP}]}
---
kind: Service
metadata: {namespace: ns, name: web}
spec: {ports: [{name: http, port: 80, protocol: TCP}]}
---
kind: Service
metadata: {namespace: ns, name: empty}
spec: {ports: [{name: udp, port: 53, protocol: UDP}]}
`

func (c *cluster) udp(agent bool) *door.Result {
	v := c.objects[model.Object{Kind: gateway.KindUDPRoute, Namespace: "ns", Name: "r"}]
	return gateway.UDPRoutes{}.Ingest(v, c, door.Settings{Agent: agent}, door.Past{})
}

func udpRoute(spec string) string {
	return "kind: UDPRoute\nmetadata: {namespace: ns, name: r, uid: u}\nspec: {parentRefs: [{name: gw}], " + spec + "}"
}

// TestUDPRoutes: a UDPRoute asks for all that comes in by listeners for UDP, with the pods of
// ports for UDP alone. What cannot be used keeps its share.
func TestUDPRoutes(t *testing.T) {
	t.Parallel()
	both := []netip.AddrPort{netip.MustParseAddrPort("198.18.0.1:8081"), netip.MustParseAddrPort("198.18.0.2:8081")}
	foreign := []netip.AddrPort{netip.MustParseAddrPort("198.18.0.1:8080"), netip.MustParseAddrPort("198.18.0.2:8080")}
	const grant = "\n---\nkind: ReferenceGrant\nmetadata: {namespace: other, name: g}\nspec: {from: [{group: gateway.networking.k8s.io, kind: UDPRoute, namespace: ns}], to: [{group: \"\", kind: Service}]}"
	for _, test := range []struct {
		name, spec, more string
		want             *model.Datagrams
		resolved         string
	}{
		{"one", "rules: [{backendRefs: [{name: dns, port: 53}]}]", "", &model.Datagrams{Targets: []model.DatagramTarget{{Weight: 1, Pods: both}}}, "True ResolvedRefs"},
		{
			"shares", "rules: [{backendRefs: [{name: dns, port: 53, weight: 3}, {name: missing, port: 53, weight: 2}, {name: empty, port: 53}, {name: dns, port: 53, weight: 0}]}]", "",
			&model.Datagrams{Targets: []model.DatagramTarget{{Weight: 3, Pods: both}, {Weight: 1}}, Unusable: 2}, "False BackendNotFound",
		},
		{"a port for connections", "rules: [{backendRefs: [{name: web, port: 80}]}]", "", &model.Datagrams{Unusable: 1}, "False BackendNotFound"},
		{"no kind of Service", "rules: [{backendRefs: [{kind: Pod, name: dns, port: 53}]}]", "", &model.Datagrams{Unusable: 1}, "False InvalidKind"},
		{"not permitted", "rules: [{backendRefs: [{name: dns, namespace: other, port: 53}]}]", "", &model.Datagrams{Unusable: 1}, "False RefNotPermitted"},
		{"permitted", "rules: [{backendRefs: [{name: dns, namespace: other, port: 53}]}]", grant, &model.Datagrams{Targets: []model.DatagramTarget{{Weight: 1, Pods: foreign}}}, "True ResolvedRefs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			res := newCluster(t, manifests(dns, datagramGateway, udpRoute(test.spec))+test.more).udp(true)
			if len(res.Claims) != 1 {
				t.Fatalf("%d claims", len(res.Claims))
			}
			if diff := cmp.Diff(test.want, res.Claims[0].Datagrams, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
				t.Error(diff)
			}
			for b := range res.Claims[0].Backends() {
				t.Errorf("HAProxy gets backend %s", b.Name())
			}
			if got := condition(res.Parents[0].Conditions, "Accepted") + ", " + condition(res.Parents[0].Conditions, "ResolvedRefs"); got != "True Accepted, "+test.resolved {
				t.Errorf("%s, want %s", got, test.resolved)
			}
			if diff := cmp.Diff([]string{"dns"}, res.Parents[0].Listeners); diff != "" {
				t.Error(diff)
			}
			for _, f := range res.Findings {
				if !strings.Contains(f.Effect, "gets no answer") {
					t.Errorf("finding %+v", f)
				}
			}
		})
	}
}

// TestDatagramListener: a listener for UDP has a slot of its own, whatever HAProxy lacks, and is
// not served without the policy agent, which is said of route and listener.
func TestDatagramListener(t *testing.T) {
	t.Parallel()
	c := newCluster(t, manifests(dns, datagramGateway, udpRoute("rules: [{backendRefs: [{name: dns, port: 53}]}]")))
	c.slots[53] = 23000
	v := c.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}]
	for _, test := range []struct {
		settings door.Settings
		slots    []int
		udp, tcp string // Programmed
	}{
		{door.Settings{Agent: true}, []int{24000, 23000}, "True Programmed", "True Programmed"},
		{door.Settings{Agent: true, PortsUnbound: true}, []int{24000}, "True Programmed", "False Pending"},
		{door.Settings{}, []int{23000}, "False Invalid", "True Programmed"},
	} {
		res := gateway.Gateways{}.Ingest(v, c, test.settings, door.Past{})
		var slots []int
		for _, l := range res.Listeners {
			slots = append(slots, l.Slot)
			if l.Datagrams != (l.Slot == 24000) || l.Hostname != "" {
				t.Errorf("listener %+v", l)
			}
		}
		if diff := cmp.Diff(test.slots, slots); diff != "" {
			t.Errorf("%+v: %s", test.settings, diff)
		}
		udp, tcp := res.ListenerStatus[0], res.ListenerStatus[1]
		if a, b := condition(udp.Conditions, "Programmed"), condition(tcp.Conditions, "Programmed"); a != test.udp || b != test.tcp || fmt.Sprint(udp.Kinds) != "[UDPRoute]" {
			t.Errorf("UDP %s for %v, TCP %s", a, udp.Kinds, b)
		}
	}
	res := c.udp(false)
	if got := condition(res.Parents[0].Conditions, "Accepted"); got != "False UnsupportedValue" || len(res.Claims) > 0 {
		t.Errorf("without the agent: %s, %d claims", got, len(res.Claims))
	}
}

// TestDatagramBounds: a route never asks for more than the policy agent takes.
func TestDatagramBounds(t *testing.T) {
	t.Parallel()
	c := newCluster(t, manifests(dns, datagramGateway, udpRoute("rules: [{backendRefs: [{name: dns, port: 53}, {name: empty, port: 53}]}]")))
	slice := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new("udp"), Port: new(int32(53)), Protocol: new(corev1.ProtocolUDP)}}}
	for i := range snapshot.MaxRelayEndpoints + 1 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/200, i%200+1)}})
	}
	c.slices[model.Object{Kind: door.KindService, Namespace: "ns", Name: "dns"}] = []*backend.Slice{backend.NewSlice(slice)}
	res := c.udp(true)
	if n := len(res.Claims[0].Datagrams.Targets[0].Pods); n != snapshot.MaxRelayEndpoints/2 || len(res.Findings) != 1 || res.Findings[0].Reason != api.ReasonLimitExceeded {
		t.Errorf("%d pods, findings %+v", n, res.Findings)
	}
	many := "rules: [{backendRefs: [" + strings.Repeat("{name: dns, port: 53}, ", snapshot.MaxRelayTargets+1) + "]}]"
	res = newCluster(t, manifests(dns, datagramGateway, udpRoute(many))).udp(true)
	if got := condition(res.Parents[0].Conditions, "Accepted"); got != "False UnsupportedValue" || len(res.Claims) > 0 {
		t.Errorf("%s, %d claims", got, len(res.Claims))
	}
}
