package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The values of "from" in metrics: where a verdict came from.
const (
	fromAgent = "agent"
	fromCache = "cache"
)

// Metrics are those of one worker. The supervisor adds the label "worker".
type Metrics struct {
	generation prometheus.Gauge
	policies   *prometheus.GaugeVec // state: usable, closed
	inflight   prometheus.Gauge
	queue      prometheus.Gauge
	shed       prometheus.Counter
	refused    prometheus.Counter
	panics     prometheus.Counter
	protocol   prometheus.Counter
	decisions  *prometheus.CounterVec   // group, verdict, from
	seconds    *prometheus.HistogramVec // group
	upstream   *prometheus.HistogramVec // group
	cache      *cacheMetrics

	mirrorSent    prometheus.Counter
	mirrorSkipped *prometheus.CounterVec // reason
}

type cacheMetrics struct {
	entries                 prometheus.Gauge
	hits, misses, evictions prometheus.Counter
}

// NewMetrics makes and registers the metrics. All labels have a fixed set of values,
// except issuers, of which the first 100 are named.
func NewMetrics(r prometheus.Registerer) *Metrics {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_agent_" + name, Help: help})
		r.MustRegister(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_agent_" + name, Help: help})
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_agent_" + name, Help: help, Buckets: []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10},
		}, []string{"group"})
		r.MustRegister(h)
		return h
	}
	m := &Metrics{
		generation: gauge("generation", "Generation of the snapshot that the worker decides by."),
		policies:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_agent_policies", Help: "Policies of the snapshot, by state: usable, or closed because they cannot be used."}, []string{"state"}),
		inflight:   gauge("inflight", "Requests that wait for a verdict."),
		queue:      gauge("queue_seconds", "Work that waits in the queue for hashes of passwords."),
		shed:       counter("shed_total", "Requests that were refused because there was too much work."),
		refused:    counter("snapshot_refused_total", "Snapshots that were damaged or not understood; the one before stayed."),
		panics:     counter("panics_total", "Answers that ended in a panic; each was a refusal."),
		protocol:   counter("protocol_errors_total", "Connections that ended because of an invalid frame, and answers that did not fit into a frame."),
		decisions:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_agent_decisions_total", Help: "Verdicts of the agent by group of the policy, status and origin. Requests that HAProxy lets on by a verdict that it has kept are not among them."}, []string{"group", "verdict", "from"}),
		seconds:    histogram("decision_duration_seconds", "How long a verdict took, by group of the policy."),
		upstream:   histogram("upstream_duration_seconds", "How long another server took to answer, by group of the policy."),
		cache: &cacheMetrics{
			entries: gauge("cache_entries", "Answers in the cache."), hits: counter("cache_hits_total", "Answers from the cache."),
			misses: counter("cache_misses_total", "Questions that the cache had no answer for."), evictions: counter("cache_evictions_total", "Answers that others pushed out of the cache."),
		},
	}
	m.mirrorSent = counter("mirror_sent_total", "Copies of requests that their target has answered.")
	m.mirrorSkipped = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_agent_mirror_skipped_total", Help: "Copies of requests that were not sent, or not answered, by reason."}, []string{"reason"})
	r.MustRegister(m.policies, m.decisions, m.mirrorSkipped)
	return m
}

// SnapshotRefused counts a snapshot that was not used.
func (m *Metrics) SnapshotRefused() { m.refused.Inc() }

// Panicked counts a panic of a handler.
func (m *Metrics) Panicked(any) { m.panics.Inc() }

// ProtocolFailed counts a connection that was ended, or an answer that was too long.
func (m *Metrics) ProtocolFailed(error) { m.protocol.Inc() }

func (m *Metrics) decided(a *Answer, took time.Duration) {
	verdict := "allow"
	switch {
	case a.Allowed():
	case a.Status == needsBody:
		return // the answer to the body counts
	case a.Status == isDone:
		verdict = "200"
	case hasRule(a.Status):
		verdict = decimal(a.Status)
	default:
		verdict = "503"
	}
	m.decisions.WithLabelValues(a.group, verdict, a.from).Inc()
	m.seconds.WithLabelValues(a.group).Observe(took.Seconds())
}

// RegisterMetrics registers what a worker counts, without an Engine: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	NewMetrics(r)
	return r.Register(newKeySets(nil))
}
