package bfd

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// counters of a session.
type counters struct{ out, in, ups, downs atomic.Uint64 }

// metrics describe what Collect reports. Names and labels are those of MetalLB.
// There are as many label values as the node has sessions.
type metrics struct {
	up, in, out, ups, downs *prometheus.Desc
	discarded               *prometheus.CounterVec
}

func newMetrics() *metrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("metallb_bfd_"+name, help, []string{"peer", "vrf"}, nil)
	}
	return &metrics{
		up:    desc("session_up", "1 if the BFD session is up."),
		in:    desc("control_packet_input", "BFD control packets received."),
		out:   desc("control_packet_output", "BFD control packets sent."),
		ups:   desc("session_up_events", "How often the BFD session came up."),
		downs: desc("session_down_events", "How often the BFD session went down."),
		discarded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_lb_bfd_packets_discarded_total", Help: "BFD packets that were ignored, by reason.",
		}, []string{"reason"}),
	}
}

func (m *metrics) discard(reason string) { m.discarded.WithLabelValues(reason).Inc() }

// Describe is part of prometheus.Collector.
func (e *Engine) Describe(ch chan<- *prometheus.Desc) {
	m := e.metrics
	for _, d := range []*prometheus.Desc{m.up, m.in, m.out, m.ups, m.downs} {
		ch <- d
	}
}

// Collect is part of prometheus.Collector.
func (e *Engine) Collect(ch chan<- prometheus.Metric) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	m := e.metrics
	for _, s := range e.byDisc {
		st := s.Status()
		up := 0.0
		if st.State == Up {
			up = 1
		}
		labels := []string{s.label(), st.VRF}
		ch <- prometheus.MustNewConstMetric(m.up, prometheus.GaugeValue, up, labels...)
		for _, c := range []struct {
			desc  *prometheus.Desc
			value *atomic.Uint64
		}{{m.in, &s.counts.in}, {m.out, &s.counts.out}, {m.ups, &s.counts.ups}, {m.downs, &s.counts.downs}} {
			ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.value.Load()), labels...)
		}
	}
}
