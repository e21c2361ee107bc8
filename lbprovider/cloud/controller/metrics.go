package controller

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// gauges are the controller's metrics. There are as many series as there are
// Services, and few of those.
type gauges struct {
	seconds *prometheus.HistogramVec // by result: a class of error, or "success"
	targets *prometheus.GaugeVec     // by service and state
	orphans prometheus.Gauge
}

func newGauges(reg prometheus.Registerer) (*gauges, error) {
	g := &gauges{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_cloud_reconcile_duration_seconds", Help: "Duration of a pass over one load balancer, by result.",
			Buckets: []float64{0.01, 0.1, 1, 10, 60},
		}, []string{"result"}),
		targets: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fairlead_cloud_targets", Help: "Targets of a load balancer, over all ports, by what the cloud says of them.",
		}, []string{"service", "state"}),
		orphans: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_cloud_orphans", Help: "Load balancers in the cloud whose Service does not exist.",
		}),
	}
	for _, c := range []prometheus.Collector{g.seconds, g.targets, g.orphans} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return g, nil
}

func (g *gauges) pass(took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = string(hook.ClassOf(err))
	}
	g.seconds.WithLabelValues(result).Observe(took.Seconds())
}

func (g *gauges) health(service string, targets []hook.TargetHealth) {
	g.targets.DeletePartialMatch(prometheus.Labels{"service": service})
	for _, t := range targets {
		g.targets.WithLabelValues(service, string(t.State)).Inc()
	}
}

// Calls counts the calls of a cloud's API. Pass its Observe to the hook.
type Calls struct {
	calls     *prometheus.CounterVec
	throttled *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
}

// NewCalls registers the metrics of API calls.
func NewCalls(reg prometheus.Registerer) (*Calls, error) {
	c := &Calls{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_cloud_api_calls_total", Help: "Calls of the cloud's API, with every attempt, by service, action and error code.",
		}, []string{"service", "action", "code"}),
		throttled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_cloud_api_throttled_total", Help: "Calls that the cloud refused because there were too many.",
		}, []string{"service"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_cloud_api_request_duration_seconds", Help: "Duration of calls of the cloud's API.", Buckets: []float64{0.01, 0.05, 0.2, 1, 5, 30},
		}, []string{"service"}),
	}
	for _, m := range []prometheus.Collector{c.calls, c.throttled, c.seconds} {
		if err := reg.Register(m); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return c, nil
}

// Observe counts one attempt of a call. An empty code means success.
func (c *Calls) Observe(service, action, code string, throttled bool, took time.Duration) {
	c.calls.WithLabelValues(service, action, code).Inc()
	c.seconds.WithLabelValues(service).Observe(took.Seconds())
	if throttled {
		c.throttled.WithLabelValues(service).Inc()
	}
}

// RegisterMetrics registers what the controller and the calls of a cloud's API count, without a cloud: the
// reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	if _, err := NewCalls(r); err != nil {
		return err
	}
	_, err := newGauges(r)
	return err
}
