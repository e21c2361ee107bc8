package process

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// Metrics have MetalLB's names, if MetalLB has them. The label peer is the router's address and
// port. Sessions with one router from several addresses of the node share it:
// their numbers add up, and session_up is 1 if all of them are established.
const (
	metricPrefix    = "metallb_bgp_"
	ownMetricPrefix = "fairlead_lb_bgp_"
	// scrapeLimit is how long the processes have to report their counters; of one
	// that does not, the last ones count.
	scrapeLimit = 500 * time.Millisecond
)

// metricsSample is what the metrics of one session are made of.
type metricsSample struct {
	status   bgp.Status
	counters bgp.Counters
	// alive says that its process runs.
	alive bool
	// dropped are lines of its processes' logs.
	dropped int
}

// description is one metric and how it is read.
type description struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(metricsSample) float64
}

// sessionUp and processUp are the indexes of metrics that do not add up.
const (
	sessionUp = iota
	processUp
)

func descriptions() []description {
	named := func(kind prometheus.ValueType, name, help string, read func(metricsSample) float64) description {
		return description{prometheus.NewDesc(name, help, []string{"peer", "vrf"}, nil), kind, read}
	}
	metric := func(kind prometheus.ValueType, name, help string, read func(metricsSample) float64) description {
		return named(kind, metricPrefix+name, help, read)
	}
	gauge := func(name, help string, read func(metricsSample) float64) description {
		return metric(prometheus.GaugeValue, name, help, read)
	}
	count := func(name, help string, read func(bgp.Counters) uint64) description {
		return metric(prometheus.CounterValue, name, help, func(m metricsSample) float64 { return float64(read(m.counters)) })
	}
	return []description{
		sessionUp: gauge("session_up", "1 if the session is established.", func(m metricsSample) float64 {
			if m.status.Up() {
				return 1
			}
			return 0
		}),
		processUp: named(prometheus.GaugeValue, ownMetricPrefix+"process_up", "1 if the process that holds the session runs.", func(m metricsSample) float64 {
			if m.alive {
				return 1
			}
			return 0
		}),
		named(prometheus.CounterValue, ownMetricPrefix+"process_failures_total", "How often the process that holds the session ended without being asked to.", func(m metricsSample) float64 {
			return float64(m.status.Failures)
		}),
		named(prometheus.CounterValue, ownMetricPrefix+"process_dropped_lines_total", "Lines that the process that holds the session logged and that are not passed on, because they were too many.", func(m metricsSample) float64 {
			return float64(m.dropped)
		}),
		gauge("announced_prefixes_total", "Prefixes that are announced to the peer.", func(m metricsSample) float64 {
			if m.status.Up() {
				return float64(m.status.Routes)
			}
			return 0
		}),
		gauge("pending_prefixes_total", "Prefixes that would be announced to the peer if the session were up.", func(m metricsSample) float64 {
			if m.status.Up() {
				return 0
			}
			return float64(m.status.Routes)
		}),
		count("opens_sent", "OPEN messages sent.", func(c bgp.Counters) uint64 { return c.OpensSent }),
		count("opens_received", "OPEN messages received.", func(c bgp.Counters) uint64 { return c.OpensReceived }),
		count("notifications_sent", "NOTIFICATION messages sent.", func(c bgp.Counters) uint64 { return c.NotificationsSent }),
		count("updates_total", "UPDATE messages sent.", func(c bgp.Counters) uint64 { return c.UpdatesSent }),
		count("updates_total_received", "UPDATE messages received.", func(c bgp.Counters) uint64 { return c.UpdatesReceived }),
		count("keepalives_sent", "KEEPALIVE messages sent.", func(c bgp.Counters) uint64 { return c.KeepalivesSent }),
		count("keepalives_received", "KEEPALIVE messages received.", func(c bgp.Counters) uint64 { return c.KeepalivesReceived }),
		count("route_refresh_sent", "ROUTE-REFRESH messages sent.", func(c bgp.Counters) uint64 { return c.RefreshSent }),
		count("total_sent", "Messages sent.", func(c bgp.Counters) uint64 { return c.TotalSent }),
		count("total_received", "Messages received.", func(c bgp.Counters) uint64 { return c.TotalReceived }),
	}
}

// Describe implements prometheus.Collector.
func (h *Host) Describe(out chan<- *prometheus.Desc) {
	for _, d := range h.metrics {
		out <- d.desc
	}
}

// Collect implements prometheus.Collector.
func (h *Host) Collect(out chan<- prometheus.Metric) {
	type labels struct{ peer, vrf string }
	values := map[labels][]float64{}
	for _, m := range h.samples() {
		of := labels{m.status.Peer.String(), m.status.Peer.VRF}
		known := values[of]
		if known == nil {
			known = make([]float64, len(h.metrics))
			known[sessionUp], known[processUp] = 1, 1
			values[of] = known
		}
		for i, d := range h.metrics {
			if n := d.read(m); i == sessionUp || i == processUp {
				known[i] = min(known[i], n)
			} else {
				known[i] += n
			}
		}
	}
	for of, numbers := range values {
		for i, d := range h.metrics {
			out <- prometheus.MustNewConstMetric(d.desc, d.kind, numbers[i], of.peer, of.vrf)
		}
	}
}

// samples asks all processes for their counters.
func (h *Host) samples() []metricsSample {
	all := h.all()
	asked := make([]uint64, len(all))
	for i, s := range all {
		asked[i] = s.ask()
	}
	limit := time.NewTimer(scrapeLimit)
	defer limit.Stop()
	late := false
	out := make([]metricsSample, len(all))
	for i, s := range all {
		for !late {
			answered, next := s.answered(asked[i])
			if answered {
				break
			}
			select {
			case <-next:
			case <-limit.C:
				late = true
			}
		}
		out[i] = s.sample()
	}
	return out
}

// RegisterMetrics registers what a Host counts, without sessions: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	return r.Register(&Host{metrics: descriptions()})
}
