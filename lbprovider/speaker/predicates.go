package speaker

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// nodeChanged lets changes through that matter here, which heartbeats do not.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Node)
		after, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok1 || !ok2 || !labels.Equals(before.Labels, after.Labels) || drained(before) != drained(after) ||
			condition(before, corev1.NodeReady) != condition(after, corev1.NodeReady) ||
			condition(before, corev1.NodeNetworkUnavailable) != condition(after, corev1.NodeNetworkUnavailable)
	}}
}

// podMoved lets changes of a speaker pod's address and readiness through.
func podMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok1 || !ok2 || before.Status.HostIP != after.Status.HostIP || podReady(before) != podReady(after)
	}}
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

func condition(n *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
