package gateway

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// KindHTTPRoute is that of HTTPRoutes.
const KindHTTPRoute model.Kind = "HTTPRoute"

// RouteKinds returns the kinds of routes that attach to listeners.
func RouteKinds() []model.Kind {
	return []model.Kind{KindHTTPRoute, KindGRPCRoute, KindTLSRoute, KindTCPRoute, KindUDPRoute}
}

// mostClaims bounds what one route may cost: each listener that it is attached to needs a
// claim for each hostname and match.
const mostClaims = 1024

const effectNotServed = "the route is not served"

// HTTPRoutes is the front door of HTTPRoutes. Sources give only those that name a Gateway
// of the router.
type HTTPRoutes struct{ former }

var _ door.Door = HTTPRoutes{}

// Kind implements door.Door.
func (HTTPRoutes) Kind() model.Kind { return KindHTTPRoute }

// Ref implements door.Door.
func (HTTPRoutes) Ref(o model.Object) api.ObjectRef { return ref(o) }

// Ingest implements door.Door.
func (HTTPRoutes) Ingest(v door.Version, src door.Source, s door.Settings, past door.Past) *door.Result {
	r, ok := v.(*gatewayv1.HTTPRoute)
	if !ok {
		return &door.Result{}
	}
	b := newBuilder(KindHTTPRoute, v, src, s, past)
	b.route = r
	return b.ingest()
}

// builder makes claims of one route.
type builder struct {
	// route is the route, of a GRPCRoute as an HTTPRoute.
	route    *gatewayv1.HTTPRoute
	src      door.Source
	settings door.Settings
	past     door.Past
	result   *door.Result
	// annotations are the findings of misplaced, by the object.
	annotations map[model.Object][2][]policy.Closing
	// hosts are the route's; an empty one is any.
	hosts    []string
	attached []parent
	// refused is why nothing of the route is served, with the message.
	refused     gatewayv1.RouteConditionReason
	refusedText string
	// tooMany says that the route has one regular expression too many.
	tooMany bool
	// unresolved are the problems of references.
	unresolved []unresolved
	// shown is what Gateways show the pods, as far as it was asked for.
	shown map[model.Object]*podCertificate
	// refusals counts what refuses the route.
	refusals int
	// barriers is how many claims the route would make if it were not refused for what it says.
	barriers int
	// verifies says that backendRefs are read for connections whose TLS the router ends.
	verifies bool
	// closedText says what of policies closes paths of the route, or is empty.
	closedText string
}

// newBuilder returns a builder of claims for a version of a route, which its door sets.
func newBuilder(kind model.Kind, v door.Version, src door.Source, s door.Settings, past door.Past) *builder {
	return &builder{src: src, settings: s, past: past, result: &door.Result{
		Object: model.Object{Kind: kind, Namespace: v.GetNamespace(), Name: v.GetName()},
		UID:    string(v.GetUID()), OfGateway: &door.OfGateway{Generation: v.GetGeneration()},
	}}
}

// grpc reports whether the route is a GRPCRoute.
func (b *builder) grpc() bool { return b.result.Object.Kind == KindGRPCRoute }

// ingest reads the route.
func (b *builder) ingest() *door.Result {
	b.hostnames()
	b.parents()
	if b.policed() {
		b.depend(model.Object{Kind: door.KindNamespace, Name: b.route.Namespace})
	} else {
		b.refuseMisplaced()
	}
	b.sayShared()
	b.measure()
	rules := b.rules()
	b.bound(rules)
	if b.refused == "" {
		b.claims(rules)
		b.effectives(rules)
	}
	if b.refused != "" {
		b.result.Claims = b.placeholder()
		if b.policed() {
			b.result.Barrier = b.barrier(rules)
		}
	}
	b.result.Parents = b.status()
	return b.result
}

func (b *builder) find(severity api.Severity, field string, reason api.Reason, message, effect string) {
	b.result.Findings = append(b.result.Findings, api.Finding{
		Object: ref(b.result.Object), Field: field, Reason: reason, Message: message, Severity: severity, Effect: effect,
	})
}

// refuse keeps the whole route from being served: without a part, such as a filter, a rule
// would let through what it must not.
func (b *builder) refuse(field string, reason gatewayv1.RouteConditionReason, message string) {
	b.find(api.SeverityError, field, api.Reason(reason), message, effectNotServed)
	b.refusals++
	if b.refused == "" {
		b.refused, b.refusedText = reason, field+": "+message
	}
}

// unsupported refuses a route for a field that is not served.
func (b *builder) unsupported(field, message string) {
	b.refuse(field, gatewayv1.RouteReasonUnsupportedValue, message)
}

