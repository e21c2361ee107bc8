package render

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/plan"
)

// TestCommonRules: the rules of common policies leave all others alone. Each is bound to
// txn.common, or to a variable that an earlier one of them has set. It also bounds how many
// a request walks by.
func TestCommonRules(t *testing.T) {
	t.Parallel()
	caps := plan.Capabilities{DynamicBackends: true, HeaderLists: true, BackendTimeouts: true, Lua: true, SubtractCounters: true, PlainLogFormat: true}
	rules := commonRules(Settings{}.withDefaults(), Layout{Dir: "/d"}, caps, true)
	sets := regexp.MustCompile(`\bset-var(?:-fmt)?\(((?:txn|sess)\.\w+)`)
	reads := regexp.MustCompile(`var\((txn\.\w+)\)`)
	bound := []string{"txn.common"} // variables that only common policies have
	for i, rule := range rules {
		if i == 0 {
			continue
		}
		if strings.Contains(rule, "var(txn.policy),field(1,|)") {
			t.Errorf("this looks for letters of any policy: %s", rule)
		}
		head, conditions, _ := strings.Cut(rule, " if ")
		if strings.HasPrefix(head, "http-request set-var(") { // nothing is set where what it is made of is not there
			head = strings.SplitN(head, ") ", 2)[1]
		} else {
			head = ""
		}
		unset := !bindsHead(reads, head, bound)
		for condition := range strings.SplitSeq(conditions, " || ") {
			if unset && !bindsCondition(reads, condition, bound) {
				t.Errorf("other policies are not left alone by %q in: %s", condition, rule)
			}
		}
		for _, m := range sets.FindAllStringSubmatch(rule, -1) {
			if strings.HasPrefix(m[1], "txn.") && m[1] != "txn.backend" {
				bound = append(bound, m[1])
			}
		}
	}
	pass := passRules(caps, ofCommon)[0]
	if last := rules[len(rules)-1]; last != pass {
		t.Errorf("they end with %q", last)
	}
	all := together(rules)
	without := slices.IndexFunc(all, func(rule string) bool { return strings.HasPrefix(rule, "http-request allow if ") })
	const most, mostWithout = 85, 60
	if len(all) > most || without > mostWithout {
		t.Errorf("a common policy has %d rules, more than %d, or %d where it has no limits of rates, more than %d", len(all), most, without, mostWithout)
	}
}

// bindsHead reports whether an expression begins with one of some variables.
func bindsHead(reads *regexp.Regexp, head string, bound []string) bool {
	m := reads.FindStringSubmatchIndex(head)
	return m != nil && m[0] == 0 && slices.Contains(bound, head[m[2]:m[3]])
}

// bindsCondition reports whether a condition is false without one of some variables.
func bindsCondition(reads *regexp.Regexp, condition string, bound []string) bool {
	for _, term := range regexp.MustCompile(`!?\{ [^}]* \}`).FindAllString(condition, -1) {
		if m := reads.FindStringSubmatch(term); m != nil && term[0] != '!' && slices.Contains(bound, m[1]) {
			return true
		}
	}
	return false
}
