package convert

import (
	"regexp"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// fields are what a rule says itself.
type fields struct {
	request, response *gatewayv1.HTTPHeaderFilter
	rewrite           *gatewayv1.HTTPURLRewriteFilter
	timeouts          *gatewayv1.HTTPRouteTimeouts
}

const (
	// maxHeaders is the API's, of each list of a filter.
	maxHeaders = 16
	// maxHeaderText is the API's, of one value.
	maxHeaderText = 4096
)

// gatewayDuration is what the API takes as a time (GEP-2257).
var gatewayDuration = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

// readFields moves what fields of a rule can say out of the groups.
func (c *conversion) readFields(d *draft) {
	if d.closed {
		return
	}
	if !d.grpc {
		d.readTimeouts()
		d.readRewrite()
	}
	c.readHeaders(d)
}

// readTimeouts takes the one timeout that a rule has. Where others are set, all stay together
// in the policy, which wins or loses them as a whole.
func (d *draft) readTimeouts() {
	t := d.groups.Timeouts
	if t == nil || *t != (v1alpha1.Timeouts{Response: t.Response}) || !gatewayDuration.MatchString(string(t.Response)) {
		return
	}
	wait := gatewayv1.Duration(t.Response)
	d.fields.timeouts, d.groups.Timeouts = &gatewayv1.HTTPRouteTimeouts{BackendRequest: &wait}, nil
}

// readRewrite takes the rewrites that a filter can say.
func (d *draft) readRewrite() {
	r := d.groups.Rewrite
	if r == nil || r.Regex != nil {
		return
	}
	if d.match.slashed && r.Prefix != "" {
		d.groups.Rewrite = rewriteBelow(r, d.claim.Path)
		return
	}
	f := &gatewayv1.HTTPURLRewriteFilter{}
	switch prefix := d.match.kind == gatewayv1.PathMatchPathPrefix; {
	case r.Prefix != "" && (!prefix || r.Full != ""), len(r.Prefix)+len(r.Full) > maxPathValue:
		return
	case r.Prefix != "":
		f.Path = &gatewayv1.HTTPPathModifier{Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &r.Prefix}
	case r.Full != "":
		f.Path = &gatewayv1.HTTPPathModifier{Type: gatewayv1.FullPathHTTPPathModifier, ReplaceFullPath: &r.Full}
	}
	if r.Host != "" {
		host := gatewayv1.PreciseHostname(r.Host)
		f.Hostname = &host
	}
	d.fields.rewrite, d.groups.Rewrite = f, nil
}

// rewriteBelow replaces a path that ends in a slash, whose requests an expression chooses.
func rewriteBelow(r *v1alpha1.Rewrite, path string) *v1alpha1.Rewrite {
	to := strings.ReplaceAll(strings.TrimRight(r.Prefix, "/"), "$", "$$")
	return &v1alpha1.Rewrite{Host: r.Host, Regex: &v1alpha1.RewriteRegex{Pattern: regexp.QuoteMeta(path) + "(.*)", Replacement: to + "/$1"}}
}

// readHeaders takes the changes of headers of a Route: as filters where the values are text,
// else as a policy.
func (c *conversion) readHeaders(d *draft) {
	var own routev1.RouteHTTPHeaderActions
	if h := d.Route.Spec.HTTPHeaders; h != nil {
		own = h.Actions
	}
	request, literal := filterOf(own.Request)
	response, alsoLiteral := filterOf(own.Response)
	if hsts := d.claim.Backend.Policy().HSTS; hsts != "" && d.secure() {
		response.Set = append(response.Set, gatewayv1.HTTPHeader{Name: "Strict-Transport-Security", Value: hsts})
	}
	if literal && alsoLiteral && (d.groups.Headers == nil || len(own.Request)+len(own.Response) == 0) {
		d.fields.request, d.fields.response = nonEmpty(request), nonEmpty(response)
		return
	}
	h := v1alpha1.Headers{Request: &v1alpha1.RequestHeaders{}, Response: &v1alpha1.ResponseHeaders{}}
	if d.groups.Headers != nil {
		c.close(d, "spec.httpHeaders", "it changes headers besides those that annotations of another Ingress controller change; keep one of both")
		return
	}
	for _, a := range own.Request {
		if a.Action.Set == nil {
			h.Request.Remove = append(h.Request.Remove, v1alpha1.ChangedHeader(a.Name))
		} else {
			h.Request.Set = append(h.Request.Set, v1alpha1.RequestHeader{Name: v1alpha1.ChangedHeader(a.Name), Value: a.Action.Set.Value})
		}
	}
	for _, a := range own.Response {
		if a.Action.Set == nil {
			h.Response.Remove = append(h.Response.Remove, v1alpha1.ChangedHeader(a.Name))
		} else {
			h.Response.Set = append(h.Response.Set, v1alpha1.ResponseHeader{Name: v1alpha1.ChangedHeader(a.Name), Value: a.Action.Set.Value})
		}
	}
	if len(own.Request) == 0 {
		h.Request = nil
	}
	if len(own.Response) == 0 {
		h.Response = nil
	}
	d.groups.Headers = &h
	if hsts := d.claim.Backend.Policy().HSTS; hsts != "" && d.secure() {
		d.fields.response = &gatewayv1.HTTPHeaderFilter{Set: []gatewayv1.HTTPHeader{{Name: "Strict-Transport-Security", Value: hsts}}}
	}
}

// filterOf returns changes of headers as a filter, and false if a value has more than text.
func filterOf(actions []routev1.RouteHTTPHeader) (f gatewayv1.HTTPHeaderFilter, literal bool) {
	for _, a := range actions {
		if a.Action.Set == nil {
			f.Remove = append(f.Remove, a.Name)
			continue
		}
		text := strings.ReplaceAll(a.Action.Set.Value, "%%", "\x00")
		if strings.Contains(text, "%") || len(text) > maxHeaderText {
			return f, false
		}
		f.Set = append(f.Set, gatewayv1.HTTPHeader{Name: gatewayv1.HTTPHeaderName(a.Name), Value: strings.ReplaceAll(text, "\x00", "%")})
	}
	return f, len(f.Set) < maxHeaders && len(f.Remove) <= maxHeaders
}

func nonEmpty(f gatewayv1.HTTPHeaderFilter) *gatewayv1.HTTPHeaderFilter {
	if len(f.Set)+len(f.Add)+len(f.Remove) == 0 {
		return nil
	}
	return &f
}

// filters returns those of a rule whose requests come in with TLS or without.
func (f *fields) filters(secure bool) (out []gatewayv1.HTTPRouteFilter) {
	if f.request != nil {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: f.request})
	}
	if r := f.responses(secure); r != nil {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: r})
	}
	if f.rewrite != nil {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterURLRewrite, URLRewrite: f.rewrite})
	}
	return out
}

