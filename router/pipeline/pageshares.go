package pipeline

import (
	"maps"
	"slices"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// pageShares bounds the bytes of error pages, in each namespace and in all: the oldest
// routes show theirs. A page that several routes show counts once. It is a function of
// the claims alone, so that every router decides the same, and costs as patternShares
// does.
type pageShares struct {
	// asking has one claim of each route with pages.
	asking map[model.Object]*model.Claim
	// sums are what namespaces ask for; that of the empty name is for all.
	sums map[string]*pageSum
	// refused are the routes whose pages are not shown.
	refused model.Objects
	changed bool
}

// pageSum adds different pages up.
type pageSum struct {
	uses  map[string]int
	bytes int
}

func (s *pageSum) add(pages map[string]*model.Page, n int) {
	for hash, page := range pages {
		before := s.uses[hash]
		s.uses[hash] = before + n
		switch {
		case before == 0:
			s.bytes += len(page.Text)
		case before+n == 0:
			delete(s.uses, hash)
			s.bytes -= len(page.Text)
		}
	}
}

// with returns the sum with some more pages.
func (s *pageSum) with(pages map[string]*model.Page) int {
	bytes := s.bytes
	for hash, page := range pages {
		if s.uses[hash] == 0 {
			bytes += len(page.Text)
		}
	}
	return bytes
}

func newPageShares() pageShares {
	return pageShares{asking: map[model.Object]*model.Claim{}, sums: map[string]*pageSum{}, refused: model.Objects{}}
}

// sum returns what a namespace has in some sums.
func sum(sums map[string]*pageSum, namespace string) *pageSum {
	s := sums[namespace]
	if s == nil {
		s = &pageSum{uses: map[string]int{}}
		sums[namespace] = s
	}
	return s
}

// set notes what a route asks for now.
func (p *pageShares) set(key model.Object, claims []*model.Claim) {
	var now *model.Claim
	if i := slices.IndexFunc(claims, func(c *model.Claim) bool { return c.Backend.Policy().Pages != nil }); i >= 0 {
		now = claims[i]
	}
	old := p.asking[key]
	if old == nil && now == nil {
		return
	}
	p.count(old, -1)
	p.count(now, 1)
	if now == nil {
		delete(p.asking, key)
	} else {
		p.asking[key] = now
	}
	p.changed = true
}

func (p *pageShares) count(c *model.Claim, n int) {
	if c == nil {
		return
	}
	pages := c.Backend.Policy().Pages.Asked()
	for _, namespace := range []string{"", c.Owner.Namespace} {
		s := sum(p.sums, namespace)
		if s.add(pages, n); len(s.uses) == 0 {
			delete(p.sums, namespace)
		}
	}
}

// isRefused reports whether the pages of a route are not shown.
func (p *pageShares) isRefused(key model.Object) bool {
	_, refused := p.refused[key]
	return refused
}

// settle decides again where something has changed, or everywhere, and returns the
// routes of which another is decided.
func (p *pageShares) settle(s door.Settings, all bool) model.Objects {
	if !p.changed && !all {
		return nil
	}
	p.changed = false
	most, mostInNamespace := s.PageLimits()
	within := true
	for namespace, asked := range p.sums {
		if namespace == "" {
			within = within && asked.bytes <= most
			continue
		}
		within = within && asked.bytes <= mostInNamespace
	}
	before := p.refused
	p.refused = model.Objects{}
	if !within {
		p.refuse(most, mostInNamespace)
	}
	return differences(before, p.refused)
}

func (p *pageShares) refuse(most, mostInNamespace int) {
	shown := map[string]*pageSum{}
	for _, c := range slices.SortedFunc(maps.Values(p.asking), model.ByAge) {
		pages := c.Backend.Policy().Pages.Asked()
		all, own := sum(shown, ""), sum(shown, c.Owner.Namespace)
		if all.with(pages) > most || own.with(pages) > mostInNamespace {
			p.refused[c.Owner] = struct{}{}
			continue
		}
		all.add(pages, 1)
		own.add(pages, 1)
	}
}
