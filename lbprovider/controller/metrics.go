package controller

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/allocator"
)

// gauges are the allocator's metrics. Names are MetalLB's, so that dashboards
// and alerts carry over. The label pool has as many values as there are pools.
type gauges struct {
	total, inUse, services *prometheus.GaugeVec
	v4, v4InUse            *prometheus.GaugeVec
	v6, v6InUse            *prometheus.GaugeVec
	loaded, stale          prometheus.Gauge
	// updates and failures count passes over Services and configuration.
	updates, failures prometheus.Counter
	// foreign is 1 while nothing is given because of another provider.
	foreign prometheus.Gauge
}

func newGauges(reg prometheus.Registerer) (*gauges, error) {
	vec := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "metallb_allocator_" + name, Help: help}, []string{"pool"})
	}
	g := &gauges{
		total:    vec("addresses_total", "Addresses of the pool that can be used."),
		inUse:    vec("addresses_in_use_total", "Distinct addresses of the pool in use."),
		services: vec("services_allocated_total", "Services with an address of the pool."),
		v4:       vec("ipv4_addresses_total", "IPv4 addresses of the pool that can be used."),
		v4InUse:  vec("ipv4_addresses_in_use_total", "Distinct IPv4 addresses of the pool in use."),
		v6:       vec("ipv6_addresses_total", "IPv6 addresses of the pool that can be used."),
		v6InUse:  vec("ipv6_addresses_in_use_total", "Distinct IPv6 addresses of the pool in use."),
		loaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metallb_k8s_client_config_loaded_bool", Help: "1 if a configuration was loaded.",
		}),
		stale: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metallb_k8s_client_config_stale_bool", Help: "1 if some object is not used as it is written.",
		}),
		updates: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metallb_k8s_client_updates_total", Help: "Changes of objects that were looked at.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "metallb_k8s_client_update_errors_total", Help: "Changes of objects that could not be carried out.",
		}),
		foreign: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_lb_foreign_provider_present", Help: "1 while no address is given because another MetalLB runs in the cluster.",
		}),
	}
	for _, c := range []prometheus.Collector{
		g.total, g.inUse, g.services, g.v4, g.v4InUse, g.v6, g.v6InUse, g.loaded, g.stale, g.updates, g.failures, g.foreign,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return g, nil
}

func (g *gauges) config(stale bool) {
	g.loaded.Set(1)
	g.stale.Set(0)
	if stale {
		g.stale.Set(1)
	}
}

func (g *gauges) update(err error) {
	g.updates.Inc()
	if err != nil {
		g.failures.Inc()
	}
}

func (g *gauges) usage(byPool map[string]allocator.Usage) {
	for _, vec := range []*prometheus.GaugeVec{g.total, g.inUse, g.services, g.v4, g.v4InUse, g.v6, g.v6InUse} {
		vec.Reset()
	}
	for pool, u := range byPool {
		v4, v6 := float64(u.AssignedIPv4)+float64(u.AvailableIPv4), float64(u.AssignedIPv6)+float64(u.AvailableIPv6)
		g.total.WithLabelValues(pool).Set(v4 + v6)
		g.inUse.WithLabelValues(pool).Set(float64(u.AssignedIPv4 + u.AssignedIPv6))
		g.services.WithLabelValues(pool).Set(float64(u.Services))
		g.v4.WithLabelValues(pool).Set(v4)
		g.v4InUse.WithLabelValues(pool).Set(float64(u.AssignedIPv4))
		g.v6.WithLabelValues(pool).Set(v6)
		g.v6InUse.WithLabelValues(pool).Set(float64(u.AssignedIPv6))
	}
}

// RegisterMetrics registers what the controller counts, without a cluster: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	_, err := newGauges(r)
	return err
}
