package admit

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// What HAProxy does for a request with conditions is bounded: by the expressions of one
// namespace on one host, most of which take as many steps as the path has bytes, and by
// the length of the list of one key, which is a value in HAProxy.
const (
	maxExpressions = 128
	maxUncertain   = 4
	maxList        = 128
	maxListBytes   = 12 << 10
	// closedLongest is longer than any path.
	closedLongest = 1 << 20
)

// conditional counts the claims of a host that have conditions. It is empty for nearly
// all hosts.
type conditional struct {
	// expressions and uncertain are counted by namespace, entries and bytes by key.
	expressions, uncertain, entries, bytes map[string]int
}

func (n *conditional) add(c *model.Claim, key string) {
	if c.Conditions == nil {
		return
	}
	if n.entries == nil {
		n.expressions, n.uncertain, n.entries, n.bytes = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	}
	all, uncertain := c.Conditions.Expressions()
	n.expressions[c.Owner.Namespace] += all
	n.uncertain[c.Owner.Namespace] += uncertain
	n.entries[key]++
	n.bytes[key] += listSize(c)
}

// full says why one more claim with conditions is too much, or returns "".
func (n *conditional) full(c *model.Claim) string {
	if c.Conditions == nil {
		return ""
	}
	key, older := rule(c).NormalKey(), n.expressions[c.Owner.Namespace]
	all, uncertain := c.Conditions.Expressions()
	switch olderUncertain := n.uncertain[c.Owner.Namespace]; {
	case all > 0 && older+all > maxExpressions:
		return fmt.Sprintf("%d older expressions of this namespace; %d are the most", older, maxExpressions)
	case uncertain > 0 && olderUncertain+uncertain > maxUncertain:
		return fmt.Sprintf("%d older expressions of this namespace that can share out a path or value in several ways, such as .*x, and would have %d with this one; %d are the most; write [^/]+ for one segment",
			olderUncertain, olderUncertain+uncertain, maxUncertain)
	case n.entries[key] >= maxList || n.bytes[key]+listSize(c) > maxListBytes:
		return fmt.Sprintf("%d older claims with conditions whose paths begin with %q, which take all of the %d bytes for them", n.entries[key], c.Path, maxListBytes)
	}
	return ""
}

// bounded returns what is served of a claim: all of it, or nothing if it is one with
// conditions too many. One that keeps requests away closes instead what begins as its paths
// do and no other expression is for, once for each key.
func (h *Host) bounded(c *model.Claim, taken *held) *model.Claim {
	why := taken.full(c)
	if why == "" {
		return c
	}
	f := claimed(c)
	f.Field, f.Reason, f.Message = "spec.path", api.ReasonInvalidField, c.NamedHost+" has "+why
	barred := c.Barred()
	barred.Conditions = &model.Conditions{Path: &model.PathExpression{Pattern: `\A/`, Longest: closedLongest, Certain: true}}
	if c.Guard() == "" || taken.conflict(h.Winners, barred, true) >= 0 {
		h.refuse(c, f)
		return nil
	}
	f.Reason, f.Effect = api.ReasonPolicyClosed, "paths that begin as its own do answer 503"
	h.close(c, f)
	return barred
}

// listSize is what a claim takes in the list of its key, in HAProxy.
func listSize(c *model.Claim) int {
	return match.ListSize(c.Conditions, c.Backend.Name()+"|"+c.Backend.Record())
}
