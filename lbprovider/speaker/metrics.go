package speaker

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges are the speaker's metrics.
type gauges struct {
	memberCount   prometheus.Gauge
	loaded, stale prometheus.Gauge
}

func newGauges(reg prometheus.Registerer) (*gauges, error) {
	g := &gauges{
		memberCount: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lbprovider_liveness_members", Help: "Speakers that this one can reach, itself included.",
		}),
		loaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metallb_k8s_client_config_loaded_bool", Help: "1 if a configuration was loaded.",
		}),
		stale: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metallb_k8s_client_config_stale_bool", Help: "1 if some object is not used as it is written.",
		}),
	}
	for _, c := range []prometheus.Collector{g.memberCount, g.loaded, g.stale} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return g, nil
}

func (g *gauges) members(n int) { g.memberCount.Set(float64(n)) }

func (g *gauges) config(stale bool) {
	g.loaded.Set(1)
	g.stale.Set(0)
	if stale {
		g.stale.Set(1)
	}
}

// announced tells the addresses that this node announces, when it is asked: kept
// between two questions, they would be the largest part of a speaker's memory.
// The label service has as many values as the node announces Services.
type announced struct {
	*Speaker
	desc *prometheus.Desc
}

func newAnnounced(s *Speaker) *announced {
	return &announced{Speaker: s, desc: prometheus.NewDesc("metallb_speaker_announced",
		"Addresses that this node announces.", []string{"service", "protocol", "node", "ip"}, nil)}
}

// Describe implements prometheus.Collector.
func (a *announced) Describe(out chan<- *prometheus.Desc) { out <- a.desc }

// Collect implements prometheus.Collector.
func (a *announced) Collect(out chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, v := range a.services {
		if !v.Announce || v.waits {
			continue
		}
		for _, addr := range v.addrs {
			out <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, 1, name.String(), "layer2", a.opts.NodeName, addr.String())
		}
	}
	if a.bgp == nil {
		return
	}
	for name, v := range a.bgp.verdict {
		if !v.announce || v.waits {
			continue
		}
		for _, addr := range v.addrs {
			out <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, 1, name.String(), "bgp", a.opts.NodeName, addr.String())
		}
	}
}
