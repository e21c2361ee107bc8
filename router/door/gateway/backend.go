package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// Statuses that the router itself answers with.
const (
	// answerNoBackend is for what has no valid backendRef.
	answerNoBackend = 500
	// answerUnavailable is for rules whose backendRefs all have the weight zero, and in
	// GRPCRoutes for what has no valid one, too: clients of gRPC read it as UNAVAILABLE.
	answerUnavailable = 503
)

// answerInvalid is what a share of requests that has no valid backendRef gets.
func (b *builder) answerInvalid() uint16 {
	if b.grpc() {
		return answerUnavailable
	}
	return answerNoBackend
}

// maxWeight is the API's.
const maxWeight = 1_000_000

// unresolved is a problem of a reference.
type unresolved struct {
	reason gatewayv1.RouteConditionReason
	text   string
}

// unresolvedOrder is which reason the condition has where there are several.
var unresolvedOrder = []gatewayv1.RouteConditionReason{
	gatewayv1.RouteReasonRefNotPermitted, gatewayv1.RouteReasonInvalidKind, gatewayv1.RouteReasonBackendNotFound, gatewayv1.RouteReasonUnsupportedProtocol,
}

// resolved is the condition ResolvedRefs, the same for all parents.
func (b *builder) resolved() model.StatusCondition {
	c := model.StatusCondition{Type: string(gatewayv1.RouteConditionResolvedRefs), True: len(b.unresolved) == 0, Reason: string(gatewayv1.RouteReasonResolvedRefs)}
	if c.True {
		return c
	}
	texts := make([]string, len(b.unresolved))
	for i, u := range b.unresolved {
		texts[i] = u.text
	}
	c.Message = strings.Join(texts, "; ")
	for _, reason := range unresolvedOrder {
		if slices.ContainsFunc(b.unresolved, func(u unresolved) bool { return u.reason == reason }) {
			c.Reason = string(reason)
			break
		}
	}
	return c
}

// branch is a backendRef that is valid and has a weight.
type branch struct {
	weight  int
	servers []model.Server
	// checks counts the health checks of an hour.
	checks  int64
	filters branchFilters
	// ca verifies the servers, or is nil.
	ca *model.CA
}

// showing has the router show its servers a certificate.
func (f branch) showing(c *model.Certificate) branch {
	f.servers = slices.Clone(f.servers)
	for i := range f.servers {
		o := &f.servers[i].Options
		more := o.Rare()
		more.ClientCert = c.ID
		o.More = &more
	}
	return f
}

// targets are where the requests of a rule go.
type targets struct {
	branches []branch
	// invalid is the weight of the backendRefs that cannot be used.
	invalid int
	// answerInvalid is what these get, and answer what all requests get from the router
	// itself, or 0.
	answerInvalid, answer uint16
	// shown is the certificate that the router shows the servers that it verifies, or nil, and
	// by what tells apart the backends of Gateways that show one.
	shown *model.Certificate
	by    string
	// counted says that a claim has the checks of all.
	counted bool
}

// settle says what requests get where no branch is left.
func (t *targets) settle(refs int) {
	switch {
	case len(t.branches) > 0:
	case t.invalid > 0 || refs == 0:
		t.answer = t.answerInvalid
	default:
		t.answer = answerUnavailable
	}
}

// verified reports whether the router verifies some of the servers.
func (t *targets) verified() bool {
	return slices.ContainsFunc(t.branches, func(f branch) bool { return f.ca != nil })
}

// showing returns the targets of requests that come in by a Gateway: verified servers are
// shown its certificate. Without one that can be used, they get nothing.
func (t *targets) showing(c *podCertificate, by string) *targets {
	out := *t
	out.shown, out.by, out.branches, out.counted = c.certificate, by, nil, false
	for _, f := range t.branches {
		switch {
		case f.ca == nil:
			out.branches = append(out.branches, f)
		case c.certificate == nil:
			out.invalid += f.weight
		default:
			out.branches = append(out.branches, f.showing(c.certificate))
		}
	}
	out.settle(len(t.branches))
	return &out
}

