package firewall

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why a question has no verdict.
const (
	overload   = "overload"
	unreadable = "unreadable"
	failed     = "failed"
)

// Metrics are those of the firewall.
type Metrics struct {
	verdicts   *prometheus.CounterVec // verdict: allow, block, detect
	without    *prometheus.CounterVec // reason
	unlogged   prometheus.Counter
	seconds    prometheus.Histogram
	waitedTime prometheus.Histogram
}

// NewMetrics makes and registers the metrics. All labels have a fixed set of values.
func NewMetrics(r prometheus.Registerer) *Metrics {
	buckets := []float64{.0003, .001, .003, .01, .03, .1, .3, 1}
	m := &Metrics{
		verdicts:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_firewall_verdicts_total", Help: "Requests that were judged; detect are those that reached the threshold of a firewall that only detects."}, []string{"verdict"}),
		without:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_firewall_without_verdict_total", Help: "Questions without a verdict, with the reason."}, []string{"reason"}),
		unlogged:   prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_firewall_unlogged_total", Help: "Requests that reached a threshold and are not in the log, which is bounded."}),
		seconds:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fairlead_firewall_verdict_duration_seconds", Help: "Time of verdicts.", Buckets: buckets}),
		waitedTime: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fairlead_firewall_queue_duration_seconds", Help: "Time that questions waited for their turn.", Buckets: buckets}),
	}
	r.MustRegister(m.verdicts, m.without, m.unlogged, m.seconds, m.waitedTime)
	for _, v := range []string{allow, block, "detect"} {
		m.verdicts.WithLabelValues(v)
	}
	for _, v := range []string{overload, unreadable, failed} {
		m.without.WithLabelValues(v)
	}
	return m
}

func (m *Metrics) unanswered(reason string)   { m.without.WithLabelValues(reason).Inc() }
func (m *Metrics) waited(after time.Duration) { m.waitedTime.Observe(after.Seconds()) }

func (m *Metrics) judged(verdict string, detected bool, took time.Duration) {
	if detected && verdict == allow {
		verdict = "detect"
	}
	m.verdicts.WithLabelValues(verdict).Inc()
	m.seconds.Observe(took.Seconds())
}
