package traffic

import (
	"math"
	"time"
)

// Ledger keeps the counters of all Routes. One goroutine uses it at a time.
type Ledger struct {
	// rows is how many rows there may be, full how many are taken: counted at each Take, and one more for each new Route.
	rows, full int
	routes     map[Route]*route
	backends   map[string]*backend
	// pid is the process that was read last; 0 before the first reading.
	pid   int
	round uint64
	aged  time.Time
	// overtaken are backends that TakeSome read while a reading of all was under way.
	overtaken map[string]bool
	reading   bool

	rest, retired, total Counts
	restGauges           Gauges
}

type backend struct {
	route *route
	last  Counts
	round uint64
}

type route struct {
	Route
	place place
	// since is when it came to its place, until how long it keeps a row that others have earned.
	since, until time.Time
	// retired is when its last row went.
	retired time.Time
	counts  Counts
	gauges  Gauges
	// score are its requests, those of long ago weighing less.
	score    float64
	backends int
	// earned is the last round in which it was among those that have earned a row.
	earned uint64
}

// place says where what a Route has had is counted.
type place int

const (
	inRest place = iota
	// entering: in the rest, beside a row of zeros.
	entering
	detailed
	// leaving: in the rest, beside a row that does not change any more.
	leaving
)

// New returns a ledger without anything.
func New() *Ledger {
	l := &Ledger{routes: map[Route]*route{}, backends: map[string]*backend{}}
	l.SetSeries(Series)
	return l
}

// SetSeries sets the budget. It holds from the next Take on; rows that are too many then stay for Settle.
func (l *Ledger) SetSeries(n int) { l.rows = max((n-reserved)/SeriesPerRow-1, 1) }

// Begin says that all backends are about to be read.
func (l *Ledger) Begin() { l.reading, l.overtaken = true, map[string]bool{} }

// Take takes in a reading of all backends of a process. The first one is where counting begins.
func (l *Ledger) Take(pid int, all []Reading, now time.Time) {
	first := l.pid == 0
	l.process(pid)
	l.reading = false
	l.round++
	l.age(now)
	l.restGauges = Gauges{}
	for _, r := range l.routes {
		r.gauges = Gauges{}
		if r.place == entering && now.Sub(r.since) >= Settle {
			r.place, r.since = detailed, now
		}
	}
	for i := range all {
		b := l.backend(all[i].Backend)
		if b == nil {
			continue
		}
		b.round = l.round
		b.route.gauges.add(all[i].Gauges)
		switch {
		case l.overtaken[all[i].Backend]: // this reading may be the older one
		case first:
			b.last = all[i].Counts
		default:
			l.count(b, &all[i].Counts)
		}
	}
	for name, b := range l.backends {
		if b.round != l.round && !l.overtaken[name] {
			l.Gone(name)
		}
	}
	l.overtaken = nil
	l.choose(now)
	l.full = l.used()
	for _, r := range l.routes {
		if r.place == inRest || r.place == leaving {
			l.restGauges.add(r.gauges)
		}
	}
}

// TakeSome takes in a reading of some backends, before they go.
func (l *Ledger) TakeSome(pid int, some []Reading) {
	if l.pid == 0 {
		return
	}
	l.process(pid)
	for i := range some {
		b := l.backend(some[i].Backend)
		if b == nil {
			continue
		}
		if l.reading {
			l.overtaken[some[i].Backend] = true
		}
		l.count(b, &some[i].Counts)
	}
}

// Gone says that HAProxy does not have a backend any more. One of the same name counts from 0.
func (l *Ledger) Gone(name string) {
	if b := l.backends[name]; b != nil {
		b.route.backends--
		delete(l.backends, name)
	}
	if l.reading {
		l.overtaken[name] = true
	}
}

// process notes which process is read: a new one has counted from 0.
func (l *Ledger) process(pid int) {
	if l.pid != 0 && l.pid != pid {
		for _, b := range l.backends {
			b.last = Counts{}
		}
		clear(l.overtaken)
	}
	l.pid = pid
}

// backend returns what is known of a backend, or nil if it is no Route's. A new Route has a row at once, if there is
// room, so that the row misses nothing.
func (l *Ledger) backend(name string) *backend {
	if b := l.backends[name]; b != nil {
		return b
	}
	key, ok := routeOf(name)
	if !ok {
		return nil
	}
	r := l.routes[key]
	if r == nil {
		r = &route{Route: key}
		if l.full < l.rows {
			r.place = detailed
			l.full++
		}
		l.routes[key] = r
	}
	r.backends++
	b := &backend{route: r}
	l.backends[name] = b
	return b
}

// count adds what a backend has counted since it was read last.
func (l *Ledger) count(b *backend, now *Counts) {
	d := now.since(&b.last)
	b.last = *now
	if d == (Counts{}) {
		return
	}
	b.route.score += float64(d.requests())
	l.total.add(&d)
	if b.route.place == detailed {
		b.route.counts.add(&d)
		return
	}
	l.rest.add(&d)
}

// leastScore is what counts as no request.
const leastScore = 0.01

// age lets former requests lose weight.
func (l *Ledger) age(now time.Time) {
	if !l.aged.IsZero() {
		factor := math.Exp(-max(now.Sub(l.aged), 0).Seconds() / window.Seconds())
		for _, r := range l.routes {
			if r.score *= factor; r.score < leastScore {
				r.score = 0
			}
		}
	}
	l.aged = now
}

// Rows calls each with all rows, in no order.
func (l *Ledger) Rows(each func(Row)) {
	for _, r := range l.routes {
		if r.place != inRest {
			each(Row{Route: r.Route, Counts: r.counts, Gauges: r.gauges, Ended: r.place == leaving})
		}
	}
}

// Rest returns what all Routes without a row have had.
func (l *Ledger) Rest() (Counts, Gauges) { return l.rest, l.restGauges }

// Total returns what all Routes have had: rows, rest, and rows that have gone.
func (l *Ledger) Total() Counts { return l.total }
