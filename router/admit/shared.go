package admit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// At the address of the router Routes meet claims of Gateways' listeners. Both take part in what
// Decide decides by age: which namespace has a host, and where its TLS ends. Whose a path is,
// Routes decide first among themselves, then it is theirs unless a claim takes over: so it does
// not matter which object was there first.

// share decides between the winners of a host that are Routes and those that are not, for the
// same paths at the same ports.
func (h *Host) share() {
	if !slices.ContainsFunc(h.Winners, func(c *model.Claim) bool { return c.IsShared() }) {
		return
	}
	winners, routes := slices.Clone(h.Winners), map[string][]int{}
	for i, c := range winners {
		if !c.IsShared() {
			routes[rule(c).NormalKey()] = append(routes[rule(c).NormalKey()], i)
		}
	}
	for _, taking := range []bool{true, false} {
		for n, c := range winners {
			if c == nil || !c.IsShared() || c.Shared.TakesOver != taking {
				continue
			}
			for _, i := range routes[rule(c).NormalKey()] {
				switch r := winners[i]; {
				case r == nil || winners[n] == nil || !meet(r, c):
				case taking || r.Alias:
					winners[i] = h.replace(r, c)
				default:
					h.refuse(c, lost(c, r))
					winners[n] = nil
				}
			}
		}
	}
	h.Winners = slices.DeleteFunc(winners, func(c *model.Claim) bool { return c == nil })
}

// replace returns what is left of a Route's claim beside one that takes its place.
func (h *Host) replace(route, by *model.Claim) *model.Claim {
	rest := route.Without(by.Ports())
	if rest == nil || route.Alias {
		delete(h.Replaced, route.ID())
		h.refuse(route, lost(route, by))
		return nil
	}
	if h.Replaced == nil {
		h.Replaced = map[model.ClaimID]api.Finding{}
	}
	h.Replaced[route.ID()] = replacedBy(route, by)
	return rest
}

// meet reports whether a claim of a listener stands in the way of a Route's with the same normal
// key: if it would take requests of the Route or, where it takes over, all of them. One with
// conditions more that takes over gets only the requests that meet them.
func meet(route, c *model.Claim) bool {
	switch {
	case route.Owner.Namespace != c.Owner.Namespace || route.Ports()&c.Ports() == 0:
		return false
	case !rule(route).SameKey(rule(c)):
		return true
	case route.Exact != c.Exact:
		return false
	case c.Shared.TakesOver:
		return samePaths(route, c) && route.Conditions.Equal(c.Conditions)
	}
	// Expressions are asked before paths that begin as theirs do.
	return route.Expression() == nil || c.Expression() != nil
}

// samePaths reports whether the same expression, or none, says which paths two claims are for.
func samePaths(a, b *model.Claim) bool {
	x, y := a.Expression(), b.Expression()
	return x == y || x != nil && y != nil && *x == *y
}

// split reports whether TLS of two claims for one host would end in two places, which no path
// tells apart.
func split(a, b *model.Claim) bool {
	return secure(a) && secure(b) && (a.Termination == model.Passthrough) != (b.Termination == model.Passthrough)
}

// secure reports whether a claim is at the port for TLS.
func secure(c *model.Claim) bool { return c.Ports()&model.HTTPSPort != 0 }

// replacedBy is the finding of a claim of which something else is served in part.
func replacedBy(c, by *model.Claim) api.Finding {
	port := "port 80"
	if by.Ports() == model.HTTPSPort {
		port = "port 443"
	}
	return api.Finding{
		Field: "spec.host", Reason: api.ReasonReplacedByHTTPRoute, Severity: api.SeverityInfo,
		Message: fmt.Sprintf("%s %s serves %s at %s, because it has the annotation %s", by.Owner.Kind, by.Owner.Name, shownPath(c), port, gateway.AnnotationTakesOver),
		Effect:  "requests for " + port + " go there",
	}
}

// lostShared is the finding of a claim that loses to one of another kind, or that is one of a
// Gateway's listener.
func lostShared(c, winner *model.Claim) api.Finding {
	f := claimed(c)
	switch {
	case c.Owner.Namespace != winner.Owner.Namespace:
		f.Reason, f.Message = api.ReasonNotAllowedByListeners, fmt.Sprintf("host %s belongs to another namespace at this address", c.NamedHost)
	case split(c, winner):
		f.Message = fmt.Sprintf("%s %s has %s, is older, and TLS of a host ends in one place", noun(winner), winner.Owner.Name, c.NamedHost)
	case !c.IsShared():
		f.Message = fmt.Sprintf("%s %s serves %s, because it has the annotation %s", winner.Owner.Kind, winner.Owner.Name, shownPath(c), gateway.AnnotationTakesOver)
	default:
		f.Reason, f.Severity = api.ReasonRouteGoesFirst, api.SeverityWarning
		f.Message = fmt.Sprintf("%s %s serves %s and goes first; with the annotation %s: \"true\" the %s takes its place", noun(winner), winner.Owner.Name, shownPath(winner), gateway.AnnotationTakesOver, c.Owner.Kind)
		f.Effect = "nothing is sent there by this rule"
	}
	return f
}

func shownPath(c *model.Claim) string {
	return c.NamedHost + "/" + strings.TrimPrefix(c.Path, "/")
}
