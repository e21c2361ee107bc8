package pipeline

import (
	"slices"

	"github.com/fairlead/fairlead/router/model"
)

// measures are how the requests of objects are counted that say so.
type measures struct {
	of map[model.Object]measured
	// changed is true if these are others than Measures returned last.
	changed bool
}

// measured is what an object asks for, and its backends.
type measured struct {
	model.Measure
	backends []string
}

func newMeasures() measures { return measures{of: map[model.Object]measured{}} }

// note takes in what an object asks for now.
func (m *measures) note(key model.Object, r *tracked) {
	before, known := m.of[key]
	asked := r.result.Measure
	if asked == nil || len(r.served) == 0 {
		if known {
			delete(m.of, key)
			m.changed = true
		}
		return
	}
	now := measured{Measure: *asked}
	for _, c := range r.served {
		for b := range c.Backends() {
			now.backends = append(now.backends, b.Name())
		}
	}
	if known && before.Measure == now.Measure && slices.Equal(before.backends, now.backends) {
		return
	}
	m.of[key], m.changed = now, true
}

// Measures returns how requests are counted, by the names of backends, and whether that may be another way than at the last
// call.
func (p *Pipeline) Measures() (all map[string]model.Measure, changed bool) {
	if !p.measures.changed {
		return nil, false
	}
	p.measures.changed, all = false, map[string]model.Measure{}
	for _, m := range p.measures.of {
		for _, name := range m.backends {
			all[name] = m.Measure
		}
	}
	return all, true
}
