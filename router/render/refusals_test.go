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
		all := 1 + slices.Index(rules, passRules(caps, ofCommon)[0])
		checkJudged(t, rules[:all], uses, answers)
		checkJudged(t, rules[all:], uses, answers)
	}
}

// checkJudged checks rules of which some are judged: from the first one that says so to the
// last one that takes it back.
func checkJudged(t *testing.T, rules []string, uses *regexp.Regexp, answers func(string) bool) {
	t.Helper()
	last := func(of string) int {
		for i, rule := range slices.Backward(rules) {
			if strings.Contains(rule, of) {
				return i
			}
		}
		return -1
	}
	from := slices.IndexFunc(rules, func(rule string) bool {
		return strings.Contains(rule, ",set-var(txn.judged)]") || strings.Contains(rule, " set-var(txn.judged) ")
	})
	to := max(last(",unset-var(txn.judged) "), last("http-request unset-var(txn.judged)"))
	if from < 0 || to < from {
		t.Fatalf("judged from %d to %d", from, to)
	}
	for i, rule := range rules[from : to+1] {
		for _, m := range uses.FindAllStringSubmatch(rule, -1) {
			if answers(m[1]) {
				t.Errorf("%s answers by itself: %s", m[1], rule)
			}
		}
		if strings.HasPrefix(rule, "http-request allow ") && !strings.Contains(rule, ",unset-var(txn.judged) ") {
			t.Errorf("rule %d lets a request pass that stays judged: %s", i, rule)
		}
	}
	for _, rule := range rules[to:] {
		if strings.HasPrefix(rule, "http-request deny ") {
			t.Errorf("this refusal is not counted: %s", rule)
		}
	}
}
