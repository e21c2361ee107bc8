package render

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/templates"
)

// TestJudged: while a refusal counts, no script may answer by itself.
func TestJudged(t *testing.T) {
	t.Parallel()
	l := Layout{Dir: "/d", Run: "/r"}
	caps := plan.Capabilities{Lua: true, HeaderLists: true, DynamicBackends: true}
	files := baseFiles(Settings{}, l, caps)
	// The body of each action, up to the next one.
	bodies := map[string]string{}
	action := regexp.MustCompile(`core\.register_action\("(\w+)"`)
	text := files[l.LuaFile()]
	found := action.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		bodies[text[at[2]:at[3]]] = text[at[0]:end]
	}
	answers := func(name string) bool { return strings.Contains(bodies[name], "txn:done") }
	if !answers("fairlead_fault") || !strings.Contains(string(templates.RefusalsLua), "fairlead_answered") {
		t.Fatal("the scripts are others than this test knows")
	}
	uses := regexp.MustCompile(`\blua\.(\w+)`)
	for _, tls := range []bool{false, true} {
		rules := policyRules(Settings{AgentDir: "/a", HTTP: HTTP{Bandwidth: true}}, l, caps, tls, nil, guardRules(l, caps, tls))
		all := slices.Index(rules, "http-request allow if "+ofCommon)
		checkJudged(t, rules[:all], " if "+ofCommon, uses, answers)
		checkJudged(t, rules[all:], "", uses, answers)
	}
}

// checkJudged checks rules of which some are judged, those that a condition begins and ends.
func checkJudged(t *testing.T, rules []string, condition string, uses *regexp.Regexp, answers func(string) bool) {
	t.Helper()
	from := slices.Index(rules, "http-request set-var(txn.judged) bool(true)"+condition)
	to := slices.Index(rules, "http-request unset-var(txn.judged)"+condition)
	if from < 0 || to < from {
		t.Fatalf("%q: judged from %d to %d", condition, from, to)
	}
	for _, rule := range rules[from:to] {
		for _, m := range uses.FindAllStringSubmatch(rule, -1) {
			if answers(m[1]) {
				t.Errorf("%s answers by itself: %s", m[1], rule)
			}
		}
	}
	for _, rule := range rules[to:] {
		if strings.HasPrefix(rule, "http-request deny ") {
			t.Errorf("this refusal is not counted: %s", rule)
		}
	}
}
