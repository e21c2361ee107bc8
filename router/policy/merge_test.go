package policy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

func prefixesOf(t testing.TB, texts ...string) []netip.Prefix {
	t.Helper()
	var out []netip.Prefix
	for _, text := range texts {
		p, ok := ParsePrefix(text)
		if !ok {
			t.Fatalf("%q is no prefix", text)
		}
		out = append(out, p)
	}
	return out
}

func TestSetsOfAddresses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b, union, both []string
	}{
		"nested":       {[]string{"10.0.0.0/8"}, []string{"10.1.0.0/16", "10.1.2.3"}, []string{"10.0.0.0/8"}, []string{"10.1.0.0/16"}},
		"apart":        {[]string{"10.0.0.0/8"}, []string{"11.0.0.0/8"}, []string{"10.0.0.0/8", "11.0.0.0/8"}, nil},
		"families":     {[]string{"0.0.0.0/0"}, []string{"::/0"}, []string{"0.0.0.0/0", "::/0"}, nil},
		"twice":        {[]string{"10.0.0.1", "10.0.0.1"}, []string{"10.0.0.1"}, []string{"10.0.0.1"}, []string{"10.0.0.1"}},
		"wide and few": {[]string{"0.0.0.0/0", "2001:db8::/32"}, []string{"192.0.2.1", "198.51.100.0/24", "2001:db8::1"}, []string{"0.0.0.0/0", "2001:db8::/32"}, []string{"192.0.2.1", "198.51.100.0/24", "2001:db8::1"}},
		"crossed":      {[]string{"10.0.0.0/8", "192.0.2.1"}, []string{"10.1.0.0/16", "192.0.2.0/24"}, []string{"10.0.0.0/8", "192.0.2.0/24"}, []string{"10.1.0.0/16", "192.0.2.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := prefixesOf(t, test.a...), prefixesOf(t, test.b...)
			for _, pair := range [][2][]netip.Prefix{{a, b}, {b, a}} {
				if got := union(pair[0], pair[1]); !slices.Equal(got, prefixesOf(t, test.union...)) {
					t.Errorf("union %v", got)
				}
				if got := intersection(pair[0], pair[1]); !slices.Equal(got, prefixesOf(t, test.both...)) {
					t.Errorf("intersection %v", got)
				}
			}
			if both := intersection(a, b); !Within(both, a) || !Within(both, b) || !Within(a, union(a, b)) {
				t.Error("a list is not within what it must be in")
			}
		})
	}
}

// randomList has prefixes that often hold each other.
func randomList(r *rand.Rand, most int) []netip.Prefix {
	var out []netip.Prefix
	for range r.IntN(most + 1) {
		addr := netip.AddrFrom4([4]byte{10, byte(r.IntN(2)), byte(r.IntN(3)), byte(r.IntN(256))})
		out = append(out, netip.PrefixFrom(addr, 8+r.IntN(25)))
	}
	return out
}

func has(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// TestSetsAgreeWithLists: each address is in the sets as it is in the lists.
func TestSetsAgreeWithLists(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := randomList(r, 6), randomList(r, 6)
		u, both, within := union(a, b), intersection(a, b), Within(a, b)
		for range 50 {
			addr := netip.AddrFrom4([4]byte{byte(9 + r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(4)), byte(r.IntN(256))})
			if has(u, addr) != (has(a, addr) || has(b, addr)) || has(both, addr) != (has(a, addr) && has(b, addr)) {
				t.Fatalf("%v of %v and %v: union %v, intersection %v", addr, a, b, u, both)
			}
			if within && has(a, addr) && !has(b, addr) {
				t.Fatalf("%v is within %v, but not %v", a, b, addr)
			}
		}
	}
}

func BenchmarkIntersection(b *testing.B) {
	list := func(third byte) []netip.Prefix {
		var out []netip.Prefix
		for i := range 2000 {
			out = append(out, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), third}), 32))
		}
		return out
	}
	x, y := normal(list(1)), normal(list(1))
	for b.Loop() {
		if len(intersection(x, y)) != 2000 {
			b.Fatal("wrong")
		}
	}
}

