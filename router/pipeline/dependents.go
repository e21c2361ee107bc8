package pipeline

import "github.com/fairlead/fairlead/router/model"

// dependents are the routes that name one object: most often one, for which a
// set would take ten times the memory.
type dependents struct {
	first  model.Key
	others KeySet
}

func (d dependents) empty() bool { return d.first == model.Key{} }

// with returns the dependents with a route more, or less.
func (d dependents) with(key model.Key, more bool) dependents {
	switch {
	case more && d.empty():
		d.first = key
	case more && d.first != key:
		if d.others == nil {
			d.others = KeySet{}
		}
		d.others[key] = struct{}{}
	case !more && d.first == key:
		d.first = model.Key{}
		for other := range d.others {
			d.first = other
			delete(d.others, other)
			break
		}
	case !more:
		delete(d.others, key)
	}
	return d
}

func (d dependents) addTo(set KeySet) {
	if !d.empty() {
		set[d.first] = struct{}{}
	}
	for k := range d.others {
		set[k] = struct{}{}
	}
}