// responses leaves Strict-Transport-Security to answers over TLS (RFC 6797 7.2).
func (f *fields) responses(secure bool) *gatewayv1.HTTPHeaderFilter {
	if f.response == nil || secure {
		return f.response
	}
	without := *f.response
	without.Set = slices.DeleteFunc(slices.Clone(without.Set), func(h gatewayv1.HTTPHeader) bool { return h.Name == "Strict-Transport-Security" })
	return nonEmpty(without)
}

// byTLS reports whether requests with TLS and without are treated in different ways.
func (f *fields) byTLS() bool {
	return f.response != nil && slices.ContainsFunc(f.response.Set, func(h gatewayv1.HTTPHeader) bool { return h.Name == "Strict-Transport-Security" })
}

// noteLost reports the settings of annotations that Gateways have no form for.
func (c *conversion) noteLost(d *draft) {
	g := &d.groups
	for _, lost := range []struct {
		set            bool
		field, message string
	}{
		{d.spec.MaxConn > 0, annotation("haproxy.router.openshift.io/pod-concurrent-connections"), "connections to pods of Gateways' routes are not limited"},
		{d.spec.AdjustCase, annotation("haproxy.router.openshift.io/h1-adjust-case"), "names of headers are not adjusted for routes of Gateways"},
		{g.Affinity != nil, "", "sticky cookies are for Routes and Ingresses; a RoutePolicy with loadBalancing.hash can keep clients at a pod"},
		{g.Health != nil, "", "endpoints of Gateways' routes are checked by connections"},
		{g.Canary != nil, "", "canary branches are for Routes and Ingresses; write weights of backendRefs, and rules with matches of headers"},
		{g.Upstream != nil && g.Upstream.Protocol != "", "", "what pods speak is the appProtocol of the Service's port on Gateways"},
	} {
		if lost.set {
			c.lose(d, lost.field, lost.message)
		}
	}
	g.Affinity, g.Health, g.Canary = nil, nil, nil
	if g.Upstream != nil && g.Upstream.TLS == nil {
		g.Upstream = nil
	}
	if d.claim.Backend.Policy().Forwarded == model.ForwardedReplace && d.spec.Forwarded != c.in.Settings.Forwarded {
		c.close(d, annotation("haproxy.router.openshift.io/set-forwarded-headers"),
			"clients cannot forge the X-Forwarded headers of it, and could those of a Gateway's route; set spec.httpHeaders.forwardedHeaderPolicy of the IngressController to Replace")
	}
	if r := g.Redirects; r != nil {
		own := *r
		own.HTTPS, own.WWW = nil, "" // which are routes of their own
		if g.Redirects = &own; len(own.Rules) == 0 && own.AppRoot == "" {
			g.Redirects = nil
		}
	}
	if p := g.Pages; p != nil && p.NoEndpoints != nil {
		c.lose(d, annotation(policy.AnnotationErrorPages), "pages.noEndpoints is for Routes and Ingresses")
	}
}
