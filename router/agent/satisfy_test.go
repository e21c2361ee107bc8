package agent

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// TestListed: with Any a listed address is enough, for all but the rules, and what it
// sends in place of the policy's headers is removed; a list without Any cannot be used.
func TestListed(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	list := func(prefix string, change ...func(*snapshot.Policy)) func(*snapshot.Policy) {
		return func(p *snapshot.Policy) {
			p.Satisfy, p.Listed, p.Basic.ForwardUser = snapshot.Any, []netip.Prefix{netip.MustParsePrefix(prefix)}, "X-User"
			for _, c := range change {
				c(p)
			}
		}
	}
	closed := e.Swap(&snapshot.Snapshot{Generation: 1, Policies: []snapshot.Policy{
		basicPolicy("near", list("0.0.0.0/0")), basicPolicy("far", list("198.18.0.0/15")),
		basicPolicy("rules", list("0.0.0.0/0", func(p *snapshot.Policy) {
			p.Authorization = []authorize.Rule{{Action: authorize.Allow, Consumers: []string{"ann"}}}
		})),
		basicPolicy("all", list("0.0.0.0/0", func(p *snapshot.Policy) { p.Satisfy = snapshot.All })),
	}})
	if len(closed) != 1 || closed["all"] == nil {
		t.Errorf("closed %v", closed)
	}
	a := e.Decide(t.Context(), ask(t, "near", "X_User: root"))
	wants(t, "listed", a, 200)
	if !slices.Contains(a.Del, "X_User") || a.Consumer != "" || a.TTL != 0 {
		t.Errorf("answer %+v", a)
	}
	wants(t, "listed, wrong password", e.Decide(t.Context(), ask(t, "near", userPassword("ann", "y"))), 200)
	wants(t, "not listed", e.Decide(t.Context(), ask(t, "far")), 401)
	wants(t, "not listed, password", e.Decide(t.Context(), ask(t, "far", userPassword("ann", "x"))), 200)
	wants(t, "listed, but the rules want a user", e.Decide(t.Context(), ask(t, "rules")), 403)
	wants(t, "a list without Any", e.Decide(t.Context(), ask(t, "all", userPassword("ann", "x"))), 503)
}

// TestPathsOfRules: rules judge a path as programs read it, and refuse one that they read
// in different ways.
func TestPathsOfRules(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	use(t, e, 1, snapshot.Policy{ID: "p", Authorization: []authorize.Rule{
		{Action: authorize.Deny, Paths: []authorize.Path{{Value: "/admin", Prefix: true}}}, {Action: authorize.Allow},
	}}, snapshot.Policy{ID: "free", Authorization: []authorize.Rule{{Action: authorize.Allow}}})
	for path, want := range map[string]int{
		"/": 200, "/admin": 403, "/admin/": 403, "/administer": 200, "/%61dmin": 403, "/%41dmin": 200, "/admin;a=b": 403, "/admin;a/x": 403, "/;a/admin": 400,
		"//admin": 400, "/./admin": 400, "/x/..%2fadmin": 400, "/x/%2e%2e/admin": 400, `/\admin`: 400, "/%2561dmin": 400, "/%zz": 400, "/admin?x=y": 403, "/?/admin": 200,
	} {
		q := ask(t, "p")
		q.Target = path
		wants(t, path, e.Decide(t.Context(), q), want)
	}
	q := ask(t, "free")
	q.Target = "//admin"
	wants(t, "no rule asks for paths", e.Decide(t.Context(), q), 200)
}
