package l2

import (
	"fmt"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what goes on per announced address. The names are MetalLB's.
// There are as many label values as the node announces addresses.
type Metrics struct {
	requests, responses, unasked, conflicts *prometheus.CounterVec

	kernel prometheus.Gauge
}

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"ip"})
	}
	m := &Metrics{
		requests:  vec("metallb_layer2_requests_received", "ARP requests and neighbour solicitations received for an address announced here."),
		responses: vec("metallb_layer2_responses_sent", "ARP replies and neighbour advertisements sent for an address because somebody asked."),
		unasked:   vec("metallb_layer2_gratuitous_sent", "Announcements of an address that nobody asked for."),
		conflicts: vec("lbprovider_l2_conflicts_total", "Frames by which another host claimed an address announced here."),
	}
	m.kernel = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lbprovider_l2_kernel_answers", Help: "1 if this node's kernel answers ARP for addresses of all Services, which kube-proxy's strictARP prevents.",
	})
	for _, c := range []prometheus.Collector{m.requests, m.responses, m.unasked, m.conflicts, m.kernel} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) kernelAnswers(yes bool) {
	m.kernel.Set(0)
	if yes {
		m.kernel.Set(1)
	}
}

// counts are the metrics of one address.
type counts struct {
	requests, responses, unasked, conflicts prometheus.Counter
}

// of returns those of addr, so that counting needs no look-up.
func (m *Metrics) of(addr netip.Addr) *counts {
	ip := addr.String()
	return &counts{
		requests: m.requests.WithLabelValues(ip), responses: m.responses.WithLabelValues(ip),
		unasked: m.unasked.WithLabelValues(ip), conflicts: m.conflicts.WithLabelValues(ip),
	}
}

// forget removes the counts of an address that is no longer announced.
func (m *Metrics) forget(addr netip.Addr) {
	for _, c := range []*prometheus.CounterVec{m.requests, m.responses, m.unasked, m.conflicts} {
		c.DeleteLabelValues(addr.String())
	}
}
