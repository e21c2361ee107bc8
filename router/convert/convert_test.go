package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	const prefix, exact, expression = gatewayv1.PathMatchPathPrefix, gatewayv1.PathMatchExact, gatewayv1.PathMatchRegularExpression
	for _, tt := range []struct {
		path  string
		exact bool
		kind  gatewayv1.PathMatchType
		value string
		// in and out are paths that the expression is for, and is not for.
		in, out []string
	}{
		{"", false, prefix, "", nil, nil},
		{"/", false, prefix, "", nil, nil},
		{"/", true, exact, "/", nil, nil},
		{"/a", false, prefix, "/a", nil, nil},
		{"/a.b", true, exact, "/a.b", nil, nil},
		{"/a/", false, expression, "/a/.*", []string{"/a/", "/a/b"}, []string{"/a", "/ab"}},
		{"/a//b", false, expression, "/a//b(?:/.*)?", []string{"/a//b", "/a//b/c"}, []string{"/a//bc", "/a/b"}},
		{"/a|b", true, expression, `/a\|b`, []string{"/a|b"}, []string{"/a", "/a|b/"}},
		{"/a/..", false, expression, `/a/\.\.(?:/.*)?`, []string{"/a/.."}, []string{"/a/xy"}},
		{"/a%2Fb", false, expression, `/a%2Fb(?:/.*)?`, []string{"/a%2Fb"}, []string{"/a/b"}},
	} {
		m := matchOf(&draft{claim: &model.Claim{Match: model.Match{Path: tt.path, Exact: tt.exact}}})
		if m.kind != tt.kind || m.value != tt.value {
			t.Errorf("%q: %s %q, want %s %q", tt.path, m.kind, m.value, tt.kind, tt.value)
		}
		whole := regexp.MustCompile("^(?:" + m.value + ")$")
		for _, p := range tt.in {
			if !whole.MatchString(p) {
				t.Errorf("%q: %s is not for %s", tt.path, m.value, p)
			}
		}
		for _, p := range tt.out {
			if whole.MatchString(p) {
				t.Errorf("%q: %s is for %s, too", tt.path, m.value, p)
			}
		}
	}
	if m := matchOf(&draft{claim: &model.Claim{Match: model.Match{Path: "/" + strings.Repeat("a", 1024)}}}); m.problem == "" {
		t.Error("a path of 1025 characters has a form")
	}
}

// TestWithin: a limit never admits more in its time than the number that it is made of.
func TestWithin(t *testing.T) {
	t.Parallel()
	for most := 1; most < 200; most++ {
		l := within("x", most, 10)
		if got := int(l.Burst) - 1 + int(l.Requests); got != most || l.Burst < 1 || l.Requests < 1 {
			t.Errorf("%d requests become %d and a burst of %d", most, l.Requests, l.Burst)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	c := &conversion{in: &Input{Taken: func(o model.Object) bool { return o.Name == "shop" }}, names: map[model.Object]bool{}}
	for _, want := range []string{"shop-2", "shop-3"} {
		if got := c.name("HTTPRoute", "demo", "shop"); got != want {
			t.Errorf("the name is %s, want %s", got, want)
		}
	}
	long := strings.Repeat("a", 260)
	if a, b := numbered(long, 1), numbered(long+"b", 2); len(a) > maxName || len(b) > maxName || a == b {
		t.Errorf("long names: %d and %d characters", len(a), len(b))
	}
	names := []string{}
	for _, host := range []string{"", "a.test", "*.a.test", "wildcard-https-a.test", "https.a.test"} {
		names = append(names, listenerName("https", host))
	}
	if slices.Sort(names); len(slices.Compact(names)) != 5 {
		t.Errorf("names of listeners meet: %v", names)
	}
}

// plain is a Route that is served, without TLS.
func plain(name, host string) Source {
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	r.Spec.To.Name = "web"
	return Source{
		Route: r, Object: api.ObjectRef{Kind: "Route", Namespace: "demo", Name: name},
		Claims: []*model.Claim{{Host: host, Backend: model.Backend{}}},
	}
}

// TestManyListeners: more listeners than a Gateway can have are those of ListenerSets, which
// each route names.
func TestManyListeners(t *testing.T) {
	t.Parallel()
	in := &Input{Slices: nil, Service: func(model.Object) (*corev1.Service, string) {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, ""
	}}
	const hosts = 150
	for i := range hosts {
		in.Sources = append(in.Sources, plain(fmt.Sprintf("r%03d", i), fmt.Sprintf("h%03d.test", i)))
	}
	out := Convert(in)
	holders, named := map[string]int{}, map[string]int{}
	for _, o := range out.Objects {
		switch v := o.(type) {
		case *gatewayv1.Gateway:
			holders[v.Name] = len(v.Spec.Listeners)
			if v.Spec.AllowedListeners == nil {
				t.Error("the Gateway allows no ListenerSets")
			}
		case *gatewayv1.ListenerSet:
			holders[v.Name] = len(v.Spec.Listeners)
		case *gatewayv1.HTTPRoute:
			named[string(v.Spec.ParentRefs[0].Name)]++
		}
	}
	if out.Converted != hosts || len(holders) != 3 || holders["routes"] != 64 || holders["routes-2"] != 64 || holders["routes-3"] != 22 {
		t.Errorf("%d converted, listeners %v", out.Converted, holders)
	}
	for name, n := range holders {
		if named[name] != n {
			t.Errorf("%s: %d routes, want %d", name, named[name], n)
		}
	}
}

// TestUnknownService: without its Service a Route becomes one without backends, so that the
// route of a shorter path does not get its requests.
func TestUnknownService(t *testing.T) {
	t.Parallel()
	in := &Input{Sources: []Source{plain("a", "a.test")}, Service: func(model.Object) (*corev1.Service, string) { return nil, "is not known" }}
	out := Convert(in)
	if out.Closed != 1 || len(out.Findings) != 1 || out.Findings[0].Reason != api.ReasonConversionClosed {
		t.Fatalf("%d closed, findings %v", out.Closed, out.Findings)
	}
	i := slices.IndexFunc(out.Objects, func(o metav1.Object) bool { _, is := o.(*gatewayv1.HTTPRoute); return is })
	if i < 0 {
		t.Fatal("there is no HTTPRoute")
	}
	if r, _ := out.Objects[i].(*gatewayv1.HTTPRoute); len(r.Spec.Rules) != 1 || len(r.Spec.Rules[0].BackendRefs) > 0 {
		t.Errorf("rules %v", r.Spec.Rules)
	}
}
