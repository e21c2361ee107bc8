package pipeline_test

import (
	"maps"
	"slices"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

// policed is a crowd with policies.
type policed struct {
	crowd
	policies map[model.Object]*policy.Object
}

func (p policed) Policies(namespace string) *policy.Set {
	var all []*policy.Object
	for key, o := range p.policies {
		if key.Namespace == namespace {
			all = append(all, o)
		}
	}
	return policy.NewSet(all)
}

func (p policed) AllPolicies() (keys []model.Object) {
	for key := range p.policies {
		keys = append(keys, key)
	}
	return keys
}

// put writes a policy and returns the change.
func (p policed) put(name string, generation int64, spec v1alpha1.RoutePolicySpec) door.Changes {
	o := policy.ReadRoutePolicy(&v1alpha1.RoutePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Generation: generation}, Spec: spec,
	})
	p.policies[o.Key] = o
	return door.Changes{Objects: model.Objects{o.Key: {}}}
}

func newPoliced(t *testing.T, n int) (policed, *pipeline.Pipeline) {
	t.Helper()
	src := policed{newCrowd(n), map[model.Object]*policy.Object{}}
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default"}, &model.Certificate{})
	_, all := p.Update(door.Changes{All: true})
	p.Accept(all)
	return src, p
}

func named(name string) v1alpha1.RoutePolicySpec {
	return v1alpha1.RoutePolicySpec{TargetRefs: []v1alpha1.TargetRef{{Group: routev1.GroupName, Kind: "Route", Name: name}}}
}

func restricted(spec v1alpha1.RoutePolicySpec, allow ...v1alpha1.CIDR) v1alpha1.RoutePolicySpec {
	spec.Access = &v1alpha1.Access{Allow: allow}
	return spec
}

func routeKey(name string) model.Object {
	return model.Object{Kind: route.Kind, Namespace: "ns", Name: name}
}

// TestPolicyCost: a change of a policy costs the routes that it was for and is for.
func TestPolicyCost(t *testing.T) {
	t.Parallel()
	src, p := newPoliced(t, 900)
	for i, step := range []struct {
		spec  v1alpha1.RoutePolicySpec
		names []string // nil for all
	}{
		{restricted(named("r3"), "10.0.0.0/8"), []string{"r3"}},
		{restricted(named("r6"), "10.0.0.0/8"), []string{"r3", "r6"}},
		{restricted(v1alpha1.RoutePolicySpec{TargetSelector: &v1alpha1.TargetSelector{Kind: "Route", MatchLabels: map[string]string{"a": "b"}}}, "10.0.0.0/8"), []string{"r6"}},
		{restricted(v1alpha1.RoutePolicySpec{}, "10.0.0.0/8"), nil},
		{restricted(named("r6"), "10.0.0.0/8"), nil},
	} {
		ch := p.Resolve(src.put("p", int64(i+1), step.spec))
		if step.names == nil && len(ch.Objects) != len(src.crowd) {
			t.Errorf("step %d costs %d routes, want all", i, len(ch.Objects))
		}
		if step.names != nil && len(ch.Objects) != len(step.names) {
			t.Errorf("step %d costs %v, want %v", i, ch.Objects, step.names)
		}
		for _, name := range step.names {
			if _, ok := ch.Objects[routeKey(name)]; !ok {
				t.Errorf("step %d leaves out %s", i, name)
			}
		}
		p.Update(ch)
	}
}

// spoil makes the newest version of a route one that cannot be served.
func (p policed) spoil(name string, labels map[string]string) {
	r := p.crowd[routeKey(name)].DeepCopy()
	r.Labels, r.Spec.Path = labels, "no slash"
	p.crowd[routeKey(name)] = r
}

// TestPolicyHoldsForLastGood: a policy that becomes stricter holds for a version that
// is served in place of a newer one, and one that only the newer version has keeps
// that from being served.
func TestPolicyHoldsForLastGood(t *testing.T) {
	t.Parallel()
	src, p := newPoliced(t, 3)
	key := routeKey("r0")
	src.spoil("r0", map[string]string{"tier": "inner"})
	p.Update(door.Changes{Objects: model.Objects{key: {}}})
	if c, served := p.Claim(key); c == nil || !served || c.Closed {
		t.Fatalf("the last good version is not served: %+v", c)
	}
	p.Update(src.put("named", 1, restricted(named("r0"), "10.0.0.0/8")))
	if c, _ := p.Claim(key); c == nil || c.Closed || !c.Backend.Policy().Restricted {
		t.Errorf("a policy for both versions: %+v", c)
	}
	p.Update(src.put("inner", 1, restricted(v1alpha1.RoutePolicySpec{
		TargetSelector: &v1alpha1.TargetSelector{Kind: "Route", MatchLabels: map[string]string{"tier": "inner"}},
	}, "10.1.0.0/16")))
	if c, _ := p.Claim(key); c == nil || !c.Closed {
		t.Errorf("a policy that only the newest version has: %+v", c)
	}
	p.Update(src.put("inner", 2, restricted(v1alpha1.RoutePolicySpec{
		TargetSelector: &v1alpha1.TargetSelector{Kind: "Route", MatchLabels: map[string]string{"tier": "inner"}},
	}, "10.0.0.0/8")))
	if c, _ := p.Claim(key); c == nil || c.Closed {
		t.Errorf("one that admits as many: %+v", c)
	}
}

