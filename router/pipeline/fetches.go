package pipeline

import (
	"maps"
	"slices"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// fetches are the pages that the router asks Services for: each once, however many routes
// show it, and what was answered.
type fetches struct {
	// asking has what each object asks for.
	asking map[model.Object][]model.PageFetch
	// by has the objects that ask for each.
	by map[model.Object]model.Objects
	// answered are what Services answered last.
	answered map[model.Object]*policy.ServicePages
	// changed is true if these are others than Fetches returned last.
	changed bool
}

func newFetches() fetches {
	return fetches{asking: map[model.Object][]model.PageFetch{}, by: map[model.Object]model.Objects{}, answered: map[model.Object]*policy.ServicePages{}}
}

// pages implements door.Past.Fetched.
func (f *fetches) pages(key model.Object) *policy.ServicePages { return f.answered[key] }

// set notes what an object asks for.
func (f *fetches) set(key model.Object, now []model.PageFetch) {
	before := f.asking[key]
	if slices.EqualFunc(before, now, model.PageFetch.Equal) {
		return
	}
	f.changed = true
	for _, w := range before {
		delete(f.by[w.Key], key)
	}
	for _, w := range now {
		if f.by[w.Key] == nil {
			f.by[w.Key] = model.Objects{}
		}
		f.by[w.Key][key] = struct{}{}
	}
	for _, w := range before {
		if len(f.by[w.Key]) == 0 {
			delete(f.by, w.Key)
			delete(f.answered, w.Key)
		}
	}
	if f.asking[key] = now; len(now) == 0 {
		delete(f.asking, key)
	}
}

// Fetches returns what to ask Services for from now on, and whether that may be other
// pages than at the last call.
func (p *Pipeline) Fetches() (all []model.PageFetch, changed bool) {
	if !p.fetches.changed {
		return nil, false
	}
	p.fetches.changed = false
	for key, by := range p.fetches.by {
		codes := map[int]struct{}{}
		fetch := model.PageFetch{Key: key}
		for object := range by {
			if p.shares.fetches.isRefused(object) {
				continue
			}
			for _, w := range p.fetches.asking[object] {
				if w.Key != key {
					continue
				}
				fetch.Host, fetch.Addresses = w.Host, w.Addresses
				for _, code := range w.Codes {
					codes[code] = struct{}{}
				}
			}
		}
		if fetch.Codes = slices.Sorted(maps.Keys(codes)); len(codes) > 0 {
			all = append(all, fetch)
		}
	}
	return all, true
}

// FetchResult is what a Service answered.
type FetchResult struct {
	Key   model.Object
	Pages *policy.ServicePages
}

// TakeFetches takes answers in, and returns what they change.
func (p *Pipeline) TakeFetches(results []FetchResult) door.Changes {
	ch := door.Changes{Objects: model.Objects{}}
	for _, r := range results {
		if p.fetches.by[r.Key] != nil && !r.Pages.Equal(p.fetches.answered[r.Key]) {
			p.fetches.answered[r.Key] = r.Pages
			ch.Objects[r.Key] = struct{}{}
		}
	}
	return ch
}