// routePolicy returns a policy of a namespace, read.
func routePolicy(name string, age int, spec v1alpha1.RoutePolicySpec) *Object {
	return ReadRoutePolicy(&v1alpha1.RoutePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(int64(age), 0)), Generation: 1},
		Spec:       spec,
	})
}

func allow(texts ...v1alpha1.CIDR) *v1alpha1.Access { return &v1alpha1.Access{Allow: texts} }

// TestRanksDecide: of groups that do not combine the highest rank wins whole, of equal
// ranks the oldest.
func TestRanksDecide(t *testing.T) {
	t.Parallel()
	of := func(response v1alpha1.Timeout) v1alpha1.RoutePolicySpec {
		return v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Timeouts: &v1alpha1.Timeouts{Response: response}}}
	}
	young, old := routePolicy("young", 2, of("1s")), routePolicy("old", 1, of("2s"))
	e := Merge([]*Source{young.source(RankObject), old.source(RankObject), old.source(RankNamespace)})
	if e.Spec.Timeouts.Response != "2s" || len(e.Losses) != 2 || !e.Losses[0].Conflict || e.Losses[0].Source.Key != young.Key || e.Losses[1].Conflict {
		t.Errorf("of equal rank: %+v, losses %+v", e.Spec.Timeouts, e.Losses)
	}
	if e := Merge([]*Source{young.source(RankOverride), old.source(RankAnnotations)}); e.Spec.Timeouts.Response != "1s" || len(e.Losses) != 1 || e.Losses[0].Conflict {
		t.Errorf("of different ranks: %+v, losses %+v", e.Spec.Timeouts, e.Losses)
	}
}

// TestAuthenticationIsReplacedNeverDropped: the highest rank holds whole; two sources that
// speak of the same object close, whichever is older.
func TestAuthenticationIsReplacedNeverDropped(t *testing.T) {
	t.Parallel()
	of := func(secret string) v1alpha1.RoutePolicySpec {
		basic := &v1alpha1.BasicAuthentication{Secret: v1alpha1.ObjectReference(secret)}
		return v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Authentication: &v1alpha1.Authentication{Basic: basic}}}
	}
	a, b := routePolicy("a", 1, of("a")), routePolicy("b", 2, of("b"))
	none := routePolicy("none", 3, v1alpha1.RoutePolicySpec{})
	for name, tt := range map[string]struct {
		sources []*Source
		secret  v1alpha1.ObjectReference
		closed  bool
	}{
		"alone":                        {[]*Source{a.source(RankDefault)}, "a", false},
		"inherited":                    {[]*Source{a.source(RankNamespace), none.source(RankObject)}, "a", false},
		"the object's":                 {[]*Source{a.source(RankNamespace), b.source(RankObject)}, "b", false},
		"the administrator's":          {[]*Source{a.source(RankOverride), b.source(RankAnnotations)}, "a", false},
		"two of one rank":              {[]*Source{b.source(RankObject), a.source(RankObject)}, "a", true},
		"annotations and the object":   {[]*Source{b.source(RankObject), a.source(RankAnnotations)}, "a", true},
		"a host and the object":        {[]*Source{b.source(RankSection), a.source(RankObject)}, "b", true},
		"two of the namespace":         {[]*Source{b.source(RankNamespace), a.source(RankNamespace)}, "a", true},
		"overridden, and a conflict":   {[]*Source{b.source(RankObject), a.source(RankAnnotations), none.source(RankOverride)}, "a", true},
		"a conflict that is overruled": {[]*Source{b.source(RankObject), b.source(RankSection), a.source(RankOverride)}, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Merge(tt.sources)
			if e.Spec.Authentication == nil || e.Spec.Authentication.Basic.Secret != tt.secret || e.Closed() != tt.closed {
				t.Errorf("%+v, closings %+v", e.Spec.Authentication, e.Closings)
			}
			if tt.closed && e.Closings[0].Reason != api.ReasonPolicyConflict {
				t.Errorf("closings %+v", e.Closings)
			}
		})
	}
}

