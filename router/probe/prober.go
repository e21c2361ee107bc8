// Package probe asks endpoints whether they are healthy, for backends that say how
// (the group health of policies). It only asks: the pipeline says what, and what follows.
package probe

import (
	"container/heap"
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

const (
	// atOnce bounds the probes under way, and atOnceOfNamespace those for one namespace:
	// endpoints that never answer delay only the probes of their own.
	atOnce, atOnceOfNamespace = 256, 64
	// delay is when a probe is tried again that had no room.
	delay = 200 * time.Millisecond
)

// Prober asks targets in turn. Run owns all of its state.
type Prober struct {
	ask     func(context.Context, *pipeline.Probe) error
	log     *slog.Logger
	metrics *Metrics
	targets chan []pipeline.Probe
	results chan []pipeline.ProbeResult

	known   map[model.ProbeTarget]*target
	due     queue
	answers chan answer
	// running counts the probes under way, of all namespaces and of each.
	running   int
	runningOf map[string]int
	// changed are targets whose health is another since the engine took the last results.
	changed map[model.ProbeTarget]bool
}

// target is what the prober knows of one target.
type target struct {
	pipeline.Probe
	next time.Time
	// run is how many answers in a row were not as Sick says.
	run   int
	index int // in the queue, -1 while it is asked
	gone  bool
}

type answer struct {
	target *target
	err    error
}

// New returns a prober that asks over the network.
func New(log *slog.Logger, metrics *Metrics) *Prober { return newProber(ask, log, metrics) }

func newProber(ask func(context.Context, *pipeline.Probe) error, log *slog.Logger, metrics *Metrics) *Prober {
	return &Prober{
		ask: ask, log: log, metrics: metrics, targets: make(chan []pipeline.Probe, 1), results: make(chan []pipeline.ProbeResult),
		known: map[model.ProbeTarget]*target{}, answers: make(chan answer, atOnce), runningOf: map[string]int{}, changed: map[model.ProbeTarget]bool{},
	}
}

// Set says what to ask from now on. It does not block.
func (p *Prober) Set(all []pipeline.Probe) {
	select {
	case <-p.targets: // an older list that Run has not taken
	default:
	}
	p.targets <- all
}

// Results receives what has changed.
func (p *Prober) Results() <-chan []pipeline.ProbeResult { return p.results }

// Run asks until the context ends.
func (p *Prober) Run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(p.start(ctx, time.Now()))
		var out chan []pipeline.ProbeResult
		if len(p.changed) > 0 {
			out = p.results
		}
		select {
		case <-ctx.Done():
			return nil
		case all := <-p.targets:
			p.replace(all, time.Now())
		case a := <-p.answers:
			p.take(a, time.Now())
		case out <- p.collected():
			clear(p.changed)
		case <-timer.C:
		}
	}
}

// collected are the results to hand over.
func (p *Prober) collected() []pipeline.ProbeResult {
	out := make([]pipeline.ProbeResult, 0, len(p.changed))
	for t, sick := range p.changed {
		out = append(out, pipeline.ProbeResult{Target: t, Sick: sick})
	}
	return out
}

// replace takes another list. Targets that stay keep what is known of them.
func (p *Prober) replace(all []pipeline.Probe, now time.Time) {
	before := p.known
	p.known = make(map[model.ProbeTarget]*target, len(all))
	for i := range all {
		t := before[all[i].ProbeTarget]
		if t == nil {
			// The first probes spread over an interval, also after a start.
			t = &target{Probe: all[i], next: now.Add(rand.N(all[i].Every)), index: -1} //nolint:gosec // no secret
			heap.Push(&p.due, t)
		} else {
			delete(before, t.ProbeTarget)
			t.Every, t.CA = all[i].Every, all[i].CA
		}
		p.known[t.ProbeTarget] = t
	}
	for _, t := range before {
		t.gone = true
		delete(p.changed, t.ProbeTarget)
		if t.index >= 0 {
			heap.Remove(&p.due, t.index)
		}
	}
	p.metrics.targets.Set(float64(len(p.known)))
	p.countSick()
}

// start begins what is due, and returns when more is.
func (p *Prober) start(ctx context.Context, now time.Time) time.Duration {
	for len(p.due) > 0 && !p.due[0].next.After(now) {
		t := p.due[0]
		if p.running >= atOnce || p.runningOf[t.Namespace] >= atOnceOfNamespace {
			p.metrics.delayed.Inc()
			t.next = now.Add(delay)
			heap.Fix(&p.due, 0)
			continue
		}
		heap.Pop(&p.due)
		p.running++
		p.runningOf[t.Namespace]++
		asked := t.Probe // Run may change the target meanwhile
		go func() {
			ctx, cancel := context.WithTimeout(ctx, asked.Probe.Timeout)
			defer cancel()
			p.answers <- answer{t, p.ask(ctx, &asked)}
		}()
	}
	if len(p.due) == 0 {
		return time.Hour
	}
	return p.due[0].next.Sub(now)
}

// take takes an answer in.
func (p *Prober) take(a answer, now time.Time) {
	t := a.target
	p.running--
	if p.runningOf[t.Namespace]--; p.runningOf[t.Namespace] == 0 {
		delete(p.runningOf, t.Namespace)
	}
	if t.gone {
		return
	}
	t.next = now.Add(t.Every - t.Every/20 + rand.N(t.Every/10)) //nolint:gosec // no secret
	heap.Push(&p.due, t)
	p.metrics.count(a.err == nil)
	if t.Sick == (a.err != nil) {
		t.run = 0
		return
	}
	enough := t.Probe.Probe.Fall
	if t.Sick {
		enough = t.Probe.Probe.Rise
	}
	if t.run++; t.run < enough {
		return
	}
	t.Sick, t.run = !t.Sick, 0
	if t.Sick {
		p.log.Warn("an endpoint does not answer its probes as it should", "namespace", t.Namespace, "address", t.Address, "probe", t.Probe.Probe.Type, "err", a.err)
	} else {
		p.log.Info("an endpoint answers its probes again", "namespace", t.Namespace, "address", t.Address, "probe", t.Probe.Probe.Type)
	}
	p.changed[t.ProbeTarget] = t.Sick
	p.countSick()
}

func (p *Prober) countSick() {
	n := 0
	for _, t := range p.known {
		if t.Sick {
			n++
		}
	}
	p.metrics.sick.Set(float64(n))
}

// queue has the target that is due first at its head (container/heap).
type queue []*target

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].next.Before(q[j].next) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	t := x.(*target)
	t.index = len(*q)
	*q = append(*q, t)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q, t.index = (*q)[:last], -1
	return t
}
