package operator

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/operator/status"
)

// metrics are what alerts on IngressControllers stand on. Cardinality: two
// series per IngressController.
type metrics struct {
	conditions *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{conditions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ingress_controller_conditions",
		Help: "Whether a condition of an IngressController is True (1) or not (0).",
	}, []string{"name", "condition"})}
	return m, registry.Register(m.conditions)
}

func (m *metrics) set(ic string, conditions []operatorv1.OperatorCondition) {
	for _, kind := range []string{operatorv1.OperatorStatusTypeAvailable, operatorv1.OperatorStatusTypeDegraded} {
		value := 0.0
		if c := status.Find(conditions, kind); c != nil && c.Status == operatorv1.ConditionTrue {
			value = 1
		}
		m.conditions.WithLabelValues(ic, kind).Set(value)
	}
}

func (m *metrics) forget(ic string) {
	m.conditions.DeletePartialMatch(prometheus.Labels{"name": ic})
}

// RegisterMetrics registers what the operator counts, without a cluster: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	_, err := newMetrics(r)
	return err
}
