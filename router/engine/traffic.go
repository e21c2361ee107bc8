package engine

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/traffic"
)

// fresh is how long what was read of all backends is as good as new, however many clients read the page.
const fresh = time.Second

// Counters are what HAProxy has counted for backends; *haproxy.Runtime has them. They are read while a page of metrics
// is made, beside the engine.
type Counters interface {
	Counters(each func(pid int, reading *traffic.Reading), backends ...string) error
	Totals(each func(pid int, reading *traffic.Reading)) (known bool, err error)
}

// trafficMetrics are the metrics of Routes. HAProxy is read when the page is, and before the engine takes away what
// counts: a backend, or the process.
type trafficMetrics struct {
	total, series, asking *prometheus.Desc

	// whole is held while all is read, mutex while the ledger is used: a removal does not wait for a page.
	whole, mutex sync.Mutex
	ledger       *traffic.Ledger
	budget       int
	// from reads all, single reads for the engine; nil until an engine is there.
	from, single Counters
	// readAt is when all was read last.
	readAt time.Time
	// sampling is how requests are sampled (latency.go).
	sampling
}

func newTrafficMetrics() *trafficMetrics {
	return &trafficMetrics{
		total:  prometheus.NewDesc("fairlead_router_requests_total", "Requests of all Routes, by class of the answer's status; none are those without an answer, and passthrough connections.", []string{"class"}, nil),
		series: prometheus.NewDesc("fairlead_router_series", "Series of Routes (routes), and how many this router may have in all (budget).", []string{"kind"}, nil),
		asking: prometheus.NewDesc("fairlead_router_detail_routes", "Routes that ask for series of their own (annotations metrics and slo), by state: granted, or left_out because there are too many; these have some if they are busy.", []string{"state"}, nil),
		ledger: traffic.New(), budget: traffic.Series,
	}
}

// start begins to count. The two are used at the same time.
func (t *trafficMetrics) start(from, single Counters) {
	t.mutex.Lock()
	t.from, t.single = from, single
	t.mutex.Unlock()
}

// setBudget sets how many series the router may have, of all of its pages.
func (t *trafficMetrics) setBudget(series int) {
	if series == 0 {
		series = traffic.Series
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.budget = series
	t.ledger.SetSeries(series)
}

func (t *trafficMetrics) source() Counters {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.from
}

// read takes in what all backends have counted, if what is known is older than that. The last reading of a process takes
// in those without an identifier, too, of which a partial one knows nothing while they are new. While HAProxy does not
// answer, what was read last stays.
func (t *trafficMetrics) read(age time.Duration, last bool) {
	from := t.source()
	if from == nil {
		return
	}
	t.whole.Lock()
	defer t.whole.Unlock()
	if time.Since(t.readAt) < age {
		return
	}
	if err := t.readAll(from, last); err != nil {
		return
	}
	t.locked(func() {
		t.readAt = time.Now()
		t.ledger.End(t.readAt)
	})
}

// readAll reads the gauges with the counters only if they have to be, or whole is true: that takes HAProxy three times as
// long.
func (t *trafficMetrics) readAll(from Counters, whole bool) error {
	take := func(pid int, reading *traffic.Reading) {
		t.locked(func() { t.ledger.Take(pid, reading) })
	}
	begin := func(partial bool) {
		t.locked(func() { t.ledger.Begin(time.Now(), partial) })
	}
	t.locked(func() { whole = whole || t.ledger.NeedsWhole(time.Now()) })
	if !whole {
		begin(true)
		known, err := from.Totals(take)
		if err != nil {
			return err //nolint:wrapcheck // it is read again with the next page
		}
		var ask []string
		if known {
			t.locked(func() { ask, known = t.ledger.Ask() })
		}
		switch {
		case known && len(ask) == 0:
			return nil
		case known:
			return from.Counters(take, ask...) //nolint:wrapcheck // as above
		}
	}
	begin(false)
	return from.Counters(take) //nolint:wrapcheck // as above
}

// started says that a process begins to count.
func (t *trafficMetrics) started(pid int) { t.locked(func() { t.ledger.Started(pid) }) }

// touch says that a step changes the endpoints of a backend.
func (t *trafficMetrics) touch(s plan.Step) {
	if backend := plan.Refills(s); backend != "" {
		t.locked(func() { t.ledger.Touch(backend) })
	}
}

// locked uses the ledger.
func (t *trafficMetrics) locked(use func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	use()
}

// readOne takes in what a backend has counted that is about to go.
func (t *trafficMetrics) readOne(backend string) {
	if t.single == nil {
		return
	}
	_ = t.single.Counters(func(pid int, reading *traffic.Reading) { // one that does not answer has nothing to count
		t.locked(func() { t.ledger.TakeLast(pid, reading) })
	}, backend)
}

func (t *trafficMetrics) gone(backend string) { t.locked(func() { t.ledger.Gone(backend) }) }

// countLast counts what a step is about to take away; the function that it returns says that it is gone.
func (t *trafficMetrics) countLast(s plan.Step) (gone func()) {
	del, ok := s.(plan.BackendDel)
	if !ok {
		return func() {}
	}
	t.readOne(del.Name)
	return func() { t.gone(del.Name) }
}

// tellMeasures says which Routes ask for series of their own.
func (e *Engine) tellMeasures() {
	if measures, changed := e.pipeline.Measures(); changed {
		t := e.o.Metrics.traffic
		t.locked(func() { t.ledger.SetMeasures(measures) })
	}
}

// readTraffic counts before the process that counts is replaced.
func (e *Engine) readTraffic() { e.o.Metrics.traffic.read(0, true) }

// countersOf lets the metrics of an engine read the HAProxy of its layout.
func countersOf(o Options) error {
	from, err := haproxy.NewRuntime(o.Layout, o.Caps)
	if err != nil {
		return err //nolint:wrapcheck // it says what
	}
	single, err := haproxy.NewRuntime(o.Layout, o.Caps)
	if err != nil {
		return err //nolint:wrapcheck // it says what
	}
	o.Metrics.traffic.start(from, single)
	return nil
}
