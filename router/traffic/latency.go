package traffic

import (
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// LatencyBounds are the upper bounds of the buckets of Latency, but for the last one, which has none.
func LatencyBounds() []time.Duration { return slices.Clone(latencyBounds[:]) }

var latencyBounds = [...]time.Duration{
	10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	time.Second, 3 * time.Second, 10 * time.Second,
}

// SeriesPerLatency is how many series a row has of it: the buckets, their sum and their count.
const SeriesPerLatency = len(latencyBounds) + 3

// Latency is how long sampled requests took.
type Latency struct {
	// Buckets are how many took at most as long as a bound, and longer than the bound before.
	Buckets [len(latencyBounds) + 1]uint64
	// Sum is how long all took together.
	Sum time.Duration
	// Within and Beyond are those that a Route's objective has within its time, and others.
	Within, Beyond uint64
}

func (l *Latency) add(took time.Duration) {
	at := len(latencyBounds)
	for i, bound := range latencyBounds {
		if took <= bound {
			at = i
			break
		}
	}
	l.Buckets[at]++
	l.Sum += took
}

// SetLatency says whether rows have latencies. It holds from the next End on, as SetSeries.
func (l *Ledger) SetLatency(on bool) {
	if l.timed == on {
		return
	}
	l.timed = on
	l.restLatency = Latency{}
	for _, r := range l.routes {
		r.latency = nil
	}
	l.SetSeries(l.series)
}

// Timed reports whether rows have latencies.
func (l *Ledger) Timed() bool { return l.timed }

// Observe takes in how long a sampled request to a backend took: it goes where the counters of its Route go.
func (l *Ledger) Observe(backend []byte, took time.Duration) {
	if !l.timed || !model.IsBackendName(backend) {
		return
	}
	b := l.backends[string(backend)]
	if b == nil || b.route.place != detailed {
		l.restLatency.add(took)
		return
	}
	r := b.route
	if r.latency == nil {
		r.latency = &Latency{}
	}
	r.latency.add(took)
	if !r.asked {
		return
	}
	switch m := l.measures[r.Route]; {
	case m.LatencyShare == 0:
	case took <= m.Latency:
		r.latency.Within++
	default:
		r.latency.Beyond++
	}
}

// RestLatency returns what Routes without a row have had.
func (l *Ledger) RestLatency() Latency { return l.restLatency }

// timing returns the latencies of a row.
func (r *route) timing() Latency {
	if r.latency == nil {
		return Latency{}
	}
	return *r.latency
}
