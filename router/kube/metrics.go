package kube

import "github.com/prometheus/client_golang/prometheus"

// RegisterStats makes the status writer's counts known as metrics.
func RegisterStats(r prometheus.Registerer, s *StatusWriter) {
	counter := func(name, help string, value func(Stats) uint64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(value(s.Stats())) }))
	}
	counter("fairlead_router_status_writes_total", "Route status updates written.", func(s Stats) uint64 { return s.Writes })
	counter("fairlead_router_status_conflicts_total", "Status updates overtaken by another change and repeated.", func(s Stats) uint64 { return s.Conflicts })
	counter("fairlead_router_status_errors_total", "Status updates that failed.", func(s Stats) uint64 { return s.Errors })
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fairlead_router_leader", Help: "1 if this replica writes route status."},
		func() float64 {
			if s.Stats().Leading {
				return 1
			}
			return 0
		}))
}
