package speaker

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// passes counts how often something was decided anew, and how often that failed.
type passes struct{ all, failed prometheus.Counter }

func newPasses(reg prometheus.Registerer) (*passes, error) {
	p := &passes{
		all: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metallb_k8s_client_updates_total", Help: "Changes of objects that were looked at.",
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metallb_k8s_client_update_errors_total", Help: "Changes of objects that could not be carried out.",
		}),
	}
	for _, c := range []prometheus.Collector{p.all, p.failed} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return p, nil
}

func (p *passes) count(err error) {
	p.all.Inc()
	if err != nil {
		p.failed.Inc()
	}
}
