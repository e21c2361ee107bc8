package admit

import (
	"slices"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// In the scope of a Gateway's listener no claim owns a host: who may attach to the listener
// is what the Gateway says. All claims are in, and their order decides which one is asked
// first (match.ByConditions); of two for the same requests the later one gets none.

// DecideScoped decides a host in a scope. Claims may come in any order. Guarded says that paths
// of the host, or of others that share requests with it, protect what others do not
// (Guards).
func DecideScoped(host string, claims []*model.Claim, guarded bool) *Host {
	h, taken := &Host{Guarded: guarded}, newHeld()
	for _, c := range slices.SortedFunc(slices.Values(claims), model.ByAge) {
		h.join(c, taken)
	}
	if len(h.Winners) > 0 {
		h.Table = Table{HTTP: scopedTable(host, h.Winners, guarded)}
	}
	return h
}

// join takes a claim of a scope in. Only the bounds of what HAProxy is given keep one out.
func (h *Host) join(c *model.Claim, taken *held) {
	if c = h.bounded(c, taken); c == nil {
		return
	}
	h.Winners = append(h.Winners, c)
	taken.add(c)
}

// scopedTable derives the routing keys from the claims of a host in a scope.
func scopedTable(host string, claims []*model.Claim, guarded bool) []match.Entry {
	rules := make([]match.Rule, 0, len(claims))
	for _, c := range inOrder(claims) {
		rules = append(rules, match.RuleOf(c, target(c)))
	}
	t := match.NewTable(host, rules)
	if guarded {
		t.Guard(host, rules)
	}
	return t.Entries()
}
