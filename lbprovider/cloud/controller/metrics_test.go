package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/test/fakeaws"
)

// metric returns the sum of a metric's series whose labels hold some text; of a
// histogram, how much it has observed.
func metric(t *testing.T, registry prometheus.Gatherer, name, labels string) float64 {
	t.Helper()
	families, err := registry.Gather()
	must(t, err)
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var pairs []string
			for _, p := range m.GetLabel() {
				pairs = append(pairs, p.GetName()+"="+p.GetValue())
			}
			if strings.Contains(strings.Join(pairs, ","), labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// TestMetrics: calls, throttles, durations, targets and orphans are counted.
func TestMetrics(t *testing.T) {
	b := newBed(t)
	for n := range 3 {
		b.node(n)
	}
	b.cloud.Script(fakeaws.Fault{Action: "CreateLoadBalancer", Count: 2, Effect: fakeaws.Throttle()})
	defer b.start()()
	s := b.service("router-default", nil)
	b.settled(s, 3)
	registry := b.registry
	for _, want := range []struct {
		name, labels string
		least, most  float64
	}{
		{"fairlead_cloud_api_calls_total", "action=CreateLoadBalancer,code=,service=Elastic Load Balancing v2", 1, 3},
		{"fairlead_cloud_api_calls_total", "action=CreateLoadBalancer,code=Throttling", 2, 2},
		{"fairlead_cloud_api_calls_total", "action=RegisterTargets,code=,", 2, 10},
		{"fairlead_cloud_api_throttled_total", "service=Elastic Load Balancing v2", 2, 2},
		{"fairlead_cloud_api_request_duration_seconds", "service=EC2", 3, 1000},
		{"fairlead_cloud_reconcile_duration_seconds", "result=success", 1, 1000},
		{"fairlead_cloud_targets", "service=openshift-ingress/router-default,state=healthy", 6, 6},
	} {
		b.eventually(func() string {
			if got := metric(t, registry, want.name, want.labels); got < want.least || got > want.most {
				return fmt.Sprintf("%s{%s} is %v, want %v to %v", want.name, want.labels, got, want.least, want.most)
			}
			return ""
		})
	}
}