// TestAccessCombines: whom one source refuses, no other admits; what cannot be read
// closes, or admits nobody.
func TestAccessCombines(t *testing.T) {
	t.Parallel()
	read := func(a *v1alpha1.Access) *Source {
		return routePolicy("p", 1, v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Access: a}}).source(RankObject)
	}
	for name, test := range map[string]struct {
		sources []*Source
		access  Access
		closed  api.Reason
	}{
		"intersection": {[]*Source{read(allow("10.0.0.0/8", "192.0.2.1")), read(allow("10.1.0.0/16"))}, Access{Restricted: true, Allow: prefixesOf(t, "10.1.0.0/16")}, ""},
		"nobody":       {[]*Source{read(allow("10.0.0.0/8")), read(allow("11.0.0.0/8"))}, Access{Restricted: true}, ""},
		"union of deny": {
			[]*Source{read(&v1alpha1.Access{Deny: []v1alpha1.CIDR{"10.0.0.1"}}), read(&v1alpha1.Access{Deny: []v1alpha1.CIDR{"10.0.0.0/24"}})},
			Access{Deny: prefixesOf(t, "10.0.0.0/24")},
			"",
		},
		"an item that admits nobody": {[]*Source{read(allow("nonsense", "10.0.0.1"))}, Access{Restricted: true, Allow: prefixesOf(t, "10.0.0.1")}, ""},
		"no item":                    {[]*Source{read(allow("nonsense")), read(allow("10.0.0.1"))}, Access{Restricted: true}, api.ReasonInvalidPolicy},
		"mapped":                     {[]*Source{read(allow("::ffff:10.0.0.1"))}, Access{Restricted: true}, api.ReasonInvalidPolicy},
		"unreadable deny":            {[]*Source{read(&v1alpha1.Access{Deny: []v1alpha1.CIDR{"10.0.0.0/33", "10.0.0.1"}})}, Access{Deny: prefixesOf(t, "10.0.0.1")}, api.ReasonInvalidPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Merge(test.sources)
			if d := cmp.Diff(test.access, e.Access, cmpopts.EquateComparable(netip.Prefix{}), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if e.Closed() != (test.closed != "") || e.Closed() && e.Closings[0].Reason != test.closed {
				t.Errorf("closings %+v", e.Closings)
			}
		})
	}
}

// TestTooManyAddressesClose: lists that together are too long are not cut short.
func TestTooManyAddressesClose(t *testing.T) {
	t.Parallel()
	var sources []*Source
	for n := range 3 {
		deny := make([]v1alpha1.CIDR, 0, 2000)
		for i := range 2000 {
			deny = append(deny, v1alpha1.CIDR(fmt.Sprintf("10.%d.%d.%d", n, i/200, i%200)))
		}
		sources = append(sources, routePolicy(fmt.Sprint(n), n, v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Access: &v1alpha1.Access{Deny: deny}}}).source(RankObject))
	}
	if e := Merge(sources[:2]); e.Closed() || len(e.Access.Deny) != 4000 {
		t.Errorf("two lists: closings %v, %d addresses", e.Closings, len(e.Access.Deny))
	}
	if e := Merge(sources); !e.Closed() || e.Closings[0].Reason != api.ReasonLimitExceeded {
		t.Errorf("three lists: closings %v", e.Closings)
	}
}

// randomSources are policies that set some groups each.
func randomSources(r *rand.Rand) []*Source {
	cidrs := func() (out []v1alpha1.CIDR) {
		for _, p := range randomList(r, 3) {
			out = append(out, v1alpha1.CIDR(p.Masked().String()))
		}
		return out
	}
	var out []*Source
	for i := range 1 + r.IntN(5) {
		spec := v1alpha1.RoutePolicySpec{}
		if r.IntN(2) == 0 {
			spec.Access = &v1alpha1.Access{Allow: cidrs(), Deny: cidrs()}
			if r.IntN(6) == 0 {
				spec.Access.Deny = append(spec.Access.Deny, "bad")
			}
		}
		if r.IntN(2) == 0 {
			spec.Limits = &v1alpha1.Limits{URIBytes: int32(16 + r.IntN(100))}
		}
		if r.IntN(2) == 0 {
			spec.Timeouts = &v1alpha1.Timeouts{Response: v1alpha1.Timeout(fmt.Sprint(r.IntN(9)+1, "s"))}
		}
		if r.IntN(3) == 0 {
			spec.Maintenance = &v1alpha1.Maintenance{Enabled: true}
		}
		rank := []Rank{RankOverride, RankAnnotations, RankSection, RankObject, RankNamespace, RankDefault}[r.IntN(6)]
		out = append(out, routePolicy(fmt.Sprint("p", i), r.IntN(3), spec).source(rank))
	}
	return out
}

