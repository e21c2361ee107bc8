package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// addGuard takes the guard of a policy. One that may be for other namespaces than that of
// the object bounds, and allows nothing.
func (s *Selection) addGuard(o *Object, p *Place) {
	if o.guard == nil {
		return
	}
	if _, certain := o.cluster.selects(p.Namespace); certain {
		s.guards = append(s.guards, o.guard)
		return
	}
	s.guards = append(s.guards, &v1alpha1.Guard{
		MaxRequestsPerLimit: o.guard.MaxRequestsPerLimit, BodyBytesMax: o.guard.BodyBytesMax, AllowRegex: o.guard.AllowRegex, RegexPerNamespace: o.guard.RegexPerNamespace,
		SharedLimitsPerNamespace: o.guard.SharedLimitsPerNamespace,
	})
}

// MayAsk reports whether tenants may have the router ask a host, by its name in lower
// case and without a port. Each guard adds hosts; without any there are none.
func (s *Selection) MayAsk(host string) bool {
	for _, g := range s.guards {
		for _, pattern := range g.ExternalURLs {
			domain, below := strings.CutPrefix(pattern, "*.")
			if pattern == host || below && strings.HasSuffix(host, "."+domain) {
				return true
			}
		}
	}
	return false
}

// bound closes where a tenant's policy asks for more than the guards allow, and leaves
// faults out that none allows.
func (s *Selection) bound(e *Effective) {
	s.boundFault(e)
	s.boundFirewalls(e)
	if len(s.guards) == 0 {
		return
	}
	s.boundRegex(e)
	for _, l := range e.Limits {
		if l.From.Key.Kind == KindClusterRoutePolicy {
			continue
		}
		for _, x := range s.excess(l.Limits) {
			e.close(l.From, GroupLimits, x.field, api.ReasonNotAllowed, x.message)
		}
	}
}

// BoundAnnotations does the same for the limits that annotations of an object set, which
// hold beside all policies.
func (s *Selection) BoundAnnotations(e *Effective, object model.Object, limits *v1alpha1.Limits) {
	if limits == nil {
		return
	}
	for _, x := range s.excess(limits) {
		key := AnnotationLimit
		if strings.HasPrefix(x.field, ".body") {
			key = AnnotationMaxBody
		}
		e.Closings = append(e.Closings, Closing{Key: object, Field: "metadata.annotations[" + key + "]", Reason: api.ReasonNotAllowed, Message: x.message})
	}
}

// PatternsPerNamespace returns how many objects of a namespace may have expressions, or 0 for
// as many as the router lets each have.
func (s *Selection) PatternsPerNamespace() int {
	most := int32(0)
	for _, g := range s.guards {
		most = smaller(most, g.RegexPerNamespace)
	}
	return int(most)
}

// SharedLimitsPerNamespace returns how many limits of a namespace all replicas may count
// together, or 0 for as many as the router lets each have.
func (s *Selection) SharedLimitsPerNamespace() int {
	most := int32(0)
	for _, g := range s.guards {
		most = smaller(most, g.SharedLimitsPerNamespace)
	}
	return int(most)
}

// noRegex is what a tenant sees whose expressions no guard allows.
const noRegex = "guard.allowRegex of a ClusterRoutePolicy for the object is false"

func (s *Selection) refusesRegex() bool {
	return slices.ContainsFunc(s.guards, func(g *v1alpha1.Guard) bool { return g.AllowRegex != nil && !*g.AllowRegex })
}

// boundRegex closes where a tenant replaces or redirects paths by expressions, and a guard
// does not allow it.
func (s *Selection) boundRegex(e *Effective) {
	if !s.refusesRegex() {
		return
	}
	refuse := func(g Group, field string) {
		from := e.Origin(g)
		switch {
		case from == nil || from.Key.Kind == KindClusterRoutePolicy:
			return
		case !IsKind(from.Key.Kind):
			field = ""
		}
		e.close(from, g, field, api.ReasonNotAllowed, noRegex)
	}
	if r := e.Spec.Rewrite; r != nil && r.Regex != nil {
		refuse(GroupRewrite, ".regex")
	}
	if i := SubjectExpression(e.Spec.Authentication); i >= 0 {
		refuse(GroupAuthentication, fmt.Sprintf(".clientCertificate.subjects[%d]", i))
	}
	if e.Spec.Redirects == nil {
		return
	}
	for i, r := range e.Spec.Redirects.Rules {
		if r.Match != nil && r.Match.Type == matchRegex {
			refuse(GroupRedirects, fmt.Sprintf(".rules[%d]", i))
			return
		}
	}
}

// BoundPath closes an object of which a field has paths chosen by an expression, where a guard
// does not allow it.
func (s *Selection) BoundPath(e *Effective, object model.Object, field string) {
	if s.refusesRegex() {
		e.Closings = append(e.Closings, Closing{Key: object, Field: field, Reason: api.ReasonNotAllowed, Message: noRegex})
	}
}

// excess returns what of limits is more than the guards allow, in order.
func (s *Selection) excess(l *v1alpha1.Limits) (found []excess) {
	most, bytes := s.most()
	for i := range l.Requests {
		if r := &l.Requests[i]; most > 0 && max(r.Requests, r.Burst) > most {
			found = append(found, excess{fmt.Sprintf(".requests[%d]", i), fmt.Sprintf("requests and burst may be at most %d by guard.maxRequestsPerLimit of a ClusterRoutePolicy", most)})
		}
	}
	if l.Body == nil || bytes == 0 {
		return found
	}
	if n, err := bodyLimit(&l.Body.Max); err != nil || n == 0 || n > bytes {
		found = append(found, excess{".body.max", fmt.Sprintf("must be from 1 to %d by guard.bodyBytesMax of a ClusterRoutePolicy", bytes)})
	}
	return found
}

// excess is a field below limits, and what is wrong with it.
type excess struct{ field, message string }

// most returns the smallest bounds of the guards; 0 for none.
func (s *Selection) most() (requests int32, bytes int64) {
	for _, g := range s.guards {
		requests = smaller(requests, g.MaxRequestsPerLimit)
		if g.BodyBytesMax == nil {
			continue
		}
		n, err := bodyLimit(g.BodyBytesMax)
		if err != nil || n == 0 {
			n = 1 // what cannot be read allows nothing
		}
		bytes = smaller(bytes, n)
	}
	return requests, bytes
}
