package l2

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what goes on per announced address. The names are MetalLB's.
// There are as many label values as the node announces addresses: with
// thousands of them, the library's counters would take most of a speaker's
// memory, so these are plain numbers, and labels are made when they are read.
type Metrics struct {
	families [4]family
	kernel   prometheus.Gauge
	failover prometheus.Histogram

	mu sync.Mutex // guards what follows
	of map[netip.Addr]*counts
}

// family is one number of every address.
type family struct {
	desc *prometheus.Desc
	read func(*counts) uint64
}

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	count := func(name, help string, read func(*counts) uint64) family {
		return family{prometheus.NewDesc(name, help, []string{"ip"}, nil), read}
	}
	m := &Metrics{of: map[netip.Addr]*counts{}, families: [...]family{
		count("metallb_layer2_requests_received", "ARP requests and neighbour solicitations received for an address announced here.",
			func(c *counts) uint64 { return c.requests.Load() }),
		count("metallb_layer2_responses_sent", "ARP replies and neighbour advertisements sent for an address in answer to a request.",
			func(c *counts) uint64 { return c.responses.Load() }),
		count("metallb_layer2_gratuitous_sent", "Unsolicited announcements of an address.",
			func(c *counts) uint64 { return c.unasked.Load() }),
		count("fairlead_lb_l2_conflicts_total", "Frames by which another host claimed an address announced here.",
			func(c *counts) uint64 { return c.conflicts.Load() }),
	}}
	m.kernel = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_lb_kernel_replies", Help: "1 if this node's kernel answers ARP for addresses of all Services, which kube-proxy's strictARP prevents.",
	})
	m.failover = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "fairlead_lb_failover_duration_seconds", Buckets: failoverBuckets(),
		Help: "Time from when another node was found dead until an address of its was first announced here.",
	})
	for _, c := range []prometheus.Collector{m, m.kernel, m.failover} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return m, nil
}

// failoverBuckets are in seconds: usually it takes milliseconds, and up to 1.5 s
// more where kube-proxy is asked first whether it delivers.
func failoverBuckets() []float64 { return []float64{0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10} }

func (m *Metrics) kernelAnswers(yes bool) {
	m.kernel.Set(0)
	if yes {
		m.kernel.Set(1)
	}
}

// counts are the metrics of one address.
type counts struct {
	requests, responses, unasked, conflicts atomic.Uint64
}

// add begins to count for addr. Whoever counts keeps the result, so that
// counting needs no look-up.
func (m *Metrics) add(addr netip.Addr) *counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &counts{}
	m.of[addr] = c
	return c
}

// forget removes the counts of an address that is no longer announced.
func (m *Metrics) forget(addr netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, addr)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, f := range m.families {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for addr, c := range m.of {
		ip := addr.String()
		for _, f := range m.families {
			// As with MetalLB, a number appears when there is something to
			// count: most addresses are never asked for here.
			if n := f.read(c); n > 0 {
				out <- prometheus.MustNewConstMetric(f.desc, prometheus.CounterValue, float64(n), ip)
			}
		}
	}
}
