package route

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policy turns annotations and header actions into what HAProxy's rules read.
func (b *builder) policy(c *model.Claim, spec *policy.Spec) (model.Policy, bool) {
	var p model.Policy
	spec.Compile(&p)
	if c.Termination == model.Passthrough {
		p.Limits.Requests, p.Sizes, p.Redirects, p.CORS, p.Maintenance, p.Unlogged = 0, model.Sizes{}, nil, nil, nil, 0
		p.Rates, p.Concurrents = nil, nil
		return p, true
	}
	p.Agent = b.agent
	b.withoutLoops(c, &p)
	p.TimeoutServer, p.TimeoutTunnel, p.Forwarded = spec.Timeout, spec.Tunnel, spec.Forwarded
	p.Rewrite = rewrite(c.Path, spec.Rewrite)
	if c.Termination != model.Plain {
		p.HSTS = spec.HSTS
	}
	if !spec.DisableCookies {
		p.CookieName = spec.CookieName
		if p.CookieName == "" {
			p.CookieName = defaultCookieName(c.Owner)
		}
		if c.Termination != model.Plain && c.Insecure != model.InsecureAllow {
			p.CookieAttributes = "; Secure; SameSite=" + spec.CookieSameSite
		}
	}
	h := b.route.Spec.HTTPHeaders
	if h == nil {
		return p, true
	}
	var ok1, ok2 bool
	p.RequestHeaders, ok1 = b.headers("request", "req", h.Actions.Request)
	p.ResponseHeaders, ok2 = b.headers("response", "res", h.Actions.Response)
	return p, ok1 && ok2
}

// withoutLoops takes out redirects that lead to themselves.
func (b *builder) withoutLoops(c *model.Claim, p *model.Policy) {
	site := policy.Site{
		Host: c.Host, Path: match.Rule{Path: c.Path, Exact: c.Exact}, HTTP: c.Termination == model.Plain || c.Insecure == model.InsecureAllow, HTTPS: c.Termination != model.Plain,
	}
	good, loops := policy.WithoutLoops(p.Redirects, site)
	if len(loops) > 0 {
		field, message := "metadata.annotations["+policy.AnnotationRedirect+"]", "the address that it leads to is redirected, too, and so on without end"
		if from := b.result.Effective.Origin(policy.GroupRedirects); from != nil && policy.IsKind(from.Key.Kind) {
			field, message = "", from.Title()+" "+from.Field(policy.GroupRedirects)+": "+message
		}
		b.find(api.SeverityWarning, field, api.ReasonRedirectLoop, message, "it redirects nothing")
	}
	p.Redirects = good
}

// rewrite replaces spec.path by the target, on whole segments: what is left of
// the path always begins with a slash.
func rewrite(path, target string) *model.Rewrite {
	if target == "" {
		return nil
	}
	return &model.Rewrite{
		Strip: len(strings.TrimRight(path, "/")),
		To:    strings.TrimRight(target, "/"),
		Empty: target,
	}
}

// reservedHeaders may not be changed by routes: they belong to the router or
// would undo what protects it.
var reservedHeaders = []string{"strict-transport-security", "proxy", "cookie", "set-cookie"}

// defaultHeaderBytes is the default of Settings.HeaderBytes.
const defaultHeaderBytes = 8192

// headers checks the header actions of one direction.
func (b *builder) headers(direction, fetch string, actions []routev1.RouteHTTPHeader) ([]model.HeaderAction, bool) {
	field := "spec.httpHeaders.actions." + direction
	var out []model.HeaderAction
	total := 0
	for _, a := range actions {
		item := field + "[" + a.Name + "]"
		h := model.HeaderAction{Name: a.Name, Delete: a.Action.Type == routev1.Delete}
		if a.Action.Set != nil {
			h.Value = a.Action.Set.Value
		}
		total += len(h.Name) + len(h.Value)
		if f, problem := h.Problem(fetch, a.Action.Type == routev1.Set, reservedHeaders); problem != "" {
			return nil, b.refuse(item+f, api.ReasonInvalidField, problem)
		}
		out = append(out, h)
	}
	if most := cmp.Or(b.settings.HeaderBytes, defaultHeaderBytes); total > most {
		return nil, b.refuse(field, api.ReasonInvalidField,
			fmt.Sprintf("adds up to more than %d bytes, which may not fit in HAProxy's buffer (spec.tuningOptions.headerBufferMaxRewriteBytes of the IngressController)", most))
	}
	return out, true
}

// readAnnotations reads what the route's annotations ask for, and whether one that
// protects something cannot be used: then nothing may get through.
func (b *builder) readAnnotations(c *model.Claim) (spec policy.Spec, closed bool) {
	spec, problems := policy.Read(b.route.Annotations, defaults(b.settings), c.Termination, Closed(b.route))
	for _, p := range problems {
		if p.Closes {
			closed = true
			p.Effect = effectClosed(c.Termination)
		}
		b.find(p.Severity, "metadata.annotations["+p.Key+"]", p.Reason, p.Message, p.Effect)
	}
	return spec, closed
}

// effectClosed is what clients get of a route whose protection cannot be read.
func effectClosed(t model.Termination) string {
	if t == model.Passthrough {
		return "connections are closed"
	}
	return "paths answer 503"
}

// defaults are what holds without annotations.
func defaults(s door.Settings) policy.Spec {
	return policy.Spec{CookieSameSite: "None", CheckInterval: cmp.Or(s.CheckInterval, 5*time.Second), Forwarded: s.Forwarded}
}

// defaultCookieName is what OpenShift's router calls a route's cookie.
func defaultCookieName(k model.Object) string {
	return backend.MD5(" " + k.Namespace + ":" + k.Name)
}
