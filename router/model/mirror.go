package model

import (
	"strconv"
	"strings"
)

// Mirror sends copies of requests to other servers, whose answers are dropped. The policy
// agent sends them.
type Mirror struct {
	// Agent is where the copies go, as the agent reads it: a policy that has nothing but
	// targets.
	Agent *Agent
	// Targets are as many as the agent's, in their order.
	Targets []MirrorTarget
}

// MirrorTarget is what HAProxy knows of a target.
type MirrorTarget struct {
	// Share is in hundredths of a percent of the requests.
	Share int
	// Body is how many bytes a body may have that is copied; 0 copies none.
	Body int
	// To says where to, for people.
	To string
}

// mirror writes the field of a record that templates/mirror.lua reads:
//
//	ID;SHARE*BODY+…
func mirror(p *Policy) string {
	m := p.Mirror
	if m == nil {
		return ""
	}
	targets := make([]string, len(m.Targets))
	for i, t := range m.Targets {
		targets[i] = strconv.Itoa(t.Share) + "*" + strconv.Itoa(t.Body)
	}
	return m.Agent.ID + ";" + strings.Join(targets, "+")
}

// String says what is copied, for people.
func (m *Mirror) String() string {
	parts := make([]string, len(m.Targets))
	for i, t := range m.Targets {
		parts[i] = strconv.FormatFloat(float64(t.Share)/100, 'f', -1, 64) + " % to " + t.To
		if t.Body > 0 {
			parts[i] += " with bodies of up to " + strconv.Itoa(t.Body) + " bytes"
		}
	}
	return strings.Join(parts, ", ")
}

// AgentParts are what the policy agent has to know for a policy.
func (p *Policy) AgentParts() []*Agent {
	var out []*Agent
	if p.Agent != nil {
		out = append(out, p.Agent)
	}
	if p.Mirror != nil {
		out = append(out, p.Mirror.Agent)
	}
	if p.Counted != nil {
		out = append(out, p.Counted)
	}
	return out
}
