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
}

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"ip"})
	}
	m := &Metrics{
		requests:  vec("metallb_layer2_requests_received", "ARP requests received for an address announced here."),
		responses: vec("metallb_layer2_responses_sent", "ARP replies sent for an address."),
		unasked:   vec("metallb_layer2_gratuitous_sent", "Gratuitous announcements sent for an address."),
		conflicts: vec("lbprovider_l2_conflicts_total", "ARP frames by which another host claimed an address announced here."),
	}
	for _, c := range []*prometheus.CounterVec{m.requests, m.responses, m.unasked, m.conflicts} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) request(addr netip.Addr)    { m.requests.WithLabelValues(addr.String()).Inc() }
func (m *Metrics) response(addr netip.Addr)   { m.responses.WithLabelValues(addr.String()).Inc() }
func (m *Metrics) gratuitous(addr netip.Addr) { m.unasked.WithLabelValues(addr.String()).Inc() }
func (m *Metrics) conflict(addr netip.Addr)   { m.conflicts.WithLabelValues(addr.String()).Inc() }

// forget removes the counts of an address that is no longer announced.
func (m *Metrics) forget(addr netip.Addr) {
	for _, c := range []*prometheus.CounterVec{m.requests, m.responses, m.unasked, m.conflicts} {
		c.DeleteLabelValues(addr.String())
	}
}
