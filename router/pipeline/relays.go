package pipeline

import (
	"slices"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

// relays is what the policy agent relays.
type relays struct {
	// changed is true if it may be another thing than Relays returned last.
	changed bool
	// slots are those of listeners for UDP.
	slots map[int]struct{}
}

// Relays returns the ports whose datagrams the policy agent has to relay by now, in order, and
// whether that may be others than at the last call. A listener without a route is none, so that
// clients are refused there by the pod's kernel.
func (p *Pipeline) Relays() (all []snapshot.Relay, changed bool) {
	if !p.relays.changed {
		return nil, false
	}
	p.relays.changed = false
	for number, slot := range p.listeners.bySlot {
		first := slot.first()
		if !first.Datagrams {
			continue
		}
		claims := p.claims[model.ScopedHost(first.Scope, "*")]
		if len(claims) == 0 {
			continue
		}
		to := slices.MinFunc(claims, model.ByAge).Datagrams
		relay := snapshot.Relay{Port: uint16(number), Namespace: first.Owner.Namespace, Unusable: to.Unusable}
		for _, t := range to.Targets {
			relay.Targets = append(relay.Targets, snapshot.RelayTarget{Weight: t.Weight, Endpoints: t.Pods})
		}
		all = append(all, relay)
	}
	slices.SortFunc(all, func(a, b snapshot.Relay) int { return int(a.Port) - int(b.Port) })
	return all[:min(len(all), snapshot.MaxRelays)], true
}

// decideDatagrams decides a host for datagrams, of which the oldest claim has all and no other
// one loses; false is for another host.
func (p *Pipeline) decideDatagrams(host string, claims []*model.Claim) bool {
	if len(claims) == 0 || claims[0].Datagrams == nil {
		return false
	}
	p.hosts[host] = &admit.Host{}
	return true
}

// noteDatagrams notes that what the agent relays may be another thing now.
func (p *Pipeline) noteDatagrams(old, now []*model.Claim) {
	if len(old) > 0 && old[0].Datagrams != nil || len(now) > 0 && now[0].Datagrams != nil {
		p.relays.changed = true
	}
}

// listenForDatagrams notes the same of a slot that HAProxy knows nothing of.
func (p *Pipeline) listenForDatagrams(s *slot) {
	_, was := p.relays.slots[s.number]
	first := s.first()
	is := first != nil && first.Datagrams
	switch {
	case is:
		p.relays.slots[s.number] = struct{}{}
	case was:
		delete(p.relays.slots, s.number)
	}
	p.relays.changed = p.relays.changed || was || is
}
