package controller

import (
	"sync"

	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// metrics are those of OpenShift's Ingress-to-Route controller. Cardinality: one
// series for each Ingress, and one for each Route of an Ingress.
type metrics struct {
	classless, unmanaged *prometheus.Desc

	mu    sync.Mutex
	known map[client.ObjectKey]ingressRecord
}

// ingressRecord is what the metrics say about one Ingress.
type ingressRecord struct {
	classless, managed bool
	// hosts are those of its Routes by name.
	hosts map[string]string
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		classless: prometheus.NewDesc("openshift_ingress_to_route_controller_ingress_without_class_name",
			"Whether an Ingress has no spec.ingressClassName (1) or has one (0).", []string{"name", "namespace"}, nil),
		unmanaged: prometheus.NewDesc("openshift_ingress_to_route_controller_route_with_unmanaged_owner",
			"Whether the Ingress that a Route belongs to is another controller's (1) or ours (0).", []string{"name", "namespace", "host"}, nil),
		known: map[client.ObjectKey]ingressRecord{},
	}
	if registry == nil {
		return m, nil
	}
	return m, registry.Register(m)
}

// set counts an Ingress and the Routes that belong to it.
func (m *metrics) set(i *networkingv1.Ingress, routes map[string]*routev1.Route, managed bool) {
	f := ingressRecord{classless: i.Spec.IngressClassName == nil || *i.Spec.IngressClassName == "", managed: managed, hosts: make(map[string]string, len(routes))}
	for name, r := range routes {
		f.hosts[name] = r.Spec.Host
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[client.ObjectKeyFromObject(i)] = f
}

func (m *metrics) forget(key client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.classless
	to <- m.unmanaged
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, f := range m.known {
		to <- prometheus.MustNewConstMetric(m.classless, prometheus.GaugeValue, number(f.classless), key.Name, key.Namespace)
		for name, host := range f.hosts {
			to <- prometheus.MustNewConstMetric(m.unmanaged, prometheus.GaugeValue, number(!f.managed), name, key.Namespace, host)
		}
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// RegisterMetrics registers what the Ingress controller counts, without a cluster: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) error {
	_, err := newMetrics(r)
	return err
}
