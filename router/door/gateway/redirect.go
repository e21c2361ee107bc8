package gateway

import (
	"cmp"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// everything is longer than any path.
const everything = 1 << 20

// usualRedirect is the status where the filter names none.
const usualRedirect = 302

// checkRedirect refuses an address that cannot be written.
func (b *builder) checkRedirect(r *gatewayv1.HTTPRequestRedirectFilter, at string) {
	b.checkHost(r.Hostname, at+".hostname")
	b.checkPath(r.Path, at+".path")
	if r.Scheme != nil && *r.Scheme != "http" && *r.Scheme != "https" {
		b.unsupported(at+".scheme", "must be http or https")
	}
	if r.Port != nil && (*r.Port < 1 || *r.Port > 65535) {
		b.unsupported(at+".port", "must be from 1 to 65535")
	}
	if r.StatusCode != nil && !slices.Contains(match.RedirectStatuses, *r.StatusCode) {
		b.unsupported(at+".statusCode", "must be 301, 302, 303, 307 or 308")
	}
}

// redirects returns the address that a filter leads to, for requests of a match that come
// in by a listener. The path is replaced by two, because what is left of it may be nothing.
func redirects(f *gatewayv1.HTTPRequestRedirectFilter, l *listener, m *model.Match) []model.Redirect {
	r := model.Redirect{Status: usualRedirect, Scheme: "http", Port: int(l.spec.Port), Query: true}
	if l.spec.Protocol == gatewayv1.HTTPSProtocolType {
		r.Scheme = "https"
	}
	if f.StatusCode != nil {
		r.Status = *f.StatusCode
	}
	if f.Hostname != nil {
		r.Host = string(*f.Hostname)
	}
	if f.Scheme != nil {
		r.Scheme, r.Port = *f.Scheme, 0
	}
	if f.Port != nil {
		r.Port = int(*f.Port)
	}
	if r.Scheme == "http" && r.Port == 80 || r.Scheme == "https" && r.Port == 443 {
		r.Port = 0
	}
	if f.Path == nil {
		return []model.Redirect{r}
	}
	w := rewrite(f.Path, m)
	if f.Path.Type == gatewayv1.FullPathHTTPPathModifier {
		r.To, r.Whole = w.Empty, true
		return []model.Redirect{r}
	}
	r.Strip, r.To = w.Strip, w.To
	bare := r
	bare.Path, bare.Exact, bare.Strip, bare.To, bare.Whole = cmp.Or(m.Path, "/"), true, 0, w.Empty, true
	if m.Path == "" {
		return []model.Redirect{r} // of "/" nothing is cut
	}
	return []model.Redirect{bare, r}
}

// rewrite returns the replacement of a path. A slash at the end of a prefix, or of what
// replaces it, belongs to what follows.
func rewrite(p *gatewayv1.HTTPPathModifier, m *model.Match) *model.Rewrite {
	if p.Type == gatewayv1.FullPathHTTPPathModifier {
		return &model.Rewrite{Strip: everything, Empty: escaped(cmp.Or(deref(p.ReplaceFullPath), "/"))}
	}
	to := escaped(deref(p.ReplacePrefixMatch))
	return &model.Rewrite{Strip: len(strings.TrimRight(m.Path, "/")), To: strings.TrimRight(to, "/"), Empty: cmp.Or(to, "/")}
}

func deref[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// escaped writes a path so that it is one field of a record, and has no meaning of its own
// in a format of HAProxy.
func escaped(path string) string {
	return strings.NewReplacer("|", "%7C", `"`, "%22", "'", "%27", `\`, "%5C").Replace(path)
}