// checks counts the health checks of an hour: of the first target, or of all.
func (t *targets) checks(all bool) (n int64) {
	for i := range t.branches {
		if i == 0 || all {
			n += t.branches[i].checks
		}
	}
	return n
}

// targets reads the backendRefs of a rule.
func (b *builder) targets(r *gatewayv1.HTTPRouteRule, field string) (t targets) {
	t.answerInvalid = b.answerInvalid()
	for i := range r.BackendRefs {
		ref, at := &r.BackendRefs[i], fmt.Sprintf("%s.backendRefs[%d]", field, i)
		filters := b.branchFilters(ref.Filters, at)
		weight := 1
		if ref.Weight != nil {
			weight = int(min(max(*ref.Weight, 0), maxWeight))
		}
		effect := fmt.Sprintf("its share of the requests is answered with %d", t.answerInvalid)
		if b.stream() {
			effect = "its share of the connections is closed"
		}
		if b.verifies {
			effect = "its share of the connections whose TLS the router ends is closed"
		}
		if b.datagrams() {
			effect = "its share of the clients gets no answer"
		}
		to, ok := b.endpoints(&ref.BackendObjectReference, at, effect)
		switch {
		case weight == 0:
		case !ok:
			t.invalid += weight
		default:
			servers, checks := b.servers(to)
			branch := branch{weight: weight, servers: servers, checks: checks, filters: filters}
			if to.tls != nil {
				branch.ca = to.tls.ca
			}
			t.branches = append(t.branches, branch)
		}
	}
	b.boundPods(&t, field, len(r.BackendRefs))
	t.settle(len(r.BackendRefs))
	return t
}

// destination is what a backendRef names.
type destination struct {
	endpoints []backend.Endpoint
	// tls is nil where the router speaks no TLS to the pods, and http1 has it speak nothing
	// but HTTP/1.1.
	tls   *upstreamTLS
	http1 bool
}

// endpoints returns those of a backendRef, and false if it is not valid, which has the
// effect.
func (b *builder) endpoints(r *gatewayv1.BackendObjectReference, field, effect string) (out destination, ok bool) {
	wrong := func(reason gatewayv1.RouteConditionReason, message string) {
		b.unresolved = append(b.unresolved, unresolved{reason, field + ": " + message})
		b.find(api.SeverityWarning, field, api.Reason(reason), message, effect)
	}
	group, kind, namespace := "", string(door.KindService), b.route.Namespace
	if r.Group != nil {
		group = string(*r.Group)
	}
	if r.Kind != nil {
		kind = string(*r.Kind)
	}
	if r.Namespace != nil {
		namespace = string(*r.Namespace)
	}
	if group != "" || kind != string(door.KindService) {
		wrong(gatewayv1.RouteReasonInvalidKind, "must be a Service, and not a "+kind+" of group "+strconv.Quote(group))
		return out, false
	}
	key := model.Object{Kind: door.KindService, Namespace: namespace, Name: string(r.Name)}
	b.depend(key)
	if namespace != b.route.Namespace {
		b.depend(grantsOf(namespace))
		// What is not permitted must not say whether the Service exists.
		if !granted(b.src, reference{string(b.result.Object.Kind), b.route.Namespace, group, kind, namespace, key.Name}) {
			wrong(gatewayv1.RouteReasonRefNotPermitted, "no ReferenceGrant of namespace "+namespace+" permits it")
			return out, false
		}
	}
	service, port, missing := b.servicePort(key, r.Port)
	if missing != "" {
		wrong(gatewayv1.RouteReasonBackendNotFound, missing)
		return out, false
	}
	var unverified string
	if !b.stream() || b.verifies { // what is handed on whole may be the client's own TLS
		out.tls, unverified = b.upstreamTLS(key, port.Name)
	}
	if unverified != "" {
		b.find(api.SeverityWarning, field, api.ReasonBackendTLSPolicyInvalid, unverified, effect)
		return out, false
	}
	http2, spoken := b.spoken(port.Protocol, out.tls != nil)
	if !spoken {
		wrong(gatewayv1.RouteReasonUnsupportedProtocol, fmt.Sprintf("port %d of Service %s has the appProtocol %q, which the router does not speak to pods", *r.Port, key.Name, port.Protocol))
		return out, false
	}
	if b.datagrams() {
		out.endpoints = backend.OfPort(backend.DatagramEndpoints(b.src.Slices(key)), port)
		return out, true
	}
	out.endpoints = backend.OfPort(service.Endpoints(b.src.Slices(key)), port)
	for i := range out.endpoints {
		out.endpoints[i].H2C = (out.endpoints[i].H2C || http2) && !b.stream()
	}
	out.http1 = strings.HasPrefix(port.Protocol, "kubernetes.io/ws") || b.stream()
	return out, true
}

