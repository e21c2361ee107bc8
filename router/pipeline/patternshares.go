package pipeline

import (
	"maps"
	"slices"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// patternShares bounds the routes whose paths are chosen or replaced by a pattern, or that let
// clients in by one, in each namespace and in all: the oldest ones have theirs applied. It is a function of the
// claims alone, so that every router decides the same.
//
// Within the bounds, a change costs one look. Beyond them it costs a walk over all routes
// with patterns, and those of which another is decided are ingested again.
type patternShares struct {
	// asking has one claim of each route with a pattern, and bounds how many its namespace may
	// have by the word of administrators, for those of whom it is said.
	asking     map[model.Object]*model.Claim
	bounds     map[model.Object]int
	namespaces map[string]int
	// refused are the routes whose patterns are not applied.
	refused model.Objects
	changed bool
}

func newPatternShares() patternShares {
	return patternShares{asking: map[model.Object]*model.Claim{}, bounds: map[model.Object]int{}, namespaces: map[string]int{}, refused: model.Objects{}}
}

// set notes what a route asks for now, and how many its namespace may have.
func (p *patternShares) set(key model.Object, r *door.Result) {
	var now *model.Claim
	bound := r.Patterns // 0 is as many as settings say
	switch i := slices.IndexFunc(r.Claims, asksForPattern); {
	case i >= 0:
		now = r.Claims[i]
	case r.Patterned && len(r.Claims) > 0:
		now = r.Claims[0]
	}
	old := p.asking[key]
	if now == nil {
		bound = 0
	}
	if before := p.bounds[key]; before != bound {
		p.changed = true
		delete(p.bounds, key)
		if bound > 0 {
			p.bounds[key] = bound
		}
	}
	switch {
	case now == nil && old == nil:
		return
	case now == nil:
		delete(p.asking, key) // if it was refused, settle tells
		if p.namespaces[key.Namespace]--; p.namespaces[key.Namespace] == 0 {
			delete(p.namespaces, key.Namespace)
		}
	case old == nil:
		p.asking[key] = now
		p.namespaces[key.Namespace]++
	default:
		p.asking[key] = now
		if model.ByAge(old, now) == 0 {
			return
		}
	}
	p.changed = true
}

func asksForPattern(c *model.Claim) bool {
	if n, _ := c.Conditions.Expressions(); n > 0 {
		return true
	}
	p := c.Backend.Policy()
	return p.Rewrite != nil && p.Rewrite.Regex != nil || model.Patterned(p.Redirects)
}

// isRefused reports whether the pattern of a route is not applied.
func (p *patternShares) isRefused(key model.Object) bool {
	_, refused := p.refused[key]
	return refused
}

// settle decides again where something has changed, or everywhere, and returns the
// routes of which another is decided.
func (p *patternShares) settle(s door.Settings, all bool) model.Objects {
	if !p.changed && !all {
		return nil
	}
	p.changed = false
	most, mostInNamespace := s.PatternLimits()
	within := len(p.asking) <= most
	for _, n := range p.namespaces {
		within = within && n <= mostInNamespace
	}
	for key, bound := range p.bounds {
		within = within && p.namespaces[key.Namespace] <= bound
	}
	before := p.refused
	p.refused = model.Objects{}
	if !within {
		p.refuse(most, mostInNamespace)
	}
	return differences(before, p.refused)
}

// differences are the objects that one of two sets has.
func differences(a, b model.Objects) model.Objects {
	out := model.Objects{}
	for _, sets := range [][2]model.Objects{{a, b}, {b, a}} {
		for key := range sets[0] {
			if _, both := sets[1][key]; !both {
				out[key] = struct{}{}
			}
		}
	}
	return out
}

func (p *patternShares) refuse(most, mostInNamespace int) {
	applied := map[string]int{}
	total := 0
	for _, c := range slices.SortedFunc(maps.Values(p.asking), model.ByAge) {
		bound := mostInNamespace
		if own, said := p.bounds[c.Owner]; said {
			bound = min(bound, own)
		}
		if total == most || applied[c.Owner.Namespace] >= bound {
			p.refused[c.Owner] = struct{}{}
			continue
		}
		total++
		applied[c.Owner.Namespace]++
	}
}
