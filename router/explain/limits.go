package explain

import (
	"cmp"
	"slices"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// limits lists the limits that count requests, each with where it comes from. Whether
// they refuse a request depends on those before it. The request is nil where none is asked about.
func (s *Snapshot) limits(c *model.Claim, asked *Request) []Policy {
	var out []Policy
	rates := slices.Concat(c.Backend.Policy().Rates, c.Backend.Policy().Identified, c.Backend.Policy().Shared, c.Backend.Policy().SharedIdentified)
	for i := range rates {
		r := &rates[i]
		doc := "Each router replica counts by itself."
		if r.Shared {
			doc = "All router replicas count together; the policy agent does that."
		}
		value := r.String() + isCounted(&r.Match, asked)
		if len(r.Exempt) > 0 {
			value += ", not for " + prefixes(r.Exempt)
		}
		source := s.limitSource(c.Owner, func(l *v1alpha1.Limits) bool {
			return slices.ContainsFunc(l.Requests, func(l v1alpha1.RequestLimit) bool { return l.Name == r.Name })
		})
		out = append(out, Policy{Name: "limit " + r.Name, Value: value, Source: source, Doc: doc})
	}
	concurrents := slices.Concat(c.Backend.Policy().Concurrents, c.Backend.Policy().IdentifiedConcurrents)
	for i := range concurrents {
		source := s.limitSource(c.Owner, func(l *v1alpha1.Limits) bool { return l.Concurrent != nil })
		l := &concurrents[i]
		out = append(out, Policy{Name: "limit", Value: l.String() + isCounted(&l.Match, asked), Source: source, Doc: "Each router replica counts by itself."})
	}
	return out
}

// isCounted says whether a limit that is for some requests is for this one.
func isCounted(m *model.RequestMatch, r *Request) string {
	if m.Any() || r == nil {
		return ""
	}
	path, plain := match.Normal(r.Path)
	switch {
	case !m.Has(cmp.Or(r.Method, "GET"), path, plain):
		return " (not for this request)"
	case !plain && len(m.Paths) > 0:
		return " (for this request, because programs read its path in different ways)"
	}
	return " (for this request)"
}

// limitSource names the first policy that has a limit, or the annotation.
func (s *Snapshot) limitSource(key model.Object, has func(*v1alpha1.Limits) bool) string {
	if e := s.pipeline.Effective(key); e != nil {
		for _, l := range e.Limits {
			if has(l.Limits) {
				return sourceText(policy.GroupLimits, l.From)
			}
		}
	}
	return "metadata.annotations[" + policy.AnnotationLimit + "]"
}
