// Package disruption decides about the PodDisruptionBudget of an
// IngressController's routers. Pure.
package disruption

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

// Desired returns the budget, and whether there must be
// one: with a single replica it would only block the draining of its node.
func Desired(s effective.Spec) (*policyv1.PodDisruptionBudget, bool) {
	unavailable := intstr.FromInt32(1)
	if s.Replicas >= 3 {
		unavailable = intstr.FromString("25%")
	}
	always := policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: child.Meta(s.Name, api.RouterName(s.Name)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &unavailable,
			Selector:       &metav1.LabelSelector{MatchLabels: pod.Labels(s.Name)},
			// A router that is not ready protects no client.
			UnhealthyPodEvictionPolicy: &always,
		},
	}, s.Replicas >= 2
}

// Changed returns the live budget brought in line with the
// desired one, and whether that changes anything.
func Changed(live, desired *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if live.Spec.MinAvailable != nil || !child.Derives(desired.Spec, live.Spec) {
		updated.Spec = *desired.Spec.DeepCopy()
		changed = true
	}
	return updated, changed
}