// TestMergeHasNoOrder: the order of the sources does not matter.
func TestMergeHasNoOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		sources := randomSources(r)
		want := Merge(sources)
		shuffled := slices.Clone(sources)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if d := cmp.Diff(want, Merge(shuffled), cmpopts.EquateComparable(netip.Prefix{})); d != "" {
			t.Fatalf("-want +got:\n%s", d)
		}
	}
}

// TestMoreNeverOpens: a further source never admits whom the others refuse.
func TestMoreNeverOpens(t *testing.T) {
	t.Parallel()
	admits := func(e *Effective, a netip.Addr) bool {
		return !e.Closed() && (!e.Access.Restricted || has(e.Access.Allow, a)) && !has(e.Access.Deny, a)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		few, one := randomSources(r), randomSources(r)[:1]
		before, after := Merge(few), Merge(slices.Concat(few, one))
		for range 50 {
			a := netip.AddrFrom4([4]byte{byte(9 + r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(4)), byte(r.IntN(256))})
			if admits(after, a) && !admits(before, a) {
				t.Fatalf("%v is admitted by %+v, and not by %+v", a, after.Access, before.Access)
			}
		}
		if len(after.Limits) < len(before.Limits) {
			t.Fatal("a limit is lost")
		}
	}
}

// TestOneSourceIsItself: what one source says holds as it stands there.
func TestOneSourceIsItself(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		s := randomSources(r)[0]
		e := Merge([]*Source{s})
		want := Effective{Spec: *s.Spec}
		if want.Spec.Limits != nil {
			want.Limits, want.Spec.Limits = []Limit{{s, s.Spec.Limits}}, nil
		}
		if s.Access != nil {
			want.Access = Access{Restricted: s.Access.Restricted, Allow: s.Access.Allow, Deny: s.Access.Deny}
		}
		if d := cmp.Diff(want, *e, cmpopts.EquateComparable(netip.Prefix{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Effective{}, "Origins", "Closings")); d != "" {
			t.Fatalf("-want +got:\n%s", d)
		}
		if len(e.Origins) != len(s.groups()) || len(e.Losses) > 0 {
			t.Fatalf("origins %v, losses %v", e.Origins, e.Losses)
		}
	}
}

