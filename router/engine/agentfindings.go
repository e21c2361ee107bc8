package engine

import (
	"maps"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	agent "github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

const (
	// troublePause is between two changes of what the agent is said to be unable to read: each
	// is written to policies, and an issuer may come and go.
	troublePause = 5 * time.Second
	// longestReason bounds what the agent says about a policy that it cannot use.
	longestReason = 256
)

// hearAgent takes in what the agent has found out. It comes from a process that speaks with
// other servers, so nothing of it is passed on as it is.
func (e *Engine) hearAgent(r *agent.Reply, now time.Time) {
	a := &e.agent
	closed := map[string]string{}
	for id, why := range r.Closed {
		if a.wanted[id] == nil {
			continue
		}
		closed[id] = terminal.Excerpt(why, longestReason)
		if a.closed[id] != closed[id] {
			e.log.Error("the policy agent cannot use a policy; what asks for it gets 503", "policy", id, "err", closed[id])
		}
	}
	a.closed, a.heard = closed, snapshot.Troubles{}
	for id, list := range r.Troubles {
		if a.wanted[id] == nil {
			continue
		}
		var clean []snapshot.Trouble
		for _, t := range list[:min(len(list), snapshot.MaxTroublesEach)] {
			if t, good := t.Clean(); good {
				clean = append(clean, t)
			}
		}
		if len(clean) > 0 {
			a.heard[id] = snapshot.Worst(clean)
		}
	}
	if !a.heard.Equal(a.troubles) && !now.Before(a.taken.Add(troublePause)) {
		a.troubles, a.taken = a.heard, now
	}
}

// unusable are the policies that the agent will not decide by as they are, with the reason.
func (a *agentLink) unusable() map[string]string {
	all := maps.Clone(a.closed)
	for id, why := range a.left {
		if a.wanted[id] != nil {
			if all == nil {
				all = map[string]string{}
			}
			all[id] = why
		}
	}
	return all
}
