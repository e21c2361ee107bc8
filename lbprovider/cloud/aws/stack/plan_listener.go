package stack

import (
	"slices"
	"strconv"
)

// listeners plans the ports: what is not wanted goes first, because it may be in
// the way; the others are matched by port, so that they keep their ARN.
func (p *planner) listeners() {
	have := p.have.Listeners
	if p.have.Balancer == nil {
		have = nil // they went with it
	}
	for _, h := range have {
		if !slices.ContainsFunc(p.want.Listeners, func(w Listener) bool { return w.Port == h.Port }) {
			p.add(DeleteListener{h.Port})
		}
	}
	for _, w := range p.want.Listeners {
		i := slices.IndexFunc(have, func(h Listener) bool { return h.Port == w.Port })
		if i < 0 {
			p.add(CreateListener{w})
			p.listenerRest(w, Listener{Certificates: first(w.Certificates), Attributes: defaultListenerAttributes(), Tags: w.Tags})
			continue
		}
		h := have[i]
		if differs(w, h) {
			p.add(ModifyListener{w})
			h.Certificates = append(first(w.Certificates), h.Certificates...)
		}
		p.listenerRest(w, h)
	}
}

func first(list []string) []string { return slices.Clone(list[:min(len(list), 1)]) }

func differs(w, h Listener) bool {
	return w.Protocol != h.Protocol || w.Group != h.Group || w.RedirectTLS != h.RedirectTLS || w.Policy != h.Policy || w.ALPN != h.ALPN ||
		!slices.Equal(first(w.Certificates), first(h.Certificates))
}

// listenerRest plans what CreateListener and ModifyListener do not do.
func (p *planner) listenerRest(w, h Listener) {
	var c ChangeCertificates
	if secure := w.Protocol == "TLS" || w.Protocol == "HTTPS"; secure {
		for _, arn := range w.Certificates {
			if !slices.Contains(h.Certificates, arn) {
				c.Add = append(c.Add, arn)
			}
		}
		for _, arn := range h.Certificates {
			if !slices.Contains(w.Certificates, arn) && !slices.Contains(c.Remove, arn) {
				c.Remove = append(c.Remove, arn)
			}
		}
	}
	if len(c.Add)+len(c.Remove) > 0 {
		c.Port = w.Port
		p.add(c)
	}
	if changed := changedAttributes(w.Attributes, h.Attributes, h.Tags, defaultListenerAttributes()); len(changed) > 0 && w.Protocol == "TCP" {
		p.add(SetListenerAttributes{w.Port, changed})
	}
	p.tags(Resource{Port: w.Port}, w.Tags, h.Tags)
}

// targets plans the targets of groups: those that are missing come before
// those that are too many go, so that there is always a target that serves.
func (p *planner) targets(groups []TargetGroup) {
	var gone []Action
	for _, want := range groups {
		var have []Target
		if g := p.existing(want.Name); g != nil {
			have = g.Targets
		}
		add, remove := TargetChanges(want.Targets, have)
		if len(add) > 0 && len(remove) > 0 && len(remove) == len(have) {
			// AWS may refuse all that come, so one stays until the next pass.
			p.wait("a target of port " + strconv.Itoa(int(want.ServicePort)) + " stays until others are registered")
			remove = remove[1:]
		}
		if over := len(have) + len(add) - maxGroupTargets; over > 0 {
			first := min(over, len(remove)) // or there is no room
			p.deregister(want.Name, remove[:first])
			remove = remove[first:]
		}
		for part := range slices.Chunk(add, chunk) {
			p.add(Register{want.Name, part})
		}
		for part := range slices.Chunk(remove, chunk) {
			gone = append(gone, Deregister{want.Name, part})
		}
	}
	p.add(gone...)
}

func (p *planner) deregister(name string, targets []Target) {
	for part := range slices.Chunk(targets, chunk) {
		p.add(Deregister{name, part})
	}
}

// TargetChanges returns what is to be registered and deregistered.
func TargetChanges(want, have []Target) (add, remove []Target) {
	id := func(t Target) Target { t.Zone = ""; return t }
	has := func(list []Target, t Target) bool {
		return slices.ContainsFunc(list, func(o Target) bool { return id(o) == id(t) })
	}
	for _, t := range want {
		if !has(have, t) && !has(add, t) {
			add = append(add, t)
		}
	}
	for _, t := range have {
		if !has(want, t) {
			remove = append(remove, t)
		}
	}
	return add, remove
}

// PlanTargets is the part of Plan that concerns targets.
func PlanTargets(want Stack, have State) []Action {
	p := &planner{want: want, have: have}
	p.openNodes()
	p.targets(slices.DeleteFunc(slices.Clone(want.Groups), func(g TargetGroup) bool { return p.existing(g.Name) == nil }))
	p.closeNodes()
	return p.steps.Actions
}
