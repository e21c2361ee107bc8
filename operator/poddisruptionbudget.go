package operator

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
)

// desiredPodDisruptionBudget returns the budget, and whether there shall be
// one: with a single replica it would only block the draining of its node.
func desiredPodDisruptionBudget(s settings) (*policyv1.PodDisruptionBudget, bool) {
	unavailable := intstr.FromInt32(1)
	if s.replicas >= 3 {
		unavailable = intstr.FromString("25%")
	}
	always := policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: childMeta(s.name, api.RouterName(s.name)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &unavailable,
			Selector:       &metav1.LabelSelector{MatchLabels: podLabels(s.name)},
			// A router that is not ready protects nobody.
			UnhealthyPodEvictionPolicy: &always,
		},
	}, s.replicas >= 2
}

// changedPodDisruptionBudget returns the live budget brought in line with the
// desired one, and whether that changes anything.
func changedPodDisruptionBudget(live, desired *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, bool) {
	updated := live.DeepCopy()
	changed := mergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if live.Spec.MinAvailable != nil || !derives(desired.Spec, live.Spec) {
		updated.Spec = *desired.Spec.DeepCopy()
		changed = true
	}
	return updated, changed
}
