package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/pod"
)

// Changed returns the live Deployment brought in line with the
// desired one, and whether that changes anything.
func Changed(live, desired *appsv1.Deployment) (*appsv1.Deployment, bool) {
	updated := live.DeepCopy()
	desired = withProbeTimeouts(live, desired)
	metaChanged := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !metaChanged && child.Derives(desired.Spec, live.Spec) && !pod.Added(live.Spec.Template.Spec, desired.Spec.Template.Spec) {
		return live, false
	}
	updated.Spec = *desired.Spec.DeepCopy()
	// The selector cannot change, and "kubectl rollout restart" leaves its
	// mark in the template.
	updated.Spec.Selector = live.Spec.Selector
	if at, ok := live.Spec.Template.Annotations[pod.RestartedAt]; ok {
		updated.Spec.Template.Annotations = map[string]string{pod.RestartedAt: at}
	}
	return updated, true
}

// withProbeTimeouts keeps how long an administrator lets the router's probes
// take, which a slow node may need. It is all of the pod that may be edited.
func withProbeTimeouts(live, desired *appsv1.Deployment) *appsv1.Deployment {
	kept := desired.DeepCopy()
	for i := range kept.Spec.Template.Spec.Containers {
		c := &kept.Spec.Template.Spec.Containers[i]
		for _, l := range live.Spec.Template.Spec.Containers {
			if l.Name != c.Name {
				continue
			}
			for _, pair := range [][2]*corev1.Probe{
				{c.LivenessProbe, l.LivenessProbe}, {c.ReadinessProbe, l.ReadinessProbe}, {c.StartupProbe, l.StartupProbe},
			} {
				if want, have := pair[0], pair[1]; want != nil && have != nil && have.TimeoutSeconds > 0 {
					want.TimeoutSeconds = have.TimeoutSeconds
				}
			}
		}
	}
	return kept
}
