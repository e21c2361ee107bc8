package policy

import (
	"slices"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

func authenticating(rank Rank, satisfy string, allow ...v1alpha1.CIDR) *Source {
	s := &Source{Rank: rank, Key: model.Object{Kind: KindRoutePolicy, Namespace: "demo", Name: rank.String()}, Spec: &v1alpha1.PolicySpec{
		Authentication: &v1alpha1.Authentication{Satisfy: satisfy, Basic: &v1alpha1.BasicAuthentication{Secret: "users"}},
	}}
	if len(allow) > 0 {
		s.Access = ReadAccess(&v1alpha1.Access{Allow: allow})
	}
	return s
}

// TestEither: with Any the list of the source that wins authentication is an alternative;
// that of any other source, and of one that does not win, holds beside it.
func TestEither(t *testing.T) {
	t.Parallel()
	listing := func(rank Rank, allow v1alpha1.CIDR) *Source {
		return &Source{Rank: rank, Spec: &v1alpha1.PolicySpec{}, Access: ReadAccess(&v1alpha1.Access{Allow: []v1alpha1.CIDR{allow}})}
	}
	for name, tt := range map[string]struct {
		sources       []*Source
		listed, allow []string
	}{
		"all":                {[]*Source{authenticating(RankObject, "All", "10.0.0.0/8")}, nil, []string{"10.0.0.0/8"}},
		"nothing said":       {[]*Source{authenticating(RankObject, "", "10.0.0.0/8")}, nil, []string{"10.0.0.0/8"}},
		"any":                {[]*Source{authenticating(RankObject, "Any", "10.0.0.0/8")}, []string{"10.0.0.0/8"}, nil},
		"a list besides":     {[]*Source{authenticating(RankObject, "Any", "10.0.0.0/8"), listing(RankDefault, "10.1.0.0/16")}, []string{"10.0.0.0/8"}, []string{"10.1.0.0/16"}},
		"a list above":       {[]*Source{authenticating(RankObject, "Any", "10.0.0.0/8"), listing(RankOverride, "10.1.0.0/16")}, []string{"10.0.0.0/8"}, []string{"10.1.0.0/16"}},
		"a method above":     {[]*Source{authenticating(RankObject, "Any", "10.0.0.0/8"), authenticating(RankOverride, "All")}, nil, []string{"10.0.0.0/8"}},
		"replaced by an Any": {[]*Source{authenticating(RankNamespace, "All", "10.0.0.0/8"), authenticating(RankObject, "Any", "192.0.2.0/24")}, []string{"192.0.2.0/24"}, []string{"10.0.0.0/8"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Spec
			s.Apply(Merge(tt.sources))
			if !slices.Equal(s.Listed, prefixesOf(t, tt.listed...)) || s.Restricted != (tt.allow != nil) || !slices.Equal(s.Allow, prefixesOf(t, tt.allow...)) {
				t.Errorf("listed %v, restricted %v to %v", s.Listed, s.Restricted, s.Allow)
			}
		})
	}
}

// TestEitherAnnotations: both lists of an object are its alternative, and an Override of
// administrators makes them lists that hold again.
func TestEitherAnnotations(t *testing.T) {
	t.Parallel()
	annotations := map[string]string{
		AnnotationBasicSecret: "users", AnnotationSatisfy: SatisfyAny, AnnotationAllow: "10.1.0.0/16 192.0.2.1", api.AnnotationAllowlist: "10.0.0.0/8", AnnotationDeny: "10.1.2.3",
	}
	read := func() *Spec {
		s, problems := Read(annotations, Spec{}, model.Plain, false)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return &s
	}
	compiled := func(s *Spec) (p model.Policy) {
		s.Compile(&p)
		return p
	}
	s := read()
	s.Alone()
	if p := compiled(s); !slices.Equal(s.Listed, prefixesOf(t, "10.1.0.0/16")) || p.Restricted || len(p.Deny) != 1 {
		t.Errorf("alone: listed %v, policy %+v", s.Listed, p)
	}
	object := model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}
	s = read()
	s.Apply(Merge([]*Source{FromAnnotations(object, annotations, s)}))
	if p := compiled(s); !slices.Equal(s.Listed, prefixesOf(t, "10.1.0.0/16")) || p.Restricted || len(p.Deny) != 1 {
		t.Errorf("with policies: listed %v, policy %+v", s.Listed, p)
	}
	s = read()
	s.Apply(Merge([]*Source{FromAnnotations(object, annotations, s), authenticating(RankOverride, "All")}))
	if p := compiled(s); len(s.Listed) > 0 || !p.Restricted || !slices.Equal(p.Allow, prefixesOf(t, "10.1.0.0/16")) {
		t.Errorf("overridden: listed %v, policy %+v", s.Listed, p)
	}
}