// depend notes what the result depends on.
func (b *builder) depend(o model.Object) {
	if !slices.Contains(b.result.Depends, o) {
		b.result.Depends = append(b.result.Depends, o)
	}
}

func (b *builder) hostnames() {
	for i, h := range b.route.Spec.Hostnames {
		host := string(h)
		if problem := gateway.HostnameProblem(host); problem != "" {
			b.unsupported(fmt.Sprintf("spec.hostnames[%d]", i), problem)
			continue
		}
		if !slices.Contains(b.hosts, host) {
			b.hosts = append(b.hosts, host)
		}
	}
	if len(b.route.Spec.Hostnames) == 0 {
		b.hosts = []string{""}
	}
}

// bound refuses a route that asks for too many claims, by itself or together with older ones
// of its namespace.
func (b *builder) bound(rules []rule) {
	matches, hosts := 0, 0
	for i := range rules {
		matches += len(rules[i].matches)
	}
	for _, l := range b.scopes() {
		hosts += len(b.hostsOf(&l))
	}
	wants := hosts * matches
	switch {
	case b.refused != "" && !b.tooMany:
		b.barriers = wants
	case wants > mostClaims:
		b.unsupported("spec", fmt.Sprintf("has %d combinations of listeners, hostnames and matches; %d are served", wants, mostClaims))
	default:
		b.result.Wants = wants
		if b.past.Crowded && b.refused == "" {
			b.crowded()
		}
	}
}

// crowded refuses a route of which older ones leave too little of what its namespace may have.
func (b *builder) crowded() {
	b.refused = gatewayv1.RouteReasonUnsupportedValue
	b.refusedText = fmt.Sprintf("the routes of a namespace may have %d combinations of listeners, hostnames and matches in all; older ones leave fewer than the %d of this one", b.settings.ClaimLimit(), b.result.Wants)
	b.find(api.SeverityError, "spec", api.ReasonLimitExceeded, b.refusedText, effectNotServed)
}

// claims makes one claim for each listener, hostname, rule and match.
func (b *builder) claims(rules []rule) {
	scopes := b.scopes()
	for i := range scopes {
		for n, host := range b.hostsOf(&scopes[i]) {
			for k := range rules {
				for m := range rules[k].matches {
					b.result.Claims = append(b.result.Claims, b.claim(&scopes[i], n, host, &rules[k], m))
				}
			}
		}
	}
}

// hostsOf returns the hostnames of the route that fit a listener's.
func (b *builder) hostsOf(l *listener) (fitting []string) {
	if l.verdict.Shared {
		fitting, _ = b.sharedHosts(l)
		return fitting
	}
	for _, host := range b.hosts {
		if fits(l.hostname, host) {
			fitting = append(fitting, host)
		}
	}
	return fitting
}

// anyHost is the host of claims for all that come in by a listener.
const anyHost = "*"

// named returns the host of claims for a hostname, which may be empty.
func named(host string) string { return cmp.Or(host, anyHost) }

func (b *builder) claim(l *listener, n int, host string, r *rule, m int) *model.Claim {
	c := b.bare(l, n, named(host), r.index, m)
	c.Match = r.matches[m]
	if b.datagrams() {
		c.Datagrams = r.targets.datagrams()
		return c
	}
	b.target(c, l, r, m)
	return c
}

// bare returns a claim of which all but match and target is known. Rules sort by the
// order in the route.
func (b *builder) bare(l *listener, n int, host string, rule, match int) *model.Claim {
	c := &model.Claim{
		Owner: b.result.Object, Rule: fmt.Sprintf("%03d-%03d-%s-%02d", rule, match, l.scope, n), UID: b.result.UID,
		Created: b.route.CreationTimestamp.Time, Version: b.route.ResourceVersion,
		Host: model.ScopedHost(l.scope, host), NamedHost: host,
	}
	if b.stream() {
		c.Termination = model.Passthrough
	}
	if l.verdict.Shared {
		c.Host = host
		b.share(c, l)
	}
	return c
}

// Content implements door.Door.
func (HTTPRoutes) Content(v door.Version) any {
	r, ok := v.(*gatewayv1.HTTPRoute)
	if !ok {
		return nil
	}
	return struct {
		UID         string
		Annotations map[string]string
		Spec        *gatewayv1.HTTPRouteSpec
	}{string(r.UID), r.Annotations, &r.Spec}
}

// Decode implements door.Door.
func (HTTPRoutes) Decode(text []byte) (door.Version, error) {
	r := &gatewayv1.HTTPRoute{}
	if err := decode(text, r); err != nil {
		return nil, err
	}
	return r, nil
}
