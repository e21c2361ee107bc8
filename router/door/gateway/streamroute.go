package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Kinds of routes whose connections are handed on whole: the router sees no requests.
const (
	// KindTLSRoute is that of TLSRoutes, which go by the server name.
	KindTLSRoute model.Kind = "TLSRoute"
	// KindTCPRoute is that of TCPRoutes, of which one has all connections of a listener.
	KindTCPRoute model.Kind = "TCPRoute"
)

// stream reports whether the route is of such a kind. It is read as an HTTPRoute with one
// rule, without matches and filters.
func (b *builder) stream() bool {
	return b.result.Object.Kind == KindTLSRoute || b.result.Object.Kind == KindTCPRoute || b.datagrams()
}

// TLSRoutes is the front door of TLSRoutes. Sources give only those that name a Gateway of
// the router.
type TLSRoutes struct{ unpoliced }

// TCPRoutes is the front door of TCPRoutes, as TLSRoutes is.
type TCPRoutes struct{ unpoliced }

var (
	_ door.Door = TLSRoutes{}
	_ door.Door = TCPRoutes{}
)

// Kind implements door.Door.
func (TLSRoutes) Kind() model.Kind { return KindTLSRoute }

// Kind implements door.Door.
func (TCPRoutes) Kind() model.Kind { return KindTCPRoute }

// Ref implements door.Door.
func (TLSRoutes) Ref(o model.Object) api.ObjectRef { return ref(o) }

// Ref implements door.Door.
func (TCPRoutes) Ref(o model.Object) api.ObjectRef { return ref(o) }

// Ingest implements door.Door.
func (TLSRoutes) Ingest(v door.Version, src door.Source, s door.Settings, past door.Past) *door.Result {
	r, ok := v.(*gatewayv1.TLSRoute)
	if !ok {
		return &door.Result{}
	}
	b := newBuilder(KindTLSRoute, v, src, s, past)
	b.route = &gatewayv1.HTTPRoute{ObjectMeta: r.ObjectMeta}
	b.route.Spec.CommonRouteSpec, b.route.Spec.Hostnames = r.Spec.CommonRouteSpec, r.Spec.Hostnames
	for _, from := range r.Spec.Rules {
		b.route.Spec.Rules = append(b.route.Spec.Rules, streamRule(from.Name, from.BackendRefs))
	}
	return b.ingest()
}

// Ingest implements door.Door.
func (TCPRoutes) Ingest(v door.Version, src door.Source, s door.Settings, past door.Past) *door.Result {
	r, ok := v.(*gatewayv1.TCPRoute)
	if !ok {
		return &door.Result{}
	}
	b := newBuilder(KindTCPRoute, v, src, s, past)
	b.route = &gatewayv1.HTTPRoute{ObjectMeta: r.ObjectMeta}
	b.route.Spec.CommonRouteSpec = r.Spec.CommonRouteSpec
	for _, from := range r.Spec.Rules {
		b.route.Spec.Rules = append(b.route.Spec.Rules, streamRule(from.Name, from.BackendRefs))
	}
	return b.ingest()
}

// refuseMisplaced refuses a route for which no policy can be, if an annotation of Routes that
// protects is to keep clients out.
func (b *builder) refuseMisplaced() {
	closings, unapplied := policy.Misplaced(b.result.Object, b.route.Annotations)
	for _, c := range closings {
		b.unsupported(c.Field, string(b.result.Object.Kind)+"s have no annotations and no policies, and this one protects Routes, or nearly has the name of one that does")
	}
	for _, c := range unapplied {
		b.find(api.SeverityWarning, c.Field, c.Reason, c.Message, c.Effect)
	}
}

// keepOut detaches a route for which no policy can be from a Gateway or ListenerSet with an
// annotation of Routes that protects.
func (b *builder) keepOut(p *parent) {
	closings := b.misplacedAt(&p.attached[0])
	if len(closings) == 0 {
		return
	}
	p.attached = nil
	p.reason, p.message = gatewayv1.RouteReasonUnsupportedValue, fmt.Sprintf("%s %s: %s", policy.Title(closings[0].Key), closings[0].Field, closings[0].Message)
}

// streamRule returns the rule of an HTTPRoute that has the same backends.
func streamRule(name *gatewayv1.SectionName, refs []gatewayv1.BackendRef) gatewayv1.HTTPRouteRule {
	rule := gatewayv1.HTTPRouteRule{Name: name}
	for _, ref := range refs {
		rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref})
	}
	return rule
}

// securedTargets reads the backendRefs of a rule for connections whose TLS the router ends: what was
// within goes to pods as BackendTLSPolicies say, and not in plain text where one wants TLS. It returns
// nil if there is no such connection, or no such policy.
func (b *builder) securedTargets(r *gatewayv1.HTTPRouteRule, field string) *targets {
	ends := func(l listener) bool { return l.secure() && l.spec.Protocol == gatewayv1.TLSProtocolType }
	if b.result.Object.Kind != KindTLSRoute || !slices.ContainsFunc(b.scopes(), ends) {
		return nil
	}
	known, unresolved := len(b.result.Findings), len(b.unresolved)
	b.verifies = true
	t := b.targets(r, field)
	b.verifies = false
	// What else is wrong has been said of all connections.
	found := slices.DeleteFunc(slices.Clone(b.result.Findings[known:]), func(f api.Finding) bool { return f.Reason != api.ReasonBackendTLSPolicyInvalid })
	b.result.Findings, b.unresolved = append(b.result.Findings[:known], found...), b.unresolved[:unresolved]
	if !t.verified() && len(found) == 0 {
		return nil
	}
	t.by = "-tls"
	return &t
}

// Content implements door.Door.
func (TLSRoutes) Content(v door.Version) any {
	r, ok := v.(*gatewayv1.TLSRoute)
	if !ok {
		return nil
	}
	return struct {
		UID  string
		Spec *gatewayv1.TLSRouteSpec
	}{string(r.UID), &r.Spec}
}

// Content implements door.Door.
func (TCPRoutes) Content(v door.Version) any {
	r, ok := v.(*gatewayv1.TCPRoute)
	if !ok {
		return nil
	}
	return struct {
		UID  string
		Spec *gatewayv1.TCPRouteSpec
	}{string(r.UID), &r.Spec}
}

// Decode implements door.Door.
func (TLSRoutes) Decode(text []byte) (door.Version, error) {
	r := &gatewayv1.TLSRoute{}
	if err := decode(text, r); err != nil {
		return nil, err
	}
	return r, nil
}

// Decode implements door.Door.
func (TCPRoutes) Decode(text []byte) (door.Version, error) {
	r := &gatewayv1.TCPRoute{}
	if err := decode(text, r); err != nil {
		return nil, err
	}
	return r, nil
}
