package stack

import (
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Protected reports whether the Service itself forbids to delete its load
// balancer. Protection that was switched on elsewhere does not count: deleting
// the Service means its load balancer too. Orphan says that the Service does not
// exist any more, so that its annotations are not known.
func Protected(b Balancer, s Settings, orphan bool) bool {
	const key = "deletion_protection.enabled"
	if orphan {
		return b.Attributes[key] == "true" && slices.Contains(strings.Fields(b.Tags[tagAttributes]), key)
	}
	return s.BalancerAttributes[key] == "true"
}

// Draining is how many targets finish their connections.
func Draining(have State) int {
	n := 0
	for _, g := range have.Groups {
		for _, h := range g.Health {
			if h.State == "draining" {
				n++
			}
		}
	}
	return n
}

// PlanDrain returns the calls by which all targets leave.
func PlanDrain(have State) []Action {
	p := &planner{have: have}
	for _, g := range have.Groups {
		p.deregister(g.Name, g.Targets)
	}
	return p.steps.Actions
}

// PlanDelete returns how everything of a Service is removed. An action that AWS
// is not ready for yet is tried again later, with those behind it.
func PlanDelete(ref hook.Ref, have State) []Action {
	p := &planner{want: Stack{Ref: ref}, have: have}
	for _, l := range have.Listeners {
		p.add(DeleteListener{l.Port})
	}
	p.closeAll(false) // once the load balancer is gone, its groups are not known any more
	if have.Balancer != nil {
		p.add(DeleteBalancer{have.Balancer.Name})
	}
	for _, b := range have.Former {
		p.add(DeleteBalancer{b.Name})
	}
	for _, g := range have.Groups {
		p.add(DeleteTargetGroup{g.Name})
	}
	if have.Frontend == nil {
		return p.steps.Actions
	}
	p.closeAll(true)
	p.add(DeleteSecurityGroup{have.Frontend.ID})
	return p.steps.Actions
}

// closeAll closes all rules of a Service that is deleted, with or without those
// of its frontend.
func (p *planner) closeAll(frontend bool) {
	for _, group := range p.have.Nodes {
		c := ChangeRules{Group: group.ID}
		for _, r := range group.Rules {
			own := r.Group == p.have.FrontendID()
			ours := ownRule(p.want.Ref, p.have, r) || !own && abandoned(p.want.Ref, p.have, r, p.have.InUse())
			if ours && own == frontend && !p.have.neededByOthers(group.ID, r) {
				c.Revoke = append(c.Revoke, r)
			}
		}
		if len(c.Revoke) > 0 {
			p.add(c)
		}
	}
}
