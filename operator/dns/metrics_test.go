package dns

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// TestPublishedMetric: each zone of each record has one figure, and what is gone
// has none.
func TestPublishedMetric(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "ns", Name: "default-wildcard"}
	zone := func(id string, status operatorv1.ConditionStatus) outcome {
		return outcome{zone: configv1.DNSZone{ID: id}, status: status}
	}
	m.set(key, []outcome{zone("Z0", operatorv1.ConditionTrue)})
	m.set(key, []outcome{zone("Z1", operatorv1.ConditionTrue), zone("Z2", operatorv1.ConditionFalse), zone("Z3", operatorv1.ConditionUnknown)})
	other := types.NamespacedName{Namespace: "ns", Name: "other"}
	m.set(other, []outcome{zone("Z1", operatorv1.ConditionTrue)})
	m.forget(other)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			labels := ""
			for _, l := range series.GetLabel() {
				labels += l.GetName() + "=" + l.GetValue() + " "
			}
			got[f.GetName()+" "+labels] = series.GetGauge().GetValue()
		}
	}
	const series = "fairlead_dns_published name=default-wildcard namespace=ns zone="
	if diff := cmp.Diff(map[string]float64{series + "Z1 ": 1, series + "Z2 ": 0, series + "Z3 ": 0}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
