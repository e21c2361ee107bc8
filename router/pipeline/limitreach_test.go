package pipeline_test

import (
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// TestPolicyOutOfReach: a path of a limit that no Route of the namespace has is a finding of the
// policy, which goes when a Route gets the path, and comes back with the Route's former path.
func TestPolicyOutOfReach(t *testing.T) {
	t.Parallel()
	src, p := newPoliced(t, 2)
	move := func(name, path string) {
		key := routeKey(name)
		r := src.crowd[key].DeepCopy()
		r.Spec.Path = path
		src.crowd[key] = r
		p.Update(door.Changes{Objects: model.Objects{key: {}}})
	}
	found := func(waiting model.Objects) (fields []string) {
		for _, r := range p.PolicyReports(func() model.Objects { return waiting }) {
			for _, f := range r.Findings {
				if f.Reason == api.ReasonPolicyNotApplicable {
					fields = append(fields, f.Field)
				}
			}
		}
		return fields
	}
	move("r0", "/shop")
	move("r1", "/cart")
	limit := v1alpha1.RequestLimit{Name: "pay", Requests: 1, Match: &v1alpha1.LimitMatch{Paths: []v1alpha1.LimitPath{{Value: "/cart/x"}, {Value: "/pay"}}}}
	ch := p.Resolve(src.put("p", 1, v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Limits: &v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{limit}}}}))
	if got := found(ch.Objects); len(got) > 0 {
		t.Errorf("before the Routes are taken in: %v", got)
	}
	p.Update(ch)
	const field = "spec.limits.requests[0].match.paths[1]"
	if got := found(nil); len(got) != 1 || got[0] != field {
		t.Errorf("no Route has the path: %v", got)
	}
	move("r1", "/pay")
	if got := found(nil); len(got) != 1 || got[0] != "spec.limits.requests[0].match.paths[0]" {
		t.Errorf("a Route has it, and the other path is gone: %v", got)
	}
	move("r1", "")
	if got := found(nil); len(got) > 0 {
		t.Errorf("a Route has all paths: %v", got)
	}
	move("r1", "/cart")
	if got := found(nil); len(got) != 1 || got[0] != field {
		t.Errorf("the Route's former path: %v", got)
	}
}
