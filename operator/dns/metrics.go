package dns

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// metrics say what is published where.
type metrics struct{ published *prometheus.GaugeVec }

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{published: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fairlead_dns_published",
		Help: "1 for every DNSRecord that is published in a zone, 0 for one that should be and is not.",
	}, []string{"namespace", "name", "zone"})}
	if registry == nil {
		return m, nil
	}
	return m, registry.Register(m.published)
}

func (m *metrics) set(key types.NamespacedName, outcomes []outcome) {
	m.forget(key)
	for _, o := range outcomes {
		value := 0.0
		if o.status == operatorv1.ConditionTrue {
			value = 1
		}
		m.published.WithLabelValues(key.Namespace, key.Name, o.zone.ID).Set(value)
	}
}

func (m *metrics) forget(key types.NamespacedName) {
	m.published.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}

// RegisterMetrics registers what the DNS controller counts, without a cluster: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	_, err := newMetrics(r)
	return err
}
