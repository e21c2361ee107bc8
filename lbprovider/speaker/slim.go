package speaker

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// slim leaves out what no speaker reads before an object enters the cache:
// every node holds all Services and EndpointSlices of the cluster. A speaker
// never writes these objects.
func slim(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
		delete(m.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	switch o := o.(type) {
	case *corev1.Service:
		o.Spec = corev1.ServiceSpec{
			Type: o.Spec.Type, LoadBalancerClass: o.Spec.LoadBalancerClass,
			ExternalTrafficPolicy: o.Spec.ExternalTrafficPolicy, HealthCheckNodePort: o.Spec.HealthCheckNodePort,
		}
		o.Status.Conditions = nil
		if o.Spec.Type != corev1.ServiceTypeLoadBalancer {
			o.Labels, o.Annotations = nil, nil
		}
	case *discoveryv1.EndpointSlice:
		o.Ports, o.Annotations, o.OwnerReferences = nil, nil, nil
		o.Labels = map[string]string{discoveryv1.LabelServiceName: o.Labels[discoveryv1.LabelServiceName]}
		for i, e := range o.Endpoints {
			o.Endpoints[i] = discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions, NodeName: e.NodeName}
		}
	case *corev1.Node:
		o.Status = corev1.NodeStatus{Conditions: o.Status.Conditions, Addresses: o.Status.Addresses}
	}
	return o, nil
}
