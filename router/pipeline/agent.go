package pipeline

import (
	"maps"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// agentPolicies are what the policy agent has to decide for the wanted state.
type agentPolicies struct {
	// uses counts the backends whose records name a policy.
	uses map[string]agentUse
	// changed is true if these are others than AgentPolicies returned last.
	changed bool
	// decided are the IDs that the agent decides by; nil if that is not asked for.
	decided map[string]struct{}
	// unusable are the IDs of those that it cannot use, with the reason, and troubles what it
	// cannot read for others.
	unusable map[string]string
	troubles snapshot.Troubles
}

type agentUse struct {
	agent *model.Agent
	count int
}

func newAgentPolicies() agentPolicies { return agentPolicies{uses: map[string]agentUse{}} }

// use counts a backend that names a policy, or one less. Of policies with the same ID
// the last one counts: they differ in the pods of an auth server at most.
func (a *agentPolicies) use(p *model.Agent, n int) {
	if p == nil {
		return
	}
	u := a.uses[p.ID]
	was := u
	if u.count += n; n > 0 {
		u.agent = p
	}
	if u.count <= 0 {
		delete(a.uses, p.ID)
	} else {
		a.uses[p.ID] = u
	}
	a.changed = a.changed || was.agent == nil || u.count <= 0 || was.agent.Policy != u.agent.Policy
}

// AgentPolicies returns what the agent has to decide by now, by ID, and whether that
// may be others than at the last call.
func (p *Pipeline) AgentPolicies() (all map[string]*model.Agent, changed bool) {
	if !p.agent.changed {
		return nil, false
	}
	p.agent.changed = false
	all = make(map[string]*model.Agent, len(p.agent.uses))
	for id, u := range p.agent.uses {
		all[id] = u.agent
	}
	return all, true
}

// AgentDecides notes by which policies the agent decides; until it does, policies that
// ask it are not programmed.
func (p *Pipeline) AgentDecides(ids map[string]struct{}) {
	before := p.agent.decided
	p.agent.decided = ids
	if before != nil && maps.Equal(before, ids) {
		return
	}
	for _, r := range p.objects {
		if !asksAgent(r.served) {
			continue
		}
		for _, d := range r.result.Depends {
			if policy.IsKind(d.Kind) {
				p.unreported[d] = struct{}{}
			}
		}
	}
}

// AgentFinds notes what the agent has found out about policies: those that it cannot use, with
// the reason, and what it cannot read. It returns the objects that have another status by that.
func (p *Pipeline) AgentFinds(unusable map[string]string, troubles snapshot.Troubles) (told model.Objects) {
	was := p.agent
	p.agent.unusable, p.agent.troubles = unusable, troubles
	if maps.Equal(was.unusable, unusable) && was.troubles.Equal(troubles) {
		return nil
	}
	told = model.Objects{}
	for key, r := range p.objects {
		ids := p.authenticates(r, func(*policy.Source) bool { return true })
		if !slices.ContainsFunc(ids, func(id string) bool {
			return was.unusable[id] != unusable[id] || !slices.Equal(was.troubles[id], troubles[id])
		}) {
			continue
		}
		if len(p.authenticates(r, annotated)) > 0 {
			told[key] = struct{}{}
		}
		for _, d := range r.result.Depends {
			if policy.IsKind(d.Kind) {
				p.unreported[d] = struct{}{}
			}
		}
	}
	return told
}

// annotated reports whether what authenticates clients is no policy, but annotations.
func annotated(from *policy.Source) bool { return from == nil || !policy.IsKind(from.Key.Kind) }

// authServer adds the finding that the auth server of an object's annotations fails; those of
// policies are findings of the policy.
func (p *Pipeline) authServer(findings []api.Finding, key model.Object, r *tracked) []api.Finding {
	if len(p.agent.troubles) == 0 {
		return findings
	}
	for _, id := range p.authenticates(r, annotated) {
		for _, t := range p.agent.troubles[id] {
			if t.Kind == snapshot.KindAuthServer {
				return append(slices.Clip(findings), policy.AuthServerError(r.door.Ref(key), "metadata.annotations["+policy.AnnotationAuthURL+"]", t))
			}
		}
	}
	return findings
}

// authenticates returns the IDs by which the agent admits clients of an object, where that comes
// from such a source: rules of one object may have different ones.
func (p *Pipeline) authenticates(r *tracked, by func(*policy.Source) bool) (ids []string) {
	for _, c := range r.served {
		a := c.Backend.Policy().Agent
		if a != nil && !slices.Contains(ids, a.ID) && by(p.EffectiveOf(c).Origin(policy.GroupAuthentication)) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// fate returns what became of an object by a policy.
func (p *Pipeline) fate(r *tracked, of model.Object) policy.Fate {
	f := policy.Fate{Refused: r.refusal != nil, Barred: r.barred, Undecided: p.undecided(r)}
	if len(p.agent.unusable)+len(p.agent.troubles) == 0 {
		return f
	}
	for _, id := range p.authenticates(r, func(from *policy.Source) bool { return from != nil && from.Key == of }) {
		f.Troubles = snapshot.Worst(f.Troubles, p.agent.troubles[id])
		if why := p.agent.unusable[id]; why != "" && f.Unusable == "" {
			f.Unusable = why
		}
	}
	return f
}

func asksAgent(claims []*model.Claim) bool {
	for _, c := range claims {
		if len(c.Backend.Policy().AgentParts()) > 0 {
			return true
		}
	}
	return false
}

// undecided reports whether the agent does not decide yet by what an object asks of it.
func (p *Pipeline) undecided(r *tracked) bool {
	if p.agent.decided == nil {
		return false
	}
	for _, c := range r.served {
		for _, a := range c.Backend.Policy().AgentParts() {
			if _, decides := p.agent.decided[a.ID]; !decides {
				return true
			}
		}
	}
	return false
}
