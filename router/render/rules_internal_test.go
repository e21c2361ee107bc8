package render

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/plan"
)

// TestPlainRequests: a route without any policy pays for one look at its record, and
// its answers for one look at whether they are of a route with CORS, however many
// policies there are.
func TestPlainRequests(t *testing.T) {
	t.Parallel()
	caps := plan.Capabilities{DynamicBackends: true, HeaderLists: true, BackendTimeouts: true, Lua: true}
	for _, tls := range []bool{false, true} {
		rules := policyRules(Settings{}.withDefaults(), Layout{Dir: "/d"}, caps, tls, nil, guardRules(Layout{Dir: "/d"}, caps, tls))
		if len(rules) < 3 || rules[1] != "http-request allow if !"+askedOrTraced || !strings.HasPrefix(rules[0], "http-request set-var(txn.policy) ") {
			t.Errorf("tls %v: the rules of policies begin with %q", tls, rules[:min(3, len(rules))])
		}
	}
	if after := corsResponseRules(); !strings.HasPrefix(after[0], "http-after-response allow if !") {
		t.Errorf("the rules of answers begin with %q", after[0])
	}
	const backend = 6 // five timeouts, of which one is for answers, and one look; the others add the forwarded headers
	if rules := profileRules(caps); len(rules) != backend+len(forwarded) || rules[backend-1] != "http-request allow if "+asked {
		t.Errorf("the rules of backends are %q", rules)
	}
}
