package pod

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// AnnotationFingerprint differs between what was desired at different times.
const AnnotationFingerprint = "fairlead.dev/fingerprint"

// Added reports whether another program added to a pod what derives does not see.
func Added(live, desired corev1.PodSpec) bool {
	if len(live.Containers) != len(desired.Containers) || len(live.InitContainers) != len(desired.InitContainers) ||
		len(live.Volumes) != len(desired.Volumes) || len(live.Tolerations) != len(desired.Tolerations) ||
		!maps.Equal(live.NodeSelector, desired.NodeSelector) ||
		!equality.Semantic.DeepEqual(live.SecurityContext, desired.SecurityContext) {
		return true
	}
	for i, c := range slices.Concat(live.InitContainers, live.Containers) {
		d := slices.Concat(desired.InitContainers, desired.Containers)[i]
		if len(c.Args) != len(d.Args) || len(c.Command) != len(d.Command) || len(c.Env) != len(d.Env) || len(c.VolumeMounts) != len(d.VolumeMounts) ||
			!equality.Semantic.DeepEqual(c.SecurityContext, d.SecurityContext) || len(c.Resources.Limits) != len(d.Resources.Limits) {
			return true
		}
	}
	return false
}

// RestartedAt is the annotation that "kubectl rollout restart" sets.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"