// TestRankFor: whom a policy is for, and with which rank.
func TestRankFor(t *testing.T) {
	t.Parallel()
	ref := func(kind, name, section string) v1alpha1.RoutePolicySpec {
		return v1alpha1.RoutePolicySpec{TargetRefs: []v1alpha1.TargetRef{{Kind: "Route", Name: "other"}, {Kind: kind, Name: name, SectionName: section}}}
	}
	labels := func(kind string) v1alpha1.RoutePolicySpec {
		return v1alpha1.RoutePolicySpec{TargetSelector: &v1alpha1.TargetSelector{Kind: kind, MatchLabels: map[string]string{"a": "b"}}}
	}
	place := Place{
		Object: model.Object{Kind: "Route", Namespace: "ns", Name: "r"}, Labels: map[string]string{"a": "b"}, Named: "named", Host: "h.example.com", Router: "default",
		Services: []string{"web", "web-new"},
	}
	made := place
	made.Object.Name, made.Ingress, made.Labels, made.IngressLabels = "made", "i", nil, map[string]string{"a": "b"}
	elsewhere := place
	elsewhere.Object.Namespace = "others"
	for name, test := range map[string]struct {
		policy *Object
		place  Place
		rank   Rank
	}{
		"by name":              {routePolicy("p", 1, ref("Route", "r", "")), place, RankObject},
		"another":              {routePolicy("p", 1, ref("Route", "s", "")), place, 0},
		"another namespace":    {routePolicy("p", 1, ref("Route", "r", "")), elsewhere, 0},
		"its Ingress":          {routePolicy("p", 1, ref("Ingress", "i", "")), made, RankObject},
		"its host":             {routePolicy("p", 1, ref("Ingress", "i", "h.example.com")), made, RankSection},
		"another host":         {routePolicy("p", 1, ref("Ingress", "i", "x.example.com")), made, 0},
		"an Ingress as a name": {routePolicy("p", 1, ref("Ingress", "r", "")), place, 0},
		"labels":               {routePolicy("p", 1, labels("Route")), place, RankObject},
		"labels of the Route":  {routePolicy("p", 1, labels("Route")), made, 0},
		"labels of an Ingress": {routePolicy("p", 1, labels("Ingress")), made, RankObject},
		"labels, no Ingress":   {routePolicy("p", 1, labels("Ingress")), place, 0},
		"its Service":          {routePolicy("p", 1, ref("Service", "web-new", "")), place, RankService},
		"another Service":      {routePolicy("p", 1, ref("Service", "r", "")), place, 0},
		"its Service and name": {routePolicy("p", 1, v1alpha1.RoutePolicySpec{TargetRefs: []v1alpha1.TargetRef{{Kind: "Route", Name: "r"}, {Kind: "Service", Name: "web"}}}), place, RankObject},
		"namespace":            {routePolicy("p", 1, v1alpha1.RoutePolicySpec{}), place, RankNamespace},
		"that it names":        {routePolicy("named", 1, v1alpha1.RoutePolicySpec{}), place, RankObject},
		"that it names too":    {routePolicy("named", 1, ref("Route", "s", "")), place, RankObject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rank, applies := test.policy.RankFor(&test.place); rank != test.rank || applies != (rank != 0) {
				t.Errorf("rank %v, applies %v, want %v", rank, applies, test.rank)
			}
		})
	}
}

// TestClusterHosts: a policy for hosts is for each object that can answer for one.
func TestClusterHosts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, host string
		meets         bool
	}{
		{"a.example.com", "a.example.com", true},
		{"a.example.com", "b.example.com", false},
		{"*.example.com", "a.example.com", true},
		{"*.example.com", "a.b.example.com", true},
		{"*.example.com", "example.com", false},
		{"*.example.com", "*.example.com", true},
		{"*.example.com", "*.b.example.com", true},
		{"*.example.com", "*.com", false},
		{"a.example.com", "*.example.com", true},
		{"a.b.example.com", "*.example.com", false},
		{"*.b.example.com", "*.example.com", false},
		{"a.example.com", "*", true},
		{"a.example.com", "", true},
		{"*.example.com", "badexample.com", false},
	} {
		if got := meet(test.pattern, test.host); got != test.meets {
			t.Errorf("pattern %q, host %q: %v", test.pattern, test.host, got)
		}
	}
}

// TestCrowd: of too many policies the oldest apply, and a younger one that protects
// closes what it is for.
func TestCrowd(t *testing.T) {
	t.Parallel()
	var all []*Object
	for i := range maxPolicies {
		all = append(all, routePolicy(fmt.Sprintf("p%03d", i), i, v1alpha1.RoutePolicySpec{TargetRefs: []v1alpha1.TargetRef{{Kind: "Route", Name: "other"}}}))
	}
	place := &Place{Object: model.Object{Kind: "Route", Namespace: "ns", Name: "r"}}
	wide := func(access *v1alpha1.Access) *Object {
		return routePolicy("young", 1e6, v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Access: access, Log: &v1alpha1.RequestLog{}}})
	}
	if e := Select(place, NewSet(append(slices.Clone(all), wide(nil))), nil).Effective(nil); e.Closed() || e.Spec.Log != nil {
		t.Errorf("closings %v, log %v", e.Closings, e.Spec.Log)
	}
	protects := wide(allow("10.0.0.1"))
	e := Select(place, NewSet(append(slices.Clone(all), protects)), nil).Effective(nil)
	if !e.Closed() || e.Closings[0].Reason != api.ReasonLimitExceeded {
		t.Errorf("closings %v", e.Closings)
	}
	if e := Select(place, NewSet(append(slices.Clone(all[1:]), protects)), nil).Effective(nil); e.Closed() || !e.Access.Restricted {
		t.Errorf("one fewer: closings %v, access %v", e.Closings, e.Access)
	}
}
