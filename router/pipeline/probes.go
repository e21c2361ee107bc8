package pipeline

import (
	"maps"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// probes are the endpoints that the router itself asks whether they are healthy: each
// once, however many backends of its namespace have it, and what they answered.
type probes struct {
	targets map[model.ProbeTarget]*probed
	// left are targets that a backend has given up. One that no other has taken up by the
	// end of an update is forgotten.
	left map[model.ProbeTarget]struct{}
	// namespaces have what the probes of each may cost, dirty are those that have changed.
	namespaces map[string]*probedNamespace
	dirty      map[string]struct{}
	// changed is true if these are others than Probes returned last.
	changed bool
}

type probed struct {
	backends map[string]*model.Backend
	sick     bool
}

type probedNamespace struct {
	// cost is what is asked for in an hour, as model.Claim.Checks counts it, and stretch
	// how many times longer than asked for the pauses are.
	cost    int64
	stretch int
}

func newProbes() probes {
	return probes{
		targets: map[model.ProbeTarget]*probed{}, left: map[model.ProbeTarget]struct{}{},
		namespaces: map[string]*probedNamespace{}, dirty: map[string]struct{}{},
	}
}

// add takes the targets of a backend up, drop gives them up.
func (p *probes) add(b *model.Backend) {
	b.Targets(func(_ *model.Server, t model.ProbeTarget) {
		target := p.targets[t]
		if target == nil {
			target = &probed{backends: map[string]*model.Backend{}}
			p.targets[t], p.changed = target, true
			p.count(t, 1)
		}
		target.backends[b.Name()] = b
	})
}

func (p *probes) drop(b *model.Backend) {
	b.Targets(func(_ *model.Server, t model.ProbeTarget) {
		if target := p.targets[t]; target != nil {
			delete(target.backends, b.Name())
			p.left[t] = struct{}{}
		}
	})
}

// handshakeProbes is for how many probes one with a TLS handshake counts.
const handshakeProbes = 5

func (p *probes) count(t model.ProbeTarget, n int64) {
	if t.TLS {
		n *= handshakeProbes
	}
	of := p.namespaces[t.Namespace]
	if of == nil {
		of = &probedNamespace{stretch: 1}
		p.namespaces[t.Namespace] = of
	}
	of.cost += n * max(int64(time.Hour/t.Probe.Interval), 1)
	p.dirty[t.Namespace] = struct{}{}
}

// sick reports whether a target has failed its probes.
func (p *probes) sick(t model.ProbeTarget) bool {
	target := p.targets[t]
	return target != nil && target.sick
}

// settle forgets what no backend has any more, and shares out again what namespaces may
// cost. It returns those that get less than they ask for now and did not, or the other
// way round.
func (p *probes) settle(s door.Settings, all bool) (turned []string) {
	for t := range p.left {
		delete(p.left, t)
		if len(p.targets[t].backends) == 0 {
			delete(p.targets, t)
			p.changed = true
			p.count(t, -1)
		}
	}
	if all {
		for name := range p.namespaces {
			p.dirty[name] = struct{}{}
		}
	}
	for name := range p.dirty {
		delete(p.dirty, name)
		n := p.namespaces[name]
		stretch := int(max((n.cost+s.CheckBudget()-1)/s.CheckBudget(), 1))
		if (stretch > 1) != (n.stretch > 1) {
			turned = append(turned, name)
		}
		p.changed = p.changed || stretch != n.stretch
		if n.stretch = stretch; n.cost == 0 {
			delete(p.namespaces, name)
		}
	}
	return turned
}

// stretched reports whether the probes of a namespace are made less often than asked for.
func (p *probes) stretched(namespace string) bool {
	n := p.namespaces[namespace]
	return n != nil && n.stretch > 1
}

// settleProbes also has the status of the routes told that get less than they ask for,
// or did.
func (p *Pipeline) settleProbes(all bool, touched model.Objects) {
	for _, namespace := range p.probes.settle(p.settings, all) {
		p.eachObject(namespace, func(o model.Object, r *tracked) {
			if isProbed(r) {
				touched[o] = struct{}{}
			}
		})
	}
}

// isProbed reports whether the router asks endpoints of an object.
func isProbed(r *tracked) bool {
	for _, c := range r.served {
		for b := range c.Backends() {
			if b.Health != nil {
				return true
			}
		}
	}
	return false
}

// Probe is what the router asks an endpoint, and how often.
type Probe struct {
	model.ProbeTarget
	// Every is the time between two probes: the target's own, or longer.
	Every time.Duration
	// CA is the PEM text of the CA that CAID names.
	CA string
	// Sick is what the endpoint was last.
	Sick bool
}

// Probes returns what to ask from now on, and whether that may be others than at the last
// call.
func (p *Pipeline) Probes() (all []Probe, changed bool) {
	if !p.probes.changed {
		return nil, false
	}
	p.probes.changed = false
	all = make([]Probe, 0, len(p.probes.targets))
	for t, target := range p.probes.targets {
		all = append(all, Probe{
			ProbeTarget: t, Every: t.Probe.Interval * time.Duration(p.probes.namespaces[t.Namespace].stretch),
			CA: p.want.CAs[t.CAID], Sick: target.sick,
		})
	}
	return all, true
}

// AdoptProbes takes over what a former process of the router found out: which servers are
// down in the HAProxy that it left. It is for the first look at one.
func (p *Pipeline) AdoptProbes(live *plan.State) {
	var results []ProbeResult
	for t, target := range p.probes.targets {
		for name, b := range target.backends {
			has := live.Backends[name]
			if has == nil {
				continue
			}
			b.Targets(func(s *model.Server, of model.ProbeTarget) {
				if server := has.Servers.Get(s.Name()); of == t && server != nil && server.Down {
					results = append(results, ProbeResult{Target: t, Sick: true})
				}
			})
		}
	}
	p.TakeProbes(results)
	p.probes.changed = p.probes.changed || len(results) > 0
}

// ProbeResult says that an endpoint has become sick, or healthy.
type ProbeResult struct {
	Target model.ProbeTarget
	Sick   bool
}

// TakeProbes takes results in, and returns what to compare with HAProxy.
func (p *Pipeline) TakeProbes(results []ProbeResult) *plan.Scope {
	scope := plan.NewScope()
	concerned := map[string]*model.Backend{}
	for _, r := range results {
		target := p.probes.targets[r.Target]
		if target == nil || target.sick == r.Sick {
			continue
		}
		target.sick = r.Sick
		maps.Copy(concerned, target.backends)
	}
	for name, b := range concerned {
		scope.Backends[name] = struct{}{}
		p.want.Backends[name] = p.wantBackend(b)
	}
	return scope
}
