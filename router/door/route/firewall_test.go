package route

import (
	"testing"

	"github.com/fairlead/fairlead/router/model"
)

// TestCoversFirewall: a former version of a route is not served in place of one of which more
// requests are refused.
func TestCoversFirewall(t *testing.T) {
	t.Parallel()
	judged := func(body int, over bool, rules ...model.FirewallRules) *guard {
		return &guard{policy: model.Policy{Firewall: &model.Firewall{Rules: rules, Body: body, RefusesOver: over}}}
	}
	block, strict := model.FirewallRules{Block: true, Paranoia: 1, Threshold: 5}, model.FirewallRules{Block: true, Paranoia: 2, Threshold: 5}
	without, detect := model.FirewallRules{Block: true, Paranoia: 1, Threshold: 5, Without: []int{941100}}, model.FirewallRules{Paranoia: 4, Threshold: 1}
	open := &guard{}
	for name, tt := range map[string]struct {
		former, newest *guard
		want           bool
	}{
		"new":                  {open, judged(1024, true, block), false},
		"gone":                 {judged(1024, true, block), open, true},
		"only detects":         {open, judged(1024, false, detect), true},
		"the same":             {judged(1024, true, block), judged(1024, true, block), true},
		"stricter":             {judged(1024, true, block), judged(1024, true, strict), false},
		"less strict":          {judged(1024, true, strict), judged(1024, true, block), true},
		"fewer rules":          {judged(1024, true, without), judged(1024, true, block), false},
		"detects where blocks": {judged(1024, true, detect), judged(1024, true, block), false},
		"more of the body":     {judged(1024, true, block), judged(2048, true, block), false},
		"long bodies":          {judged(1024, false, block), judged(1024, true, block), false},
	} {
		if got := tt.former.coversClients(tt.newest); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