// TestPolicyHoldsForFormerClaims: claims of then, which HAProxy has taken, do not
// outlive a policy that has become stricter since.
func TestPolicyHoldsForFormerClaims(t *testing.T) {
	t.Parallel()
	src, p := newPoliced(t, 3)
	key := routeKey("r0")
	r := src.crowd[key].DeepCopy()
	r.Annotations = map[string]string{api.AnnotationBalance: "leastconn"}
	src.crowd[key] = r
	p.Update(door.Changes{Objects: model.Objects{key: {}}})
	for range 2 { // the newest version, then the former one with the pods of now
		if _, _, ok := p.Refuse(key, "no"); !ok {
			t.Fatal("there is nothing to refuse")
		}
	}
	p.Update(src.put("p", 1, restricted(named("r0"), "10.0.0.0/8")))
	for range 4 {
		c, _ := p.Claim(key)
		if c != nil && !c.Closed && !c.Backend.Policy().Restricted {
			t.Fatalf("served without the policy: %+v", c)
		}
		if _, _, ok := p.Refuse(key, "no"); !ok {
			break
		}
	}
}

// TestPolicyReports: what is said of a policy, from its first change on.
func TestPolicyReports(t *testing.T) {
	t.Parallel()
	src, p := newPoliced(t, 6)
	none := func() model.Objects { return nil }
	say := func(waiting func() model.Objects) map[string]string {
		said := map[string]string{}
		for _, r := range p.PolicyReports(waiting) {
			for _, c := range r.Conditions {
				said[c.Type] = string(c.Status) + " " + c.Reason
			}
		}
		return said
	}
	want := func(what string, said map[string]string, conditions ...string) {
		t.Helper()
		for i, kind := range []string{"Accepted", "Programmed", "Overridden", "Protecting"} {
			if said[kind] != conditions[i] {
				t.Errorf("%s: %s is %q, want %q", what, kind, said[kind], conditions[i])
			}
		}
	}
	ch := src.put("p", 1, restricted(named("r0"), "10.0.0.0/8"))
	resolved := p.Resolve(ch)
	want("waiting", say(func() model.Objects { return resolved.Objects }), "True Accepted", "False Pending", "False NotOverridden", "False Pending")
	p.Update(resolved)
	want("applied", say(none), "True Accepted", "True Programmed", "False NotOverridden", "True Protecting")
	if said := say(none); len(said) > 0 {
		t.Errorf("without a change: %v", said)
	}
	p.Update(src.put("p", 2, restricted(named("gone"), "10.0.0.0/8")))
	want("no target", say(none), "False TargetNotFound", "True Programmed", "False NotOverridden", "False TargetNotFound")
	bad := named("r0")
	bad.Access = &v1alpha1.Access{Deny: []v1alpha1.CIDR{"x"}}
	p.Update(src.put("p", 3, bad))
	want("wrong", say(none), "False Invalid", "True Programmed", "False NotOverridden", "False ClosedPaths")
	if c, _ := p.Claim(routeKey("r0")); c == nil || !c.Closed {
		t.Errorf("the paths of a policy that cannot be read: %+v", c)
	}
	st := p.Status(routeKey("r0"))
	if !st.Admitted || !slices.ContainsFunc(st.Findings, func(f api.Finding) bool { return f.Reason == api.ReasonPolicyClosed }) {
		t.Errorf("status %+v", st)
	}
}

// TestPolicyCounts: metrics say what became of the groups of policies, as they come, lose
// and go.
func TestPolicyCounts(t *testing.T) {
	t.Parallel()
	src, p := newPoliced(t, 3)
	logged := func(spec v1alpha1.RoutePolicySpec) v1alpha1.RoutePolicySpec {
		spec.Log = &v1alpha1.RequestLog{}
		return spec
	}
	expect := func(when string, want map[pipeline.PolicyCount]int) {
		t.Helper()
		p.PolicyReports(func() model.Objects { return nil })
		if got, changed := p.PolicyCounts(); !changed || !maps.Equal(got, want) {
			t.Errorf("%s: changed %t, %v, want %v", when, changed, got, want)
		}
		if _, again := p.PolicyCounts(); again {
			t.Errorf("%s: counted again", when)
		}
	}
	one := func(g policy.Group, s policy.State) pipeline.PolicyCount {
		return pipeline.PolicyCount{Group: g, State: s}
	}
	p.Update(src.put("wide", 1, logged(restricted(v1alpha1.RoutePolicySpec{}, "10.0.0.0/8"))))
	expect("at first", map[pipeline.PolicyCount]int{one(policy.GroupAccess, policy.StateEnforced): 1, one(policy.GroupLog, policy.StateEnforced): 1})
	p.Update(src.put("narrow", 1, logged(restricted(named("r0"), "nonsense"))))
	expect("with one that closes", map[pipeline.PolicyCount]int{
		one(policy.GroupAccess, policy.StateClosed): 2, one(policy.GroupLog, policy.StateOverridden): 1, one(policy.GroupLog, policy.StateEnforced): 1,
	})
	for key := range src.policies {
		delete(src.policies, key)
		p.Update(door.Changes{Objects: model.Objects{key: {}}})
	}
	expect("without any", map[pipeline.PolicyCount]int{})
}
