package convert

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Kinds of routes.
const (
	kindHTTPRoute = "HTTPRoute"
	kindGRPCRoute = "GRPCRoute"
	kindTLSRoute  = "TLSRoute"
)

// usualRedirect is the status of redirects to https, wwwRedirect that of redirects from a
// second host.
const (
	usualRedirect = 302
	wwwRedirect   = 308
)

// routes makes the routes of a draft.
func (c *conversion) routes(d *draft) {
	set := c.set(d.Route.Namespace, d.claim.Termination == model.Passthrough)
	if set.whole {
		c.tlsRoute(d, set)
	} else {
		c.requestRoutes(d, set)
	}
	switch {
	case d.plain() || set.whole && !d.redirects() || !c.first(d, d.host, gatewayv1.HTTPProtocolType):
	case d.redirects():
		c.toHTTPS(d, set, d.host, "-redirect")
	default:
		c.withoutHTTP(d, set, d.host, "-no-http")
	}
	if d.alias != nil {
		c.fromAlias(d, set)
	}
}

// part is which requests of a draft a route is for.
type part int

// Those for pods, those of plain HTTP for which there is no pod, and those for the second host.
const (
	partPods part = iota
	partHTTPS
	partAlias
)

// made notes a route of a draft.
func (c *conversion) made(d *draft, kind, wanted string, as part) metav1.ObjectMeta {
	key := model.Object{Kind: model.Kind(kind), Namespace: d.Route.Namespace, Name: c.name(model.Kind(kind), d.Route.Namespace, wanted)}
	if as == partPods {
		c.out.Made[d.key()] = append(c.out.Made[d.key()], key)
	}
	c.attach(d, key, as)
	return meta(key.Namespace, key.Name, d.from())
}

// from names what a route is made of.
func (d *draft) from() string { return "Route " + d.Route.Name }

// requestRoutes makes those that lead requests to pods: one, or two where requests with TLS
// and without are treated in different ways.
func (c *conversion) requestRoutes(d *draft, set *listeners) {
	var secure, plain []gatewayv1.ParentReference
	if d.secure() && c.first(d, d.host, gatewayv1.HTTPSProtocolType) {
		secure = c.refs(set, d.host, gatewayv1.HTTPSProtocolType)
	}
	if d.plain() && c.first(d, d.host, gatewayv1.HTTPProtocolType) {
		plain = c.refs(set, d.host, gatewayv1.HTTPProtocolType)
	}
	switch both := slices.Concat(secure, plain); {
	case len(both) == 0:
		return
	case !d.fields.byTLS() || len(plain) == 0 || len(secure) == 0:
		c.requestRoute(d, d.Route.Name, both, len(secure) > 0)
		return
	}
	c.requestRoute(d, d.Route.Name, secure, true)
	c.requestRoute(d, d.Route.Name+"-http", plain, false)
}

func (c *conversion) requestRoute(d *draft, wanted string, parents []gatewayv1.ParentReference, secure bool) {
	if d.grpc {
		c.grpcRoute(d, wanted, parents, secure)
		return
	}
	r := &gatewayv1.HTTPRoute{ObjectMeta: c.made(d, kindHTTPRoute, wanted, partPods)}
	r.Spec.ParentRefs, r.Spec.Hostnames = parents, d.hostnames(d.host)
	rule := gatewayv1.HTTPRouteRule{Matches: d.match.matches()}
	if !d.closed {
		rule.Filters, rule.Timeouts = d.fields.filters(secure), d.fields.timeouts
		for _, ref := range d.objectRefs() {
			rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref})
		}
	}
	r.Spec.Rules = []gatewayv1.HTTPRouteRule{rule}
	c.add(r)
}

func (c *conversion) grpcRoute(d *draft, wanted string, parents []gatewayv1.ParentReference, secure bool) {
	r := &gatewayv1.GRPCRoute{ObjectMeta: c.made(d, kindGRPCRoute, wanted, partPods)}
	r.Spec.ParentRefs, r.Spec.Hostnames = parents, d.hostnames(d.host)
	rule := gatewayv1.GRPCRouteRule{}
	rule.Matches, _ = d.match.methods()
	if f := d.fields.request; f != nil {
		rule.Filters = append(rule.Filters, gatewayv1.GRPCRouteFilter{Type: gatewayv1.GRPCRouteFilterRequestHeaderModifier, RequestHeaderModifier: f})
	}
	if f := d.fields.responses(secure); f != nil {
		rule.Filters = append(rule.Filters, gatewayv1.GRPCRouteFilter{Type: gatewayv1.GRPCRouteFilterResponseHeaderModifier, ResponseHeaderModifier: f})
	}
	for _, ref := range d.objectRefs() {
		rule.BackendRefs = append(rule.BackendRefs, gatewayv1.GRPCBackendRef{BackendRef: ref})
	}
	r.Spec.Rules = []gatewayv1.GRPCRouteRule{rule}
	c.add(r)
}

