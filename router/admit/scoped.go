package admit

import (
	"slices"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// In the scope of a Gateway's listener no claim owns a host: who may attach to the listener
// is what the Gateway says. All claims are in, and their order decides which one is asked
// first (match.ByConditions); of two for the same requests the later one gets none.

// joinScopes takes the claims of scopes in, and returns the others. All are in order.
func joinScopes(all []*model.Claim, hosts map[string]*Host, taken map[string]*held) (others []*model.Claim) {
	return slices.DeleteFunc(all, func(c *model.Claim) bool {
		if model.Scoped(c.Host) {
			hosts[c.Host].join(c, taken[c.Host])
		}
		return model.Scoped(c.Host)
	})
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
func scopedTable(claims []*model.Claim) []match.Entry {
	rules := make([]match.Rule, 0, len(claims))
	for _, c := range inOrder(claims) {
		value := c.Backend.Name()
		if c.Answer != 0 {
			value = match.OwnAnswer(int(c.Answer))
		}
		rules = append(rules, match.RuleOf(c, value))
	}
	return match.NewTable(claims[0].Host, rules).Entries()
}
