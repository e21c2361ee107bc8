// Package export sends spans of requests to a collector, by the OpenTelemetry protocol.
//
//	HAProxy's ring ─ feed ─▶ Take ─ queue ─▶ Run ─ 512 requests, or a second's ─▶ collector
//
// Nothing waits for the collector: what the queue has no room for is dropped and counted, and so is
// what the collector does not take after some attempts.
package export

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/observe/trace"
	"github.com/fairlead/fairlead/router/settings"
)

const (
	// Queue is how many requests wait to be sent.
	Queue = 2048
	// most is how many requests are sent at a time, and gather how long they are waited for.
	most   = 512
	gather = time.Second
	// attempts is how often a collector is asked to take the same spans, with pauses of pause,
	// twice and four times that, and so on.
	attempts = 5
	pause    = time.Second
	// farewell is how long a router that stops tries to send what is left.
	farewell = 2 * time.Second
)

// Options configure an Exporter.
type Options struct {
	Source trace.Source
	// CA returns the authorities that a collector's certificate may be signed by, as PEM text.
	CA func() string
	// Changed is called when Problem has changed.
	Changed func()
	Log     *slog.Logger
	// Pause is the time before the second attempt; default a second. Timeout bounds each;
	// default 10 s.
	Pause, Timeout time.Duration
}

// Exporter sends spans where Want says. Its methods may be called from any goroutine.
type Exporter struct {
	options          Options
	queue            chan *observe.Record
	sent             prometheus.Counter
	overflow, failed prometheus.Counter

	mu        sync.Mutex
	collector settings.Collector
	// moved is closed when the collector changes.
	moved   chan struct{}
	problem string
}

// New returns an exporter that sends nothing until Want names a collector and Run runs, and
// registers its metrics.
func New(o Options, registry prometheus.Registerer) *Exporter {
	o.Pause, o.Timeout = cmp.Or(o.Pause, pause), cmp.Or(o.Timeout, timeout)
	if o.Changed == nil {
		o.Changed = func() {}
	}
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_router_spans_dropped_total", Help: "Spans of requests that were not sent: the queue had no room, or the collector did not take them.",
	}, []string{"reason"})
	e := &Exporter{
		options: o, queue: make(chan *observe.Record, Queue), moved: make(chan struct{}),
		sent:     prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_router_spans_sent_total", Help: "Spans of requests that the collector has taken."}),
		overflow: dropped.WithLabelValues("queue"), failed: dropped.WithLabelValues("collector"),
	}
	registry.MustRegister(e.sent, dropped)
	return e
}

// Want names the collector; the zero value is none.
func (e *Exporter) Want(c settings.Collector) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c == e.collector {
		return
	}
	e.collector, e.problem = c, ""
	close(e.moved)
	e.moved = make(chan struct{})
}

// wanted returns the collector, and what is closed when it is another one.
func (e *Exporter) wanted() (settings.Collector, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.collector, e.moved
}

// On reports whether there is a collector.
func (e *Exporter) On() bool {
	c, _ := e.wanted()
	return c != settings.Collector{}
}

// Problem is why spans do not arrive, or empty.
func (e *Exporter) Problem() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problem
}

// Take has a request sent, if its trace is recorded. It never waits.
func (e *Exporter) Take(r *observe.Record) {
	if !r.Sampled() {
		return
	}
	kept := *r // what r points to is the caller's again
	select {
	case e.queue <- &kept:
	default:
		e.overflow.Add(float64(len(trace.Spans(r))))
	}
}

// report takes what is wrong, or that nothing is.
func (e *Exporter) report(problem string) {
	e.mu.Lock()
	changed := problem != e.problem
	e.problem = problem
	e.mu.Unlock()
	if changed {
		e.options.Changed()
	}
}

// Run sends until the context ends, and then what is left.
func (e *Exporter) Run(ctx context.Context) error {
	for {
		collector, moved := e.wanted()
		c := newClient(collector, e.options.CA(), e.options.Timeout)
		e.serve(ctx, c, moved)
		c.close()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// serve sends to one collector, until there is another one, or something failed: then what the
// client trusts is read again.
func (e *Exporter) serve(ctx context.Context, c *client, moved <-chan struct{}) {
	for {
		batch := e.batch(ctx, moved)
		if ctx.Err() != nil {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
			defer cancel()
			e.deliver(limited, c, batch, moved)
			return
		}
		if !e.deliver(ctx, c, batch, moved) {
			return
		}
		select {
		case <-moved:
			return
		default:
		}
	}
}

// batch waits for requests and returns their spans.
func (e *Exporter) batch(ctx context.Context, moved <-chan struct{}) (spans []*tracepb.Span) {
	var full <-chan time.Time
	for range most {
		select {
		case r := <-e.queue:
			spans = append(spans, trace.Spans(r)...)
			if full == nil {
				timer := time.NewTimer(gather)
				defer timer.Stop()
				full = timer.C
			}
		case <-full:
			return spans
		case <-moved:
			return spans
		case <-ctx.Done():
			return append(spans, e.left()...)
		}
	}
	return spans
}

// left are the spans of requests that still wait.
func (e *Exporter) left() (spans []*tracepb.Span) {
	for range most {
		select {
		case r := <-e.queue:
			spans = append(spans, trace.Spans(r)...)
		default:
			return spans
		}
	}
	return spans
}

// deliver sends spans, more than once if need be, and reports whether the collector took them.
func (e *Exporter) deliver(ctx context.Context, c *client, spans []*tracepb.Span, moved <-chan struct{}) bool {
	if len(spans) == 0 {
		return true
	}
	drop := func(n int) { e.failed.Add(float64(n)) }
	message, err := e.options.Source.Message(spans)
	if err != nil || c.url == nil {
		drop(len(spans))
		return true
	}
	wait := e.options.Pause
	for attempt := 1; ; attempt++ {
		refused, err := c.send(ctx, message)
		if err == nil {
			refused = min(max(refused, 0), len(spans))
			drop(refused)
			e.sent.Add(float64(len(spans) - refused))
			e.report("")
			return true
		}
		final := attempt == attempts || !again(err)
		if attempt > 1 || final {
			e.report("the collector " + c.url.Host + " " + words(err))
		}
		if final || !rest(ctx, wait, moved) {
			e.options.Log.Error("spans are dropped", "collector", c.url.Host, "spans", len(spans), "err", err)
			drop(len(spans))
			return false
		}
		wait *= 2
	}
}

// rest waits, and reports false if the collector changes meanwhile, or the context ends.
func rest(ctx context.Context, wait time.Duration, moved <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-moved:
	case <-ctx.Done():
	}
	return false
}
