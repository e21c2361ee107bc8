package speaker

import (
	"fmt"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
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
	layer2, bgp := a.protocol("layer2"), a.protocol("bgp")
	for name, v := range a.services {
		if v.Announce && !v.waits {
			layer2.tell(out, name, v.addrs)
		}
	}
	if a.bgp == nil {
		return
	}
	for name, v := range a.bgp.verdict {
		if v.announce && !v.waits {
			bgp.tell(out, name, v.addrs)
		}
	}
}

// protocol is what the metrics of one protocol share: all at once, they are
// thousands.
type protocol struct {
	desc       *prometheus.Desc
	node, self *dto.LabelPair
	ip, name   *string
	one        *dto.Gauge
}

func (a *announced) protocol(name string) protocol {
	label := func(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
	ip, service, one := "ip", "service", 1.0
	return protocol{
		desc: a.desc, node: label("node", a.opts.NodeName), self: label("protocol", name), ip: &ip, name: &service, one: &dto.Gauge{Value: &one},
	}
}

func (p *protocol) tell(out chan<- prometheus.Metric, name types.NamespacedName, addrs []netip.Addr) {
	text := name.String()
	service := &dto.LabelPair{Name: p.name, Value: &text}
	for _, addr := range addrs {
		out <- &announcement{protocol: p, service: service, addr: addr}
	}
}

// announcement is the metric of one address.
type announcement struct {
	*protocol
	service *dto.LabelPair
	addr    netip.Addr
}

// Desc implements prometheus.Metric.
func (a *announcement) Desc() *prometheus.Desc { return a.desc }

// Write implements prometheus.Metric. Labels are sorted by name.
func (a *announcement) Write(m *dto.Metric) error {
	ip := a.addr.String()
	m.Label = []*dto.LabelPair{{Name: a.ip, Value: &ip}, a.node, a.self, a.service}
	m.Gauge = a.one
	return nil
}
