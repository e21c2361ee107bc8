package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// filters are what a rule does to its requests and answers.
type filters struct {
	request, response []model.HeaderAction
	redirect          *gatewayv1.HTTPRequestRedirectFilter
	rewrite           *gatewayv1.HTTPURLRewriteFilter
	cors              *model.CORS
	mirrors           []authentication.Copies
	mirror            *model.Mirror
	timeouts          timeouts
	retry             retry
}

// filters reads those of a rule, its timeouts included.
func (b *builder) filters(r *gatewayv1.HTTPRouteRule, field string) (out filters) {
	seen := map[gatewayv1.HTTPRouteFilterType]bool{}
	for i := range r.Filters {
		f, at := &r.Filters[i], fmt.Sprintf("%s.filters[%d]", field, i)
		if seen[f.Type] && f.Type != gatewayv1.HTTPRouteFilterRequestMirror {
			b.refuse(at, gatewayv1.RouteReasonIncompatibleFilters, "the rule has two filters of type "+string(f.Type))
			continue
		}
		seen[f.Type] = true
		b.filter(&out, f, at)
	}
	if out.redirect != nil && out.rewrite != nil {
		b.refuse(field+".filters", gatewayv1.RouteReasonIncompatibleFilters, "RequestRedirect and URLRewrite cannot hold together")
	}
	if out.redirect != nil && len(r.BackendRefs) > 0 {
		b.refuse(field+".backendRefs", gatewayv1.RouteReasonIncompatibleFilters, "a rule with RequestRedirect has no backends")
	}
	b.prefixed(&out, r, field)
	b.compileMirrors(&out, field)
	if most := b.mostHeaderBytes(); headerBytes(out.request) > most || headerBytes(out.response) > most {
		b.unsupported(field+".filters", fmt.Sprintf("changes of headers add up to more than %d bytes, which may not fit in HAProxy's buffer", most))
	}
	out.timeouts = b.timeouts(r.Timeouts, field+".timeouts")
	out.retry = b.retry(r.Retry, out.timeouts, field+".retry")
	return out
}

// mostHeaderBytes is how long changes of headers may be.
func (b *builder) mostHeaderBytes() int { return cmp.Or(b.settings.HeaderBytes, defaultHeaderBytes) }

// defaultHeaderBytes is the default of Settings.HeaderBytes.
const defaultHeaderBytes = 8192

func headerBytes(actions []model.HeaderAction) (total int) {
	for _, a := range actions {
		total += len(a.Name) + len(a.Value)
	}
	return total
}

// filter reads one filter.
func (b *builder) filter(out *filters, f *gatewayv1.HTTPRouteFilter, at string) {
	missing := func() { b.unsupported(at, "has the type "+string(f.Type)+" and no settings of it") }
	switch f.Type {
	case gatewayv1.HTTPRouteFilterRequestHeaderModifier:
		if f.RequestHeaderModifier == nil {
			missing()
			return
		}
		out.request = b.headers(f.RequestHeaderModifier, "req", at+".requestHeaderModifier")
	case gatewayv1.HTTPRouteFilterResponseHeaderModifier:
		if f.ResponseHeaderModifier == nil {
			missing()
			return
		}
		out.response = b.headers(f.ResponseHeaderModifier, "res", at+".responseHeaderModifier")
	case gatewayv1.HTTPRouteFilterRequestRedirect:
		if out.redirect = f.RequestRedirect; out.redirect == nil {
			missing()
			return
		}
		b.checkRedirect(out.redirect, at+".requestRedirect")
	case gatewayv1.HTTPRouteFilterURLRewrite:
		if out.rewrite = f.URLRewrite; out.rewrite == nil {
			missing()
			return
		}
		b.checkHost(out.rewrite.Hostname, at+".urlRewrite.hostname")
		b.checkPath(out.rewrite.Path, at+".urlRewrite.path")
	case gatewayv1.HTTPRouteFilterCORS:
		if f.CORS == nil {
			missing()
			return
		}
		out.cors = b.cors(f.CORS, at+".cors")
	case gatewayv1.HTTPRouteFilterRequestMirror:
		if f.RequestMirror == nil {
			missing()
			return
		}
		b.addMirror(out, f.RequestMirror, at+".requestMirror")
	case gatewayv1.HTTPRouteFilterExternalAuth, gatewayv1.HTTPRouteFilterExtensionRef:
		b.unsupported(at+".type", "filters of type "+string(f.Type)+" are not served yet")
	default:
		b.unsupported(at+".type", "is not known")
	}
}

