package pipeline

import (
	"maps"
	"slices"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// checkShares shares out what the health checks of each namespace may cost: the
// oldest routes are checked as often as they ask for, the others less often the
// further behind they are. It is a function of the claims alone, so that every
// router, and each process after a restart, shares out the same.
//
// Where a namespace asks for no more than its budget, nothing is computed. Else
// a change costs one walk over the namespace's checked routes, and only those
// whose share is another are ingested again.
type checkShares struct {
	namespaces map[string]*checkedRoutes
	// dirty are the namespaces that have changed since the last settle.
	dirty map[string]struct{}
	// ended are routes that were ingested with a longer pause, and ask for no
	// health checks any more.
	ended model.Objects
}

type checkedRoutes struct {
	byKey map[model.Object]*checkedRoute
	// order has the oldest first. It is nil while all get what they ask for.
	order []*checkedRoute
	// total is what all ask for, and stretched how many get less.
	total     int64
	stretched int
}

type checkedRoute struct {
	// claim is the first of the route's, checks what all of them ask for.
	claim  *model.Claim
	checks int64
	// stretch is what the route was last ingested with.
	stretch int
}

func newCheckShares() checkShares {
	return checkShares{namespaces: map[string]*checkedRoutes{}, dirty: map[string]struct{}{}, ended: model.Objects{}}
}

func older(a, b *checkedRoute) int { return model.ByAge(a.claim, b.claim) }

// stretch returns how many times longer than it asks for the pause between a
// route's health checks is.
func (p *checkShares) stretch(key model.Object) int {
	if n := p.namespaces[key.Namespace]; n != nil && n.byKey[key] != nil {
		return n.byKey[key].stretch
	}
	return 1
}

// set notes what a route asks for now: the sum of its claims.
func (p *checkShares) set(key model.Object, claims []*model.Claim) {
	n := p.namespaces[key.Namespace]
	var old *checkedRoute
	if n != nil {
		old = n.byKey[key]
	}
	checks := int64(0)
	for _, c := range claims {
		checks += c.Checks
	}
	asks := checks > 0
	switch {
	case old == nil && !asks:
		return
	case old != nil && asks && old.checks == checks && model.ByAge(old.claim, claims[0]) == 0:
		old.claim = claims[0]
		return
	case n == nil:
		n = &checkedRoutes{byKey: map[model.Object]*checkedRoute{}}
		p.namespaces[key.Namespace] = n
	}
	p.dirty[key.Namespace] = struct{}{}
	now := &checkedRoute{checks: checks, stretch: 1}
	if len(claims) > 0 {
		now.claim = claims[0]
	}
	if old != nil {
		now.stretch = old.stretch
		n.remove(key, old)
	}
	switch {
	case asks:
		n.add(key, now)
	case now.stretch > 1:
		p.ended[key] = struct{}{}
	}
	if len(n.byKey) == 0 {
		delete(p.namespaces, key.Namespace)
	}
}

func (n *checkedRoutes) add(key model.Object, r *checkedRoute) {
	if n.order != nil {
		i, _ := slices.BinarySearchFunc(n.order, r, older)
		n.order = slices.Insert(n.order, i, r)
	}
	n.byKey[key] = r
	n.total += r.checks
	if r.stretch > 1 {
		n.stretched++
	}
}

func (n *checkedRoutes) remove(key model.Object, r *checkedRoute) {
	if n.order != nil {
		i, _ := slices.BinarySearchFunc(n.order, r, older)
		n.order = slices.Delete(n.order, i, i+1)
	}
	delete(n.byKey, key)
	n.total -= r.checks
	if r.stretch > 1 {
		n.stretched--
	}
}

// settle shares out again where something has changed, or everywhere, and
// returns the routes whose share is another.
func (p *checkShares) settle(s door.Settings, all bool) model.Objects {
	changed := p.ended
	p.ended = model.Objects{}
	if all {
		for name := range p.namespaces {
			p.dirty[name] = struct{}{}
		}
	}
	for name := range p.dirty {
		if n := p.namespaces[name]; n != nil {
			n.settle(s, changed)
		}
		delete(p.dirty, name)
	}
	return changed
}

func (n *checkedRoutes) settle(s door.Settings, changed model.Objects) {
	if n.total <= s.CheckBudget() && n.stretched == 0 {
		n.order = nil
		return
	}
	if n.order == nil {
		n.order = slices.SortedFunc(maps.Values(n.byKey), older)
	}
	sum := int64(0)
	n.stretched = 0
	for _, r := range n.order {
		sum += r.checks
		stretch := s.CheckStretch(sum)
		if stretch > 1 {
			n.stretched++
		}
		if stretch != r.stretch {
			r.stretch = stretch
			changed[r.claim.Owner] = struct{}{}
		}
	}
}
