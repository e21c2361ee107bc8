package model

import (
	"strings"
	"testing"
)

// TestOwnersOfBackends: the name of a backend says whose it is, whatever objects are called.
func TestOwnersOfBackends(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, kind := range []Kind{"Route", "HTTPRoute", "GRPCRoute"} {
		for _, name := range []string{"web", "canary", "httproute", "000", "a.b-c"} {
			for _, rule := range []string{"", "000", "001-000-Lb9b484c5"} {
				if (kind == "Route") != (rule == "") {
					continue // Routes have one rule, which has no name
				}
				for _, branch := range []string{"", "000", "canary", "web"} {
					b := Backend{Kind: KindHTTP, Owner: Object{Kind: kind, Namespace: "ns", Name: name}, Rule: rule}
					if branch != "" {
						b.Rule = BranchRule(rule, branch)
					}
					what := strings.Join([]string{string(kind), name, rule, branch}, "/")
					if other, twice := seen[b.Name()]; twice {
						t.Errorf("%s and %s are both %s", what, other, b.Name())
					}
					seen[b.Name()] = what
					claim, got, found := SplitClaim(strings.Split(b.Name(), ":")[2])
					if of, its := SplitOwner(claim); of != kind || its != name || got != branch || found != (branch != "") {
						t.Errorf("%s, named %s, is read as %s %s, branch %q, %t", what, b.Name(), of, its, got, found)
					}
				}
			}
		}
	}
}
