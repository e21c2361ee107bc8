package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policies lists what is in force for a route: how servers share requests, and
// each annotation that the router reads and the route has.
func (s *Snapshot) policies(c *model.Claim) []Policy {
	route := s.source.routes[c.Owner]
	termination := string(c.Termination)
	if termination == "" {
		termination = "plain"
	}
	invalid := map[string]bool{}
	for _, f := range s.pipeline.Status(c.Owner).Findings {
		if f.Reason == api.ReasonInvalidAnnotation || f.Reason == api.ReasonPolicyClosed {
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
	for _, a := range policy.Annotations() {
		v, set := route.Annotations[a.Key]
		if !set || !slices.Contains(a.Terminations, termination) || a.Key == api.AnnotationCookieName {
			continue
		}
		p := Policy{Name: shortName(a.Key), Value: v, Source: "metadata.annotations[" + a.Key + "]", Doc: a.Doc}
		switch isList := a.Key == api.AnnotationAllowlist || a.Key == api.AnnotationWhitelist; {
		case isList && s.pipeline.Effective(c.Owner) != nil:
			p.Value = strings.Join(strings.Fields(v), " ") // others may have a say, see below
		case isList && c.Backend.Policy.Restricted:
			p.Value = prefixes(c.Backend.Policy.Allow) // those that can be read
		case isList && strings.TrimSpace(v) == "":
			continue // all clients
		case invalid[a.Key]:
			p.Value, p.Source = a.Default, "default, because the annotation is invalid"
		}
		out = append(out, p)
	}
	out = append(out, headerPolicies(&c.Backend.Policy)...)
	return append(out, s.groups(c.Owner)...)
}

// prefixes lists the addresses and networks of an allow-list.
func prefixes(list []netip.Prefix) string {
	var words []string
	for _, p := range list {
		if p.IsSingleIP() {
			words = append(words, p.Addr().String())
		} else {
			words = append(words, p.String())
		}
	}
	return strings.Join(words, " ")
}

// shortName is an annotation's key without its domain.
func shortName(key string) string {
	_, name, ok := strings.Cut(key, "/")
	if !ok {
		return key
	}
	return strings.ReplaceAll(name, "_", "-")
}

// denied says what a client gets that the route's allow-list does not have.
func denied(c *model.Claim, r *Request) (Result, bool) {
	p := &c.Backend.Policy
	if !p.Restricted || !r.ClientIP.IsValid() {
		return Result{}, false
	}
	for _, prefix := range p.Allow {
		if prefix.Contains(r.ClientIP) {
			return Result{}, false
		}
	}
	why := "the route's allow-list does not have " + r.ClientIP.String()
	if c.Termination == model.Passthrough {
		return Result{Text: "the connection is closed: " + why}, true
	}
	return Result{Status: 403, Text: "403 of the router: " + why}, true
}

// rewritten returns the path that the pod sees.
func rewritten(p *model.Policy, path string) string {
	if p.Rewrite == nil {
		return path
	}
	rest := path[min(p.Rewrite.Strip, len(path)):]
	if rest == "" {
		return p.Rewrite.Empty
	}
	return p.Rewrite.To + rest
}

// headerPolicies lists the header actions of spec.httpHeaders.
func headerPolicies(p *model.Policy) []Policy {
	var out []Policy
	for _, list := range []struct {
		name    string
		actions []model.HeaderAction
	}{{"request", p.RequestHeaders}, {"response", p.ResponseHeaders}} {
		for i, a := range list.actions {
			value := "set " + a.Name + ": " + a.Value
			if a.Delete {
				value = "delete " + a.Name
			}
			out = append(out, Policy{
				Name: list.name + " header", Value: value,
				Source: fmt.Sprintf("spec.httpHeaders.actions.%s[%d]", list.name, i),
			})
		}
	}
	return out
}
