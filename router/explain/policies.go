package explain

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// policies lists what is in force for a route: how servers share requests, and
// each annotation that the router reads and the route has.
func (w *World) policies(c *model.Claim) []Policy {
	route := w.source.routes[c.Key]
	termination := string(c.Termination)
	if termination == "" {
		termination = "plain"
	}
	invalid := map[string]bool{}
	for _, f := range w.pipeline.Status(c.Key).Findings {
		if f.Reason == api.ReasonInvalidAnnotation {
			invalid[strings.TrimSuffix(strings.TrimPrefix(f.Field, "metadata.annotations["), "]")] = true
		}
	}
	var out []Policy
	if route.Annotations[api.AnnotationBalance] == "" || invalid[api.AnnotationBalance] {
		out = append(out, Policy{Name: "balance", Value: string(c.Backend.Profile.Balance), Source: "default", Doc: "How servers share the requests."})
	}
	if name := c.Backend.Policy.CookieName; name != "" && c.Backend.Profile.Cookie {
		out = append(out, Policy{Name: "sticky cookie", Value: name, Source: "default", Doc: "A client's requests stay with one endpoint."})
		if v := route.Annotations[api.AnnotationCookieName]; v == name {
			out[len(out)-1].Source = "metadata.annotations[" + api.AnnotationCookieName + "]"
		}
	}
	for _, a := range api.RouteAnnotations() {
		v, set := route.Annotations[a.Key]
		if !set || !slices.Contains(a.Terminations, termination) || a.Key == api.AnnotationCookieName {
			continue
		}
		p := Policy{Name: shortName(a.Key), Value: v, Source: "metadata.annotations[" + a.Key + "]", Doc: a.Doc}
		if invalid[a.Key] {
			p.Value, p.Source = a.Default, "default, because the annotation is invalid"
		}
		out = append(out, p)
	}
	return out
}

// shortName is an annotation's key without its domain.
func shortName(key string) string {
	_, name, ok := strings.Cut(key, "/")
	if !ok {
		return key
	}
	return strings.ReplaceAll(name, "_", "-")
}

// Annotations that admit only some clients. The old name counts if the new one
// is not there.
const (
	annotationAllowList    = "haproxy.router.openshift.io/ip_allowlist"
	annotationAllowListOld = "haproxy.router.openshift.io/ip_whitelist"
)

// denied says why the route's allow-list refuses the client, or returns "".
func (w *World) denied(c *model.Claim, r *Request) string {
	if !r.ClientIP.IsValid() {
		return ""
	}
	annotations := w.source.routes[c.Key].Annotations
	list, ok := annotations[annotationAllowList]
	if !ok {
		list, ok = annotations[annotationAllowListOld]
	}
	if !ok || !w.enforced() {
		return ""
	}
	for word := range strings.FieldsSeq(list) {
		if p, err := netip.ParsePrefix(word); err == nil && p.Contains(r.ClientIP) {
			return ""
		}
		if a, err := netip.ParseAddr(word); err == nil && a.Unmap() == r.ClientIP {
			return ""
		}
	}
	return "the connection is closed: the route's allow-list does not have " + r.ClientIP.String()
}

// enforced reports whether this version of the router reads allow-lists.
func (w *World) enforced() bool {
	return slices.ContainsFunc(api.RouteAnnotations(), func(a api.Annotation) bool { return a.Key == annotationAllowList })
}
