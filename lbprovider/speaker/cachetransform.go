package speaker

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// dropUnread removes what no speaker reads before an object enters the manager's
// cache. Of the objects in it a speaker writes the status only. Services and their
// endpoints are kept by package servicecache instead.
func dropUnread(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
		delete(m.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	if n, ok := o.(*corev1.Node); ok {
		n.Status = corev1.NodeStatus{Conditions: n.Status.Conditions, Addresses: n.Status.Addresses}
	}
	return o, nil
}
