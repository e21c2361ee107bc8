package pipeline

import (
	"maps"
	"slices"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// index leads from an object to those that depend on it, kind by kind.
type index map[model.Kind]map[model.Object]dependents

// replace changes what an object depends on, and returns the kinds of which it
// depends on others than before.
func (x index) replace(o *tracked, before, now []model.Object) (changed []model.Kind) {
	if slices.Equal(before, now) {
		return nil
	}
	for _, d := range before {
		of := x[d.Kind]
		if rest := of[d].with(o, false); rest.empty() {
			delete(of, d)
		} else {
			of[d] = rest
		}
		changed = append(changed, d.Kind)
	}
	for _, d := range now {
		if x[d.Kind] == nil {
			x[d.Kind] = map[model.Object]dependents{}
		}
		x[d.Kind][d] = x[d.Kind][d].with(o, true)
		changed = append(changed, d.Kind)
	}
	return changed
}

// addTo adds the dependents of an object to a set.
func (x index) addTo(set model.Objects, o model.Object) { x[o.Kind][o].addTo(set) }

// all returns the objects of a kind that others depend on.
func (x index) all(kind model.Kind) model.Objects {
	set := make(model.Objects, len(x[kind]))
	for o := range maps.Keys(x[kind]) {
		set[o] = struct{}{}
	}
	return set
}

// dependents are the objects that depend on one: most often one, for which a set
// would take ten times the memory. A Gateway may have tens of thousands.
type dependents struct {
	first  *tracked
	others map[*tracked]struct{}
}

func (d dependents) empty() bool { return d.first == nil }

// with returns the dependents with an object more, or less.
func (d dependents) with(o *tracked, more bool) dependents {
	switch {
	case more && d.empty():
		d.first = o
	case more && d.first != o:
		if d.others == nil {
			d.others = map[*tracked]struct{}{}
		}
		d.others[o] = struct{}{}
	case !more && d.first == o:
		d.first = nil
		for other := range d.others {
			d.first = other
			delete(d.others, other)
			break
		}
	case !more:
		delete(d.others, o)
	}
	return d
}

func (d dependents) addTo(set model.Objects) {
	if !d.empty() {
		set[d.first.result.Object] = struct{}{}
	}
	for o := range d.others {
		set[o.result.Object] = struct{}{}
	}
}

// Needed returns the Secrets and ConfigMaps that routes name, and whether those may be
// others than at the last call.
func (p *Pipeline) Needed() (all model.Objects, changed bool) {
	if !p.neededChanged {
		return nil, false
	}
	p.neededChanged = false
	all = p.index.all(door.KindSecret)
	maps.Copy(all, p.index.all(door.KindConfigMap))
	return all, true
}

// Needs reports whether any route names a Secret or ConfigMap.
func (p *Pipeline) Needs() bool {
	return len(p.index[door.KindSecret])+len(p.index[door.KindConfigMap]) > 0
}
