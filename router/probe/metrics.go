package probe

import "github.com/prometheus/client_golang/prometheus"

// Metrics count what the prober does.
type Metrics struct {
	targets, sick prometheus.Gauge
	done          *prometheus.CounterVec
	delayed       prometheus.Counter
}

// NewMetrics returns metrics in a registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		targets: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_router_probe_targets", Help: "Endpoints that the router process asks whether they are healthy.",
		}),
		sick: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_router_probe_targets_sick", Help: "Endpoints among them that get no requests, unless too few are healthy.",
		}),
		done: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_router_probes_total", Help: "Probes of endpoints, by result: good or failed.",
		}, []string{"result"}),
		delayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_router_probes_delayed_total", Help: "Probes that waited because too many were under way.",
		}),
	}
	registry.MustRegister(m.targets, m.sick, m.done, m.delayed)
	return m
}

func (m *Metrics) count(good bool) {
	result := "failed"
	if good {
		result = "good"
	}
	m.done.WithLabelValues(result).Inc()
}
