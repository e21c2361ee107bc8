package speaker

import (
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

// slim leaves out what no speaker reads before an object enters the cache. Of
// the objects in it a speaker writes the status only. Services and their
// endpoints are not in the cache at all (package facts).
func slim(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
		delete(m.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	switch o := o.(type) {
	case *corev1.Node:
		o.Status = corev1.NodeStatus{Conditions: o.Status.Conditions, Addresses: o.Status.Addresses}
	case *v1beta1.ServiceL2Status:
		slimStatus(&o.TypeMeta, &o.ObjectMeta, &o.Status.Node, &o.Status.ServiceName, &o.Status.ServiceNamespace)
		for i := range o.Status.Interfaces {
			share(&o.Status.Interfaces[i].Name)
		}
		o.Status.Interfaces, o.Status.Addresses = fit(o.Status.Interfaces), fit(o.Status.Addresses)
	case *v1beta1.ServiceBGPStatus:
		slimStatus(&o.TypeMeta, &o.ObjectMeta, &o.Status.Node, &o.Status.ServiceName, &o.Status.ServiceNamespace)
		for i := range o.Status.Peers {
			share(&o.Status.Peers[i])
		}
		o.Status.Peers = fit(o.Status.Peers)
	}
	return o, nil
}

// slimStatus is for objects of which there is one per Service. Who owns one is
// of no use here, and is kept by the API server when only the status is written;
// most of the texts are in thousands of them.
func slimStatus(t *metav1.TypeMeta, m *metav1.ObjectMeta, texts ...*string) {
	*t = metav1.TypeMeta{}
	*m = metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Labels: m.Labels, DeletionTimestamp: m.DeletionTimestamp,
	}
	share(&m.Namespace)
	for _, text := range texts {
		share(text)
	}
	labels := make(map[string]string, len(m.Labels))
	for key, value := range m.Labels {
		share(&key)
		share(&value)
		labels[key] = value
	}
	m.Labels = labels
}

// share replaces a text by the one copy of it that all have.
func share(text *string) { *text = unique.Make(*text).Value() }

// fit returns a slice without room for more, which decoding leaves.
func fit[T any](s []T) []T {
	if len(s) == cap(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}
