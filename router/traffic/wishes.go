package traffic

import (
	"cmp"
	"slices"

	"github.com/fairlead/fairlead/router/model"
)

const (
	// askedShare is of how many equal parts of the rows one is for Routes that ask for theirs. The others are for the busiest, so
	// that what tenants ask for does not hide them.
	askedShare = 2
	// namespaceAskedShare is of how many parts a namespace has one for its Routes that ask.
	namespaceAskedShare = 8
)

// wishes are the Routes that ask for rows, and what became of it.
type wishes struct {
	measures map[Route]model.Measure
	asking   Asking
}

// Asking counts Routes that ask for series of their own.
type Asking struct {
	// Granted are those that are among the first to get some, LeftOut those that are too many: they get some if they are busy.
	Granted, LeftOut int
}

// SetMeasures says, by the names of backends, which Routes ask for rows. It holds from the next End on.
func (l *Ledger) SetMeasures(backends map[string]model.Measure) {
	l.measures = make(map[Route]model.Measure, len(backends))
	for name, m := range backends {
		if key, ok := routeOf(name); ok && m.Asks() {
			l.measures[key] = m
		}
	}
}

// Asking returns what became of wishes at the last End.
func (l *Ledger) Asking() Asking { return l.asking }

// hear chooses among the Routes that ask for rows: of a namespace those with most requests, and of these those that have rows.
func (l *Ledger) hear() {
	for _, r := range l.routes {
		r.asked = false
	}
	var asking []*route
	for key := range l.measures {
		if r := l.routes[key]; r != nil && r.backends > 0 {
			asking = append(asking, r)
		}
	}
	has := func(r *route) int {
		if r.place == inRest {
			return 0
		}
		return 1
	}
	slices.SortFunc(asking, func(a, b *route) int {
		if c := cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(has(b), has(a))); c != 0 {
			return c
		}
		return byName(a, b)
	})
	of := map[string]int{}
	l.asking = Asking{}
	for _, r := range asking {
		if l.asking.Granted >= max(l.rows/askedShare, 1) || of[r.Namespace] >= max(l.rows/namespaceAskedShare, 1) {
			l.asking.LeftOut++
			continue
		}
		r.asked = true
		of[r.Namespace]++
		l.asking.Granted++
	}
}