// headers reads changes of headers. Values are literal.
func (b *builder) headers(f *gatewayv1.HTTPHeaderFilter, fetch, at string) (out []model.HeaderAction) {
	add := func(part string, i int, a model.HeaderAction) {
		a.Value = strings.ReplaceAll(a.Value, "%", "%%")
		if field, problem := a.Problem(fetch, true, []string{"host"}); problem != "" {
			if field == ".action" {
				field, problem = ".value", "must be text without control characters, and not empty"
			}
			switch {
			case !strings.EqualFold(a.Name, "host"):
			case b.grpc():
				problem = "may not be changed"
			default:
				problem = "may not be changed here; the filter URLRewrite replaces the host"
			}
			b.unsupported(fmt.Sprintf("%s.%s[%d]%s", at, part, i, field), problem)
			return
		}
		out = append(out, a)
	}
	for i, h := range f.Set {
		add("set", i, model.HeaderAction{Name: string(h.Name), Value: h.Value})
	}
	for i, h := range f.Add {
		add("add", i, model.HeaderAction{Name: string(h.Name), Value: h.Value, Add: true})
	}
	for i, name := range f.Remove {
		add("remove", i, model.HeaderAction{Name: name, Delete: true})
	}
	return out
}

// byMatch reports whether what is done to a request depends on its match.
func (f *filters) byMatch() bool { return byPrefix(f.rewrite) }

// byPrefix reports whether a filter replaces the prefix that a match has.
func byPrefix(f *gatewayv1.HTTPURLRewriteFilter) bool {
	return f != nil && f.Path != nil && f.Path.Type == gatewayv1.PrefixMatchHTTPPathModifier
}

// policy returns what HAProxy does to the requests of a match that come in by a listener.
func (f *filters) policy(l *listener, m *model.Match) model.Policy {
	p := model.Policy{RequestHeaders: f.request, ResponseHeaders: f.response, CORS: f.cors, Mirror: f.mirror}
	p.Timeouts.Server, p.Timeouts.Total = f.timeouts.attempt(), f.retry.total
	if f.redirect != nil {
		p.Redirects = redirects(f.redirect, l, m)
	}
	if f.rewrite == nil {
		return p
	}
	if f.rewrite.Hostname != nil {
		p.PodHost = string(*f.rewrite.Hostname)
	}
	if f.rewrite.Path != nil {
		p.Rewrite = rewrite(f.rewrite.Path, m)
	}
	return p
}

// prefixed refuses the replacement of a prefix by a rule with other matches than prefixes.
func (b *builder) prefixed(f *filters, r *gatewayv1.HTTPRouteRule, field string) {
	replaced := f.byMatch() || f.redirect != nil && f.redirect.Path != nil && f.redirect.Path.Type == gatewayv1.PrefixMatchHTTPPathModifier ||
		slices.ContainsFunc(r.BackendRefs, branchByPrefix)
	for i := range r.Matches {
		if p := r.Matches[i].Path; replaced && p != nil && p.Type != nil && *p.Type != gatewayv1.PathMatchPathPrefix {
			b.unsupported(fmt.Sprintf("%s.matches[%d].path.type", field, i), "must be PathPrefix where a filter replaces the prefix")
		}
	}
}

// checkHost refuses a host that cannot be written.
func (b *builder) checkHost(h *gatewayv1.PreciseHostname, at string) {
	if h == nil {
		return
	}
	if problem := gateway.HostnameProblem(string(*h)); problem != "" || strings.HasPrefix(string(*h), wildcard) {
		b.unsupported(at, "must be a DNS name in lower case")
	}
}

// checkPath refuses a path that cannot be written.
func (b *builder) checkPath(p *gatewayv1.HTTPPathModifier, at string) {
	if p == nil {
		return
	}
	text := p.ReplaceFullPath
	switch p.Type {
	case gatewayv1.FullPathHTTPPathModifier:
	case gatewayv1.PrefixMatchHTTPPathModifier:
		text = p.ReplacePrefixMatch
	default:
		b.unsupported(at+".type", "is not known")
		return
	}
	if text == nil {
		b.unsupported(at, "has the type "+string(p.Type)+" and no value of it")
	} else if problem := door.PathProblem(*text); problem != "" {
		b.unsupported(at, problem)
	}
}
