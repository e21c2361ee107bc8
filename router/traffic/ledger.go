package traffic

import (
	"math"
	"time"
)

// Ledger keeps the counters of all Routes. One goroutine uses it at a time.
type Ledger struct {
	// rows is how many rows there may be, full how many are taken: counted at each End, and one more for each new Route.
	rows, full int
	// series is the budget that rows is for, timed is true if rows have latencies.
	series   int
	timed    bool
	routes   map[Route]*route
	backends map[string]*backend
	// pid is the process that was read last; 0 before the first reading.
	pid   int
	round uint32
	// begun is true once all backends were read, or a process began to count.
	begun bool
	// born is the first moment that was told, from which others count.
	born, aged time.Time
	looks
	wishes
	// overtaken are backends that TakeLast read while a reading of all was under way.
	overtaken map[string]bool
	reading   bool

	rest, retired, total Counts
	restGauges           Gauges
	restLatency          Latency
}

// backend and route are small: there are very many, and most of them idle.
type backend struct {
	route *route
	// last is what was read last, nil for a backend that has had nothing.
	last   *Counts
	round  uint32
	missed bool
	gauges smallGauges
}

type route struct {
	Route
	place place
	// since is when it came to its place, until how long it keeps a row that others have earned.
	since, until time.Duration
	// retired is when its last row went.
	retired time.Duration
	// counts are those of its row, nil as long as all are 0.
	counts *Counts
	// latency is that of its row, nil as long as nothing was sampled.
	latency *Latency
	gauges  Gauges
	// score are its requests, those of long ago weighing less.
	score    float64
	backends int32
	// asked is true for one that asks for a row, and is among those that get one for that.
	asked bool
	// earned is the last round in which it was among those that have earned a row.
	earned uint32
}

// place says where what a Route has had is counted.
type place int32

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
	l := &Ledger{routes: map[Route]*route{}, backends: map[string]*backend{}, looks: looks{asked: map[string]uint32{}, unnamed: map[string]bool{}}}
	l.SetSeries(Series)
	return l
}

// SetSeries sets the budget. It holds from the next End on; rows that are too many then stay for Settle.
func (l *Ledger) SetSeries(n int) {
	l.series = n
	room := roomOfRow
	if l.timed {
		room += roomOfLatency
	}
	l.rows = max((n-reserved)/room-1, 1)
}

// Begin says that all backends are about to be read; a partial reading leaves out gauges, and is for Ask before its End.
func (l *Ledger) Begin(now time.Time, partial bool) {
	l.reading, l.partial, l.overtaken = true, partial, map[string]bool{}
	l.round++
	l.age(now)
	for _, r := range l.routes {
		if r.place == entering && l.at(now)-r.since >= Settle {
			r.place, r.since = detailed, l.at(now)
		}
	}
}

// Take takes in the reading of one of them. Those of the first time are where counting begins.
func (l *Ledger) Take(pid int, reading *Reading) {
	l.process(pid)
	b := l.backend(reading.Backend)
	if b == nil {
		return
	}
	b.round = l.round
	l.gauge(b, reading)
	switch {
	case l.overtaken[reading.Backend]: // this reading may be the older one
	case !l.begun:
		b.read(&reading.Counts)
	default:
		l.count(b, &reading.Counts)
	}
}

// End says that all backends were read. Where a reading breaks off, the next one begins in its place.
func (l *Ledger) End(now time.Time) {
	if !l.partial {
		l.endWhole(now)
	}
	l.reading, l.overtaken = false, nil
	l.choose(now)
	l.full, l.restGauges = l.used(), Gauges{}
	for _, r := range l.routes {
		if r.place == inRest || r.place == leaving {
			l.restGauges.add(r.gauges)
		}
	}
}

// TakeLast takes in the reading of a backend that is about to go.
func (l *Ledger) TakeLast(pid int, reading *Reading) {
	if !l.begun {
		return
	}
	l.process(pid)
	b := l.backend(reading.Backend)
	if b == nil {
		return
	}
	if l.reading {
		l.overtaken[reading.Backend] = true
	}
	l.count(b, &reading.Counts)
}

// Gone says that HAProxy does not have a backend any more. One of the same name counts from 0.
func (l *Ledger) Gone(name string) {
	if b := l.backends[name]; b != nil {
		b.setGauges(smallGauges{})
		b.route.backends--
		delete(l.backends, name)
		l.forget(name)
	}
	if l.reading {
		l.overtaken[name] = true
	}
}

// Started says that a process begins to count now: what its first reading has counts.
func (l *Ledger) Started(pid int) {
	l.process(pid)
	l.begun = true
}

// process notes which process is read: a new one has counted from 0.
func (l *Ledger) process(pid int) {
	if l.pid != 0 && l.pid != pid {
		for _, b := range l.backends {
			b.last = nil
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
		r = &route{Route: key, retired: -Settle}
		if l.full < l.rows {
			r.place = detailed
			l.full++
		}
		l.routes[key] = r
	}
	r.backends++
	b := &backend{route: r}
	l.backends[name] = b
	l.ask(name, l.round)
	return b
}

// count adds what a backend has counted since it was read last.
func (l *Ledger) count(b *backend, now *Counts) {
	var last Counts
	if b.last != nil {
		last = *b.last
	}
	d := now.since(&last)
	b.read(now)
	if d == (Counts{}) {
		return
	}
	b.route.score += float64(d.requests())
	l.total.add(&d)
	if b.route.place == detailed {
		if b.route.counts == nil {
			b.route.counts = &Counts{}
		}
		b.route.counts.add(&d)
		return
	}
	l.rest.add(&d)
}

// read keeps what a backend has counted so far.
func (b *backend) read(now *Counts) {
	switch {
	case *now == (Counts{}):
		b.last = nil
	case b.last == nil:
		last := *now
		b.last = &last
	default:
		*b.last = *now
	}
}

// row returns what the row of a Route has counted.
func (r *route) row() Counts {
	if r.counts == nil {
		return Counts{}
	}
	return *r.counts
}

// at is how long after the first moment another one is.
func (l *Ledger) at(now time.Time) time.Duration {
	if l.born.IsZero() {
		l.born = now
	}
	return now.Sub(l.born)
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
			row := Row{Route: r.Route, Counts: r.row(), Latency: r.timing(), Gauges: r.gauges, Ended: r.place == leaving}
			if r.asked && !row.Ended {
				row.Measure = l.measures[r.Route]
			}
			each(row)
		}
	}
}

// Rest returns what all Routes without a row have had.
func (l *Ledger) Rest() (Counts, Gauges) { return l.rest, l.restGauges }

// Total returns what all Routes have had: rows, rest, and rows that have gone.
func (l *Ledger) Total() Counts { return l.total }
