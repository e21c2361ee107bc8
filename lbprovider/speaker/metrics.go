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
			Name: "fairlead_lb_members", Help: "Speakers that this one can reach, itself included.",
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

// reconcileCounters count the requests of the Speaker, and those that failed.
type reconcileCounters struct{ all, failed prometheus.Counter }

func newReconcileCounters(reg prometheus.Registerer) (*reconcileCounters, error) {
	c := &reconcileCounters{
		all: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metallb_k8s_client_updates_total", Help: "Changes of objects that were looked at.",
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metallb_k8s_client_update_errors_total", Help: "Changes of objects that could not be carried out.",
		}),
	}
	for _, counter := range []prometheus.Collector{c.all, c.failed} {
		if err := reg.Register(counter); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return c, nil
}

func (c *reconcileCounters) count(err error) {
	c.all.Inc()
	if err != nil {
		c.failed.Inc()
	}
}

// announcedAddresses is the metric of the addresses that this node announces. It is
// made when it is read: kept between two scrapes, it would be the largest part of a
// speaker's memory. The label service has as many values as the node announces Services.
type announcedAddresses struct {
	node      string
	protocols []Protocol
	desc      *prometheus.Desc
}

func newAnnouncedAddresses(node string, protocols []Protocol) *announcedAddresses {
	return &announcedAddresses{node: node, protocols: protocols, desc: prometheus.NewDesc("metallb_speaker_announced",
		"Addresses that this node announces.", []string{"service", "protocol", "node", "ip"}, nil)}
}

// Describe implements prometheus.Collector.
func (a *announcedAddresses) Describe(out chan<- *prometheus.Desc) { out <- a.desc }

// Collect implements prometheus.Collector.
func (a *announcedAddresses) Collect(out chan<- prometheus.Metric) {
	for _, p := range a.protocols {
		labels := a.labels(p.Name())
		for name, its := range p.Services() {
			if its.Active() {
				labels.collect(out, name, its.Addrs)
			}
		}
	}
}

// sharedLabels is what the metrics of one protocol share: all at once, they are
// thousands.
type sharedLabels struct {
	desc       *prometheus.Desc
	node, self *dto.LabelPair
	ip, name   *string
	one        *dto.Gauge
}

func (a *announcedAddresses) labels(protocol string) *sharedLabels {
	label := func(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
	ip, service, one := "ip", "service", 1.0
	return &sharedLabels{
		desc: a.desc, node: label("node", a.node), self: label("protocol", protocol), ip: &ip, name: &service, one: &dto.Gauge{Value: &one},
	}
}

func (l *sharedLabels) collect(out chan<- prometheus.Metric, name types.NamespacedName, addrs []netip.Addr) {
	text := name.String()
	service := &dto.LabelPair{Name: l.name, Value: &text}
	for _, addr := range addrs {
		out <- &announcedAddress{sharedLabels: l, service: service, addr: addr}
	}
}

// announcedAddress is the metric of one address.
type announcedAddress struct {
	*sharedLabels
	service *dto.LabelPair
	addr    netip.Addr
}

// Desc implements prometheus.Metric.
func (a *announcedAddress) Desc() *prometheus.Desc { return a.desc }

// Write implements prometheus.Metric. Labels are sorted by name.
func (a *announcedAddress) Write(m *dto.Metric) error {
	ip := a.addr.String()
	m.Label = []*dto.LabelPair{{Name: a.ip, Value: &ip}, a.node, a.self, a.service}
	m.Gauge = a.one
	return nil
}

// RegisterMetrics registers what the speaker counts, without a cluster: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	if _, err := newGauges(r); err != nil {
		return err
	}
	if _, err := newReconcileCounters(r); err != nil {
		return err
	}
	return registerAnnounced(r, "", nil, nil)
}

// registerAnnounced registers the metrics of what this node announces.
func registerAnnounced(r prometheus.Registerer, node string, protocols []Protocol, t *takeovers) error {
	for _, c := range []prometheus.Collector{newAnnouncedAddresses(node, protocols), newOwnerChanges(t)} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register speaker metrics: %w", err)
		}
	}
	return nil
}