// servicePort returns a Service with a port of it, or what is missing.
func (b *builder) servicePort(key model.Object, number *gatewayv1.PortNumber) (s *backend.Service, port backend.Port, missing string) {
	s = b.src.Service(key)
	switch {
	case s == nil:
		return nil, port, "Service " + key.Name + " does not exist"
	case number == nil:
		return nil, port, "has no port; the port of a Service is required"
	}
	port, known := b.portOf(s, int32(*number))
	if !known {
		return nil, port, b.noPort(s, key.Name, int32(*number))
	}
	return s, port, ""
}

// spoken reports whether the router speaks an appProtocol to pods, in TLS or without, and
// whether that is HTTP/2. gRPC is nothing else. What connections carry that are handed on
// whole is not the router's to know.
func (b *builder) spoken(protocol string, tls bool) (http2, ok bool) {
	if b.stream() {
		return false, true
	}
	switch protocol {
	case "h2c", "kubernetes.io/h2c":
		return true, true
	case "", "http", "tcp":
		return b.grpc(), true
	case "https", "HTTPS":
		return b.grpc(), tls
	case "grpc":
		return true, b.grpc()
	case "kubernetes.io/ws":
		return false, !b.grpc()
	case "kubernetes.io/wss":
		return false, tls && !b.grpc()
	}
	return false, false
}

func numbers(list []int32) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(int(n))
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// moreHTTP2 has servers speak nothing else in TLS.
var moreHTTP2 = &model.MoreOptions{OnlyHTTP2: true}

// secure has the router speak TLS to a server.
func (d *destination) secure(o *model.ServerOptions) {
	o.TLS, o.HTTP2, o.CAID, o.VerifyHost = true, !d.http1, d.tls.ca.ID, d.tls.host
	if o.H2C {
		o.H2C, o.More = false, moreHTTP2
	}
}

// usualCheck is the time between health checks, unless settings say otherwise.
const usualCheck = 5 * time.Second

// servers makes servers of endpoints, with equal weights, and counts their health checks
// in an hour. One alone is not checked.
func (b *builder) servers(to destination) (servers []model.Server, checks int64) {
	endpoints := to.endpoints
	pace := usualCheck
	if b.settings.CheckInterval > 0 {
		pace = b.settings.CheckInterval
	}
	pace = backend.CheckPace(pace, len(endpoints))
	if len(endpoints) > 1 {
		checks = backend.Checks(pace, len(endpoints))
	}
	pace = backend.Stretched(pace, b.past.Stretch)
	for _, e := range endpoints {
		s := model.Server{ID: e.ID, Address: e.Address, Weight: 1}
		if s.Options.H2C = e.H2C; to.tls != nil {
			to.secure(&s.Options)
		}
		if len(endpoints) > 1 && !e.Idle {
			s.Options.CheckInterval = backend.Milliseconds(pace)
		}
		servers = append(servers, s)
	}
	slices.SortFunc(servers, func(a, c model.Server) int { return strings.Compare(a.ID, c.ID) })
	return servers, checks
}
