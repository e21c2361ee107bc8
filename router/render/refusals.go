package render

import (
	"path/filepath"

	"github.com/fairlead/fairlead/router/plan"
)

// RefusalsFile is HAProxy's name of the map in which it counts what policies refuse, by
// thread, backend, group and status (templates/refusals.lua). The file is empty.
func (l Layout) RefusalsFile() string { return filepath.Join(l.Dir, "refusals.map") }

// judgedRules wrap the rules that may refuse a request: one that does not come to their
// end was refused by them. So a request that gets through costs two more rules, and the
// answers of all one look.
//
// No script that answers by itself (txn:done) may stand among them: HAProxy runs the rules
// for answers within that call, where a second script ends the first one with an error. The
// rules after it then change a request that is answered, which crashes HAProxy (3.0.11,
// 3.4.7). TestJudged holds it.
func judgedRules(caps plan.Capabilities, refuse []string) []string {
	if !caps.Lua {
		return refuse
	}
	out := append([]string{"http-request set-var(txn.judged) bool(true)"}, refuse...)
	return append(out, "http-request unset-var(txn.judged)")
}

// refusalRules name the group of policies that answers, for logs, and count what was refused.
func refusalRules(caps plan.Capabilities) []string {
	if !caps.Lua {
		return nil
	}
	return []string{"http-after-response lua.fairlead_answered if { var(txn.judged) -m found }"}
}
