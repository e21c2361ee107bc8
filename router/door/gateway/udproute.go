package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// KindUDPRoute is that of UDPRoutes, of which one has all datagrams of a listener. The policy
// agent relays them.
const KindUDPRoute model.Kind = "UDPRoute"

// needsAgent is why a router serves no datagrams.
const needsAgent = "needs the policy agent, which this router does not have: it is switched off (policies: Disabled), or HAProxy is older than 3.4"

// datagrams reports whether the route is a UDPRoute.
func (b *builder) datagrams() bool { return b.result.Object.Kind == KindUDPRoute }

// UDPRoutes is the front door of UDPRoutes, as TCPRoutes is.
type UDPRoutes struct{ unpoliced }

var _ door.Door = UDPRoutes{}

// Kind implements door.Door.
func (UDPRoutes) Kind() model.Kind { return KindUDPRoute }

// Ref implements door.Door.
func (UDPRoutes) Ref(o model.Object) api.ObjectRef { return ref(o) }

// Ingest implements door.Door.
func (UDPRoutes) Ingest(v door.Version, src door.Source, s door.Settings, past door.Past) *door.Result {
	r, ok := v.(*gatewayv1.UDPRoute)
	if !ok {
		return &door.Result{}
	}
	b := newBuilder(KindUDPRoute, v, src, s, past)
	b.route = &gatewayv1.HTTPRoute{ObjectMeta: r.ObjectMeta}
	b.route.Spec.CommonRouteSpec = r.Spec.CommonRouteSpec
	for _, from := range r.Spec.Rules {
		b.route.Spec.Rules = append(b.route.Spec.Rules, streamRule(from.Name, from.BackendRefs))
	}
	if !s.Agent {
		b.unsupported("spec", needsAgent)
	}
	return b.ingest()
}

// Content implements door.Door.
func (UDPRoutes) Content(v door.Version) any {
	r, ok := v.(*gatewayv1.UDPRoute)
	if !ok {
		return nil
	}
	return struct {
		UID  string
		Spec *gatewayv1.UDPRouteSpec
	}{string(r.UID), &r.Spec}
}

// Decode implements door.Door.
func (UDPRoutes) Decode(text []byte) (door.Version, error) {
	r := &gatewayv1.UDPRoute{}
	if err := decode(text, r); err != nil {
		return nil, err
	}
	return r, nil
}

// portOf returns the port of a Service that the route means by a number: of UDP, or of TCP.
func (b *builder) portOf(s *backend.Service, number int32) (backend.Port, bool) {
	if b.datagrams() {
		return s.DatagramPort(number)
	}
	return s.Port(number)
}

// noPort says that a Service has no such port.
func (b *builder) noPort(s *backend.Service, name string, number int32) string {
	if b.datagrams() {
		return fmt.Sprintf("Service %s has no port %d of protocol UDP; it has %s", name, number, numbers(s.PortNumbers(true)))
	}
	return fmt.Sprintf("Service %s has no port %d; it has %s", name, number, numbers(s.PortNumbers(false)))
}

// datagrams returns where the datagrams of a rule go.
func (t *targets) datagrams() *model.Datagrams {
	out := &model.Datagrams{Unusable: t.invalid}
	for i := range t.branches {
		to := model.DatagramTarget{Weight: t.branches[i].weight}
		for _, s := range t.branches[i].servers {
			to.Pods = append(to.Pods, s.Address)
		}
		out.Targets = append(out.Targets, to)
	}
	return out
}

// boundPods keeps a rule for datagrams within what the policy agent takes. What is more than the
// pods of a route may be is left out, and said.
func (b *builder) boundPods(t *targets, field string, refs int) {
	if !b.datagrams() {
		return
	}
	field += ".backendRefs"
	if refs > snapshot.MaxRelayTargets {
		b.unsupported(field, fmt.Sprintf("has %d entries; %d are served", refs, snapshot.MaxRelayTargets))
		return
	}
	all := 0
	for i := range t.branches {
		all += len(t.branches[i].servers)
	}
	if all <= snapshot.MaxRelayEndpoints {
		return
	}
	each := snapshot.MaxRelayEndpoints / len(t.branches)
	for i := range t.branches {
		t.branches[i].servers = t.branches[i].servers[:min(len(t.branches[i].servers), each)]
	}
	b.find(api.SeverityWarning, field, api.ReasonLimitExceeded,
		fmt.Sprintf("the Services have %d pods, and the policy agent takes %d for a rule", all, snapshot.MaxRelayEndpoints), fmt.Sprintf("at most %d pods of each Service get datagrams", each))
}
