package traffic

import (
	"maps"
	"math"
	"slices"
	"time"
)

// GaugesAge is how old the gauges may be that HAProxy changes by itself: the endpoints that its checks have left, and
// connections of TCP.
const GaugesAge = time.Minute

// mostAsked is how many backends are asked for by name, each of which HAProxy finds by a walk through all of them: a
// hundred take as long as reading everything.
const mostAsked = 20

// looks decides what is to be read.
type looks struct {
	// partial is true while a reading leaves out gauges.
	partial bool
	// wholeAt is when all was last read with its gauges, of the process whole. Partial readings of the process blind leave out
	// too many backends.
	wholeAt      time.Time
	whole, blind int
	// asked are backends whose gauges are to be read, with the first reading that is to have them: one that was under way
	// when they changed may be too old.
	asked map[string]uint32
	// unnamed are those that partial readings leave out.
	unnamed map[string]bool
}

// smallGauges are Gauges of one backend.
type smallGauges struct{ connections, endpoints uint32 }

// NeedsWhole says whether the next reading has to be one with gauges.
func (l *Ledger) NeedsWhole(now time.Time) bool {
	return !l.begun || l.pid != l.whole || l.blind == l.pid || now.Sub(l.wholeAt) >= GaugesAge
}

// Touch says that the endpoints of a backend change.
func (l *Ledger) Touch(name string) { l.ask(name, l.round+1) }

// ask has the gauges of a backend read in this round or a later one.
func (l *Ledger) ask(name string, round uint32) {
	if len(l.asked) <= mostAsked {
		l.asked[name] = max(l.asked[name], round)
	}
}

// answered says that this reading has the gauges of a backend.
func (l *Ledger) answered(name string) {
	if l.asked[name] <= l.round {
		delete(l.asked, name)
	}
}

// Ask returns, after a partial reading, the backends that are to be read with their gauges before its End. It reports
// false if a whole reading has to take the place of this one.
func (l *Ledger) Ask() ([]string, bool) {
	found := true
	for name, b := range l.backends {
		switch {
		case b.round == l.round || l.overtaken[name]:
		case l.unnamed[name]:
			l.ask(name, l.round)
		default: // it is gone, or has no identifier, which only a whole reading tells
			b.missed, found = true, false
		}
	}
	if !found || l.pid != l.whole || len(l.asked) > mostAsked {
		return nil, false
	}
	return slices.Sorted(maps.Keys(l.asked)), true
}

// endWhole takes in what only a whole reading tells.
func (l *Ledger) endWhole(now time.Time) {
	if l.pid != l.whole {
		clear(l.unnamed)
	}
	for name, b := range l.backends {
		switch {
		case b.round != l.round && !l.overtaken[name]:
			l.Gone(name)
		case b.missed:
			b.missed, l.unnamed[name] = false, true
		}
	}
	if len(l.unnamed) > mostAsked/2 {
		l.blind = l.pid
		clear(l.unnamed)
	}
	l.begun, l.wholeAt, l.whole = true, now, l.pid
	maps.DeleteFunc(l.asked, func(_ string, round uint32) bool { return round <= l.round })
}

func (l *Ledger) forget(backend string) {
	delete(l.asked, backend)
	delete(l.unnamed, backend)
}

// gauge takes in the gauges of a reading, as far as it has them.
func (l *Ledger) gauge(b *backend, reading *Reading) {
	now := smallGauges{clamp(reading.Connections), clamp(reading.Endpoints)}
	if reading.Partial {
		now = b.gauges
		if n, known := reading.UnderWay(); known {
			now.connections = clamp(n)
		}
	} else {
		l.answered(reading.Backend)
	}
	b.setGauges(now)
}

// setGauges keeps the sums of the Route.
func (b *backend) setGauges(now smallGauges) {
	sums := &b.route.gauges
	sums.Connections += uint64(now.connections) - uint64(b.gauges.connections)
	sums.Endpoints += uint64(now.endpoints) - uint64(b.gauges.endpoints)
	b.gauges = now
}

func clamp(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
