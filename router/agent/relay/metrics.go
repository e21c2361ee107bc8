package relay

import "github.com/prometheus/client_golang/prometheus"

// Why a datagram was dropped, for metrics.
const (
	droppedSource    = "source"    // its source has all the sessions that one may have
	droppedNamespace = "namespace" // the namespace has all the sessions that one may have
	droppedFull      = "full"      // there are all the sessions that there may be
	droppedNoPod     = "no_pod"    // its share has no pod that is ready, or no valid Service
	droppedForbidden = "forbidden" // the pod's address may not be sent to
	droppedLoop      = "loop"      // it comes from the router's own pod, or cannot be answered
	droppedFailed    = "failed"    // no socket could be had, or the kernel did not take it
	droppedRefused   = "refused"   // the pod does not listen at the port
)

// Metrics are those of one process. The supervisor adds the label "worker".
type Metrics struct {
	ports, sessions prometheus.Gauge
	in, out         prometheus.Counter
	replaced        prometheus.Counter
	dropped         *prometheus.CounterVec // reason
}

// NewMetrics makes and registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	const prefix = "fairlead_agent_relay_"
	relayed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "datagrams_total", Help: "Datagrams that were relayed, by direction: in goes to pods, out to clients."}, []string{"direction"})
	m := &Metrics{
		ports:    prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "ports", Help: "Ports of Gateways for UDP that the worker has opened. One of the workers relays."}),
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "sessions", Help: "Sessions between a client and a pod, of 8192 at most."}),
		in:       relayed.WithLabelValues("in"), out: relayed.WithLabelValues("out"),
		replaced: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "replaced_total", Help: "Sessions of one exchange at most that ended for newer ones, because their source, their namespace or the worker had all that it may have."}),
		dropped:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "dropped_total", Help: "Datagrams that were dropped, by reason: source, namespace or full for a bound of sessions; no_pod, forbidden, loop, failed or refused."}, []string{"reason"}),
	}
	for _, reason := range []string{droppedSource, droppedNamespace, droppedFull, droppedNoPod, droppedForbidden, droppedLoop, droppedFailed, droppedRefused} {
		m.dropped.WithLabelValues(reason)
	}
	r.MustRegister(m.ports, m.sessions, relayed, m.replaced, m.dropped)
	return m
}

func (m *Metrics) drop(reason string) { m.dropped.WithLabelValues(reason).Inc() }
