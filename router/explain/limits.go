package explain

import (
	"slices"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// limits lists the limits that count requests, each with where it comes from. Whether
// they refuse a request depends on those before it.
func (s *Snapshot) limits(c *model.Claim) []Policy {
	var out []Policy
	rates := slices.Concat(c.Backend.Policy().Rates, c.Backend.Policy().Identified, c.Backend.Policy().Shared, c.Backend.Policy().SharedIdentified)
	for i := range rates {
		r := &rates[i]
		doc := "Each router replica counts by itself."
		if r.Shared {
			doc = "All router replicas count together; the policy agent does that."
		}
		value := r.String()
		if len(r.Exempt) > 0 {
			value += ", not for " + prefixes(r.Exempt)
		}
		source := s.limitSource(c.Owner, func(l *v1alpha1.Limits) bool {
			return slices.ContainsFunc(l.Requests, func(l v1alpha1.RequestLimit) bool { return l.Name == r.Name })
		})
		out = append(out, Policy{Name: "limit " + r.Name, Value: value, Source: source, Doc: doc})
	}
	for i := range c.Backend.Policy().Concurrents {
		source := s.limitSource(c.Owner, func(l *v1alpha1.Limits) bool { return l.Concurrent != nil })
		out = append(out, Policy{Name: "limit", Value: c.Backend.Policy().Concurrents[i].String(), Source: source, Doc: "Each router replica counts by itself."})
	}
	return out
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
