package engine

import (
	"context"
	"sync/atomic"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics have MetalLB's names. The label peer is the router's address and
// port. Sessions with one router from several addresses of the node share it:
// their numbers add up, and session_up is 1 if all of them are established.
const metricPrefix = "metallb_bgp_"

// counters of one session. What gobgp counted for servers that ended is kept.
type counters struct {
	opensSent, opensReceived, notificationsSent uint64
	updatesSent, updatesReceived                uint64
	keepalivesSent, keepalivesReceived          uint64
	refreshSent, totalSent, totalReceived       uint64
}

// description is one metric and how it is read.
type description struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(Status, counters) float64
}

// sessionUp is the index of that metric among the descriptions.
const sessionUp = 0

func descriptions() []description {
	metric := func(kind prometheus.ValueType, name, help string, read func(Status, counters) float64) description {
		return description{prometheus.NewDesc(metricPrefix+name, help, []string{"peer", "vrf"}, nil), kind, read}
	}
	gauge := func(name, help string, read func(Status, counters) float64) description {
		return metric(prometheus.GaugeValue, name, help, read)
	}
	count := func(name, help string, read func(counters) uint64) description {
		return metric(prometheus.CounterValue, name, help, func(_ Status, c counters) float64 { return float64(read(c)) })
	}
	return []description{
		sessionUp: gauge("session_up", "1 if the session is established.", func(s Status, _ counters) float64 {
			if s.Up() {
				return 1
			}
			return 0
		}),
		gauge("announced_prefixes_total", "Prefixes that the peer is told.", func(s Status, _ counters) float64 {
			if s.Up() {
				return float64(s.Routes)
			}
			return 0
		}),
		gauge("pending_prefixes_total", "Prefixes that the peer would be told if the session were up.", func(s Status, _ counters) float64 {
			if s.Up() {
				return 0
			}
			return float64(s.Routes)
		}),
		count("opens_sent", "OPEN messages sent.", func(c counters) uint64 { return c.opensSent }),
		count("opens_received", "OPEN messages received.", func(c counters) uint64 { return c.opensReceived }),
		count("notifications_sent", "NOTIFICATION messages sent.", func(c counters) uint64 { return c.notificationsSent }),
		count("updates_total", "UPDATE messages sent.", func(c counters) uint64 { return c.updatesSent }),
		count("updates_total_received", "UPDATE messages received.", func(c counters) uint64 { return c.updatesReceived }),
		count("keepalives_sent", "KEEPALIVE messages sent.", func(c counters) uint64 { return c.keepalivesSent }),
		count("keepalives_received", "KEEPALIVE messages received.", func(c counters) uint64 { return c.keepalivesReceived }),
		count("route_refresh_sent", "ROUTE-REFRESH messages sent.", func(c counters) uint64 { return c.refreshSent }),
		count("total_sent", "Messages sent.", func(c counters) uint64 { return c.totalSent }),
		count("total_received", "Messages received.", func(c counters) uint64 { return c.totalReceived }),
	}
}

// Describe implements prometheus.Collector.
func (e *Engine) Describe(out chan<- *prometheus.Desc) {
	for _, d := range e.metrics {
		out <- d.desc
	}
}

// Collect implements prometheus.Collector.
func (e *Engine) Collect(out chan<- prometheus.Metric) {
	e.mu.Lock()
	sessions := make([]*session, 0, len(e.sessions))
	for _, s := range e.sessions {
		sessions = append(sessions, s)
	}
	e.mu.Unlock()
	type labels struct{ peer, vrf string }
	values := map[labels][]float64{}
	for _, s := range sessions {
		status, counted := s.status(), s.counted()
		of := labels{status.Peer.String(), status.Peer.VRF}
		known := values[of]
		if known == nil {
			known = make([]float64, len(e.metrics))
			known[sessionUp] = 1
			values[of] = known
		}
		for i, d := range e.metrics {
			if n := d.read(status, counted); i == sessionUp {
				known[i] = min(known[i], n)
			} else {
				known[i] += n
			}
		}
	}
	for of, numbers := range values {
		for i, d := range e.metrics {
			out <- prometheus.MustNewConstMetric(d.desc, d.kind, numbers[i], of.peer, of.vrf)
		}
	}
}

// tally adds up what the servers of a session count.
type tally struct {
	now  atomic.Pointer[running]
	past atomic.Pointer[counters]
}

// counted returns the session's counters.
func (s *session) counted() counters {
	c := counters{}
	if past := s.tally.past.Load(); past != nil {
		c = *past
	}
	if r := s.tally.now.Load(); r != nil {
		c = c.plus(r.counted())
	}
	return c
}

func (c counters) plus(o counters) counters {
	c.opensSent += o.opensSent
	c.opensReceived += o.opensReceived
	c.notificationsSent += o.notificationsSent
	c.updatesSent += o.updatesSent
	c.updatesReceived += o.updatesReceived
	c.keepalivesSent += o.keepalivesSent
	c.keepalivesReceived += o.keepalivesReceived
	c.refreshSent += o.refreshSent
	c.totalSent += o.totalSent
	c.totalReceived += o.totalReceived
	return c
}

func (r *running) counted() counters {
	var c counters
	err := r.server.ListPeer(context.Background(), &api.ListPeerRequest{}, func(p *api.Peer) {
		sent, received := p.GetState().GetMessages().GetSent(), p.GetState().GetMessages().GetReceived()
		c = counters{
			opensSent: sent.GetOpen(), opensReceived: received.GetOpen(), notificationsSent: sent.GetNotification(),
			updatesSent: sent.GetUpdate(), updatesReceived: received.GetUpdate(),
			keepalivesSent: sent.GetKeepalive(), keepalivesReceived: received.GetKeepalive(),
			refreshSent: sent.GetRefresh(), totalSent: sent.GetTotal(), totalReceived: received.GetTotal(),
		}
	})
	if err != nil {
		return counters{}
	}
	return c
}