// tlsRoute makes the route of connections that are handed on whole. A closed one leads to a
// Service that gets none of them: a TLSRoute without backends is not valid.
func (c *conversion) tlsRoute(d *draft, set *listeners) {
	r := &gatewayv1.TLSRoute{ObjectMeta: c.made(d, kindTLSRoute, d.Route.Name, partPods)}
	r.Spec.ParentRefs, r.Spec.Hostnames = c.refs(set, d.host, gatewayv1.TLSProtocolType), d.hostnames(d.host)
	refs := d.objectRefs()
	if d.closed {
		port, none := gatewayv1.PortNumber(cmp.Or(d.port, portHTTPS)), int32(0)
		refs = []gatewayv1.BackendRef{{
			BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(d.Route.Spec.To.Name), Port: &port}, Weight: &none,
		}}
	}
	r.Spec.Rules = []gatewayv1.TLSRouteRule{{BackendRefs: refs}}
	c.add(r)
}

// toHTTPS redirects plain HTTP, also where the route itself is closed: nothing gets through
// by a redirect.
func (c *conversion) toHTTPS(d *draft, set *listeners, host, suffix string) {
	scheme, status := "https", usualRedirect
	if s := d.claim.ToHTTPS.Status; s != 0 {
		status = int(s)
	}
	f := &gatewayv1.HTTPRequestRedirectFilter{Scheme: &scheme, StatusCode: &status}
	if p := d.claim.ToHTTPS.Port; p != 0 && p != portHTTPS {
		port := gatewayv1.PortNumber(p)
		f.Port = &port
	}
	c.redirect(d, partHTTPS, d.Route.Name+suffix, host, c.refs(set, host, gatewayv1.HTTPProtocolType), f)
}

// withoutHTTP keeps plain HTTP from a route that takes none, where its host has a listener for
// it: that would hand the requests to the route of a shorter path, or of a wildcard.
func (c *conversion) withoutHTTP(d *draft, set *listeners, host, suffix string) {
	parents := c.refs(set, host, gatewayv1.HTTPProtocolType)
	if len(parents) == 0 {
		parents = c.covering(set, host, gatewayv1.HTTPProtocolType)
	}
	c.shut(d, partHTTPS, d.Route.Name+suffix, host, parents)
}

// shut makes a route without backends.
func (c *conversion) shut(d *draft, as part, wanted, host string, parents []gatewayv1.ParentReference) {
	if len(parents) == 0 {
		return
	}
	r := &gatewayv1.HTTPRoute{ObjectMeta: c.made(d, kindHTTPRoute, wanted, as)}
	r.Spec.ParentRefs, r.Spec.Hostnames = parents, d.hostnames(host)
	r.Spec.Rules = []gatewayv1.HTTPRouteRule{{Matches: d.match.matches()}}
	c.add(r)
}

// fromAlias redirects the requests for a second host to the first one, plain HTTP by way of
// https where the Route does that. That of a closed route is closed, too.
func (c *conversion) fromAlias(d *draft, set *listeners) {
	var parents []gatewayv1.ParentReference
	if d.secure() && c.first(d, d.alias.Host, gatewayv1.HTTPSProtocolType) {
		parents = c.refs(set, d.alias.Host, gatewayv1.HTTPSProtocolType)
	}
	switch {
	case !c.first(d, d.alias.Host, gatewayv1.HTTPProtocolType):
	case d.plain():
		parents = append(parents, c.refs(set, d.alias.Host, gatewayv1.HTTPProtocolType)...)
	case d.redirects():
		c.toHTTPS(d, set, d.alias.Host, "-www-redirect")
	default:
		c.withoutHTTP(d, set, d.alias.Host, "-www-no-http")
	}
	if d.closed {
		c.shut(d, partAlias, d.Route.Name+"-www", d.alias.Host, parents)
		return
	}
	if len(parents) == 0 {
		return
	}
	host, status := gatewayv1.PreciseHostname(d.host), wwwRedirect
	c.redirect(d, partAlias, d.Route.Name+"-www", d.alias.Host, parents, &gatewayv1.HTTPRequestRedirectFilter{Hostname: &host, StatusCode: &status})
}

func (c *conversion) redirect(d *draft, as part, wanted, host string, parents []gatewayv1.ParentReference, f *gatewayv1.HTTPRequestRedirectFilter) {
	r := &gatewayv1.HTTPRoute{ObjectMeta: c.made(d, kindHTTPRoute, wanted, as)}
	r.Spec.ParentRefs = parents
	if host != match.Any {
		r.Spec.Hostnames = d.hostnames(host)
	}
	r.Spec.Rules = []gatewayv1.HTTPRouteRule{{
		Matches: d.match.matches(),
		Filters: []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterRequestRedirect, RequestRedirect: f}},
	}}
	c.add(r)
}
