package canary

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// hurry is how much sooner a probe is repeated that failed, and the first ones.
const hurry = 4

// Options of a Prober.
type Options struct {
	// Interval is the time between two probes; the default is DefaultInterval.
	Interval time.Duration
	// Dial opens connections; the default is that of the system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Registerer gets the metrics.
	Registerer prometheus.Registerer
	// Log receives what the prober finds.
	Log *slog.Logger
}

// Verdict is what the Prober knows.
type Verdict struct {
	State State
	// Errors are what the last failures were, for a person to read.
	Errors string
	// Rotate says that the port has been well for long enough.
	Rotate bool
}

// Prober asks a Target from time to time. It is used by a caller that sets it and
// reads its verdict, while Run works.
type Prober struct {
	options Options
	metrics *metrics
	changed func(context.Context)
	aimed   chan struct{}

	mu      sync.Mutex
	target  *Target
	tracker tracker
	nth     int
}

// New returns a Prober that asks nothing yet. changed is called when the verdict
// is another one.
func New(o Options, changed func(context.Context)) (*Prober, error) {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	return &Prober{options: o, metrics: m, changed: changed, aimed: make(chan struct{}, 1)}, nil
}

// Aim says what is to be asked from now on; nil for nothing, such as while there
// is no address. Then nothing is known either.
func (p *Prober) Aim(t *Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.target
	p.target = t
	switch {
	case t == nil:
		p.tracker = tracker{}
	case old == nil || old.Host != t.Host || old.Port != t.Port || !slices.Equal(old.Addresses, t.Addresses):
		// Failures go on counting: addresses may come and go all the time.
		select {
		case p.aimed <- struct{}{}:
		default:
		}
	case old.Backend != t.Backend:
		p.tracker.successes = 0
	}
}

// Verdict returns what is known.
func (p *Prober) Verdict() Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.verdict()
}

func (p *Prober) verdict() Verdict {
	v := Verdict{State: p.tracker.state, Rotate: p.target != nil && p.target.Rotate && p.tracker.successes >= SuccessesToRotate}
	if v.State == Failing {
		v.Errors = p.tracker.shown()
	}
	return v
}

// Run asks until the context ends.
func (p *Prober) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.aimed:
		case <-timer.C:
		}
		timer.Reset(p.once(ctx))
	}
}

// once asks, and returns when to ask again.
func (p *Prober) once(ctx context.Context) time.Duration {
	p.mu.Lock()
	target, nth := p.target, p.nth
	p.nth++
	p.mu.Unlock()
	if target == nil {
		return p.options.Interval
	}
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	err := ask(limited, p.options.Dial, *target, nth)
	cancel()
	if ctx.Err() != nil {
		return p.options.Interval
	}
	p.metrics.observe(target.Host, time.Since(start), err)

	p.mu.Lock()
	if p.target == nil || p.target.Host != target.Host || p.target.Backend != target.Backend {
		p.mu.Unlock()
		return p.options.Interval / hurry // What was asked is not what counts now.
	}
	before := p.verdict()
	p.tracker.add(start, err)
	after, failures := p.verdict(), p.tracker.failures
	p.mu.Unlock()
	if err != nil {
		p.options.Log.Warn("the canary gives no right answer", "host", target.Host, "failures", failures, "err", err)
	}
	if after != before {
		p.changed(ctx)
	}
	if err != nil {
		return p.options.Interval / hurry
	}
	return p.options.Interval
}

// metrics have OpenShift's names. Cardinality: as many series as hosts were asked
// since the start, which is one.
type metrics struct {
	duration  *prometheus.HistogramVec
	wrongPort prometheus.Counter
	reachable *prometheus.GaugeVec
	names     *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ingress_canary_check_duration", Help: "How long a probe of the canary took, in milliseconds.",
			Buckets: []float64{1, 5, 25, 50, 100, 200, 400, 800, 1600, 5000, 10000},
		}, []string{"host"}),
		wrongPort: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ingress_canary_endpoint_wrong_port_echo", Help: "Probes that another port answered than the Route leads to.",
		}),
		reachable: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ingress_canary_route_reachable", Help: "Whether the last probe of the canary had the right answer.",
		}, []string{"host"}),
		names: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ingress_canary_route_DNS_error", Help: "Probes whose address is a name that could not be resolved.",
		}, []string{"host", "dnsServer"}),
	}
	for _, c := range []prometheus.Collector{m.duration, m.wrongPort, m.reachable, m.names} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the canary: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) observe(host string, took time.Duration, err error) {
	m.duration.WithLabelValues(host).Observe(float64(took.Milliseconds()))
	if errors.Is(err, errWrongPort) {
		m.wrongPort.Inc()
	}
	if name := (*nameError)(nil); errors.As(err, &name) {
		m.names.WithLabelValues(host, name.server).Inc()
	}
	reachable := 0.0
	if err == nil {
		reachable = 1
	}
	m.reachable.WithLabelValues(host).Set(reachable)
}

// RegisterMetrics registers what the canary counts, without a prober: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	_, err := newMetrics(r)
	return err
}
