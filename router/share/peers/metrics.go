package peers

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/share"
)

// Register adds the metrics of the member.
func (m *Member) Register(r prometheus.Registerer) {
	gauge := func(name, help string, value func(share.Counts) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fairlead_agent_shared_" + name, Help: help}, func() float64 { return value(m.Counts()) })
	}
	r.MustRegister(
		gauge("leases", "Leases of tokens that other workers have of keys of this one.", func(c share.Counts) float64 { return float64(c.Leases) }),
		gauge("keys", "Keys of shared limits that this worker counts.", func(c share.Counts) float64 { return float64(c.Keys) }),
		gauge("degraded", "Owners of keys that do not act, in place of which this worker uses its part of the limits.", func(c share.Counts) float64 { return float64(c.Degraded) }),
		refusals{m, prometheus.NewDesc("fairlead_agent_shared_refused_total", "Requests that were refused by shared limits, by reason: limit, late (the owner did not answer in time), no_owner (no worker may act as the owner), full (no room for a further key), or invalid.", []string{"reason"}, nil)},
	)
}

// refusals count requests by reason.
type refusals struct {
	member *Member
	desc   *prometheus.Desc
}

// Describe sends the description.
func (r refusals) Describe(out chan<- *prometheus.Desc) { out <- r.desc }

// Collect sends the counts.
func (r refusals) Collect(out chan<- prometheus.Metric) {
	c := r.member.Counts()
	for _, reason := range []share.Reason{share.Over, share.Late, share.NoOwner, share.Full, share.Invalid} {
		out <- prometheus.MustNewConstMetric(r.desc, prometheus.CounterValue, float64(c.Refused[reason]), string(reason))
	}
}
