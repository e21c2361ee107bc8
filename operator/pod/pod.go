// Package pod holds what the pods of routers and of the canary have in common:
// labels, security and resources. Pure.
package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

// Ready reports whether a pod is ready and does not end.
func Ready(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil && Answers(p)
}

// ServiceAccountPath is where a pod finds its token, as in all of Kubernetes.
const ServiceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// Labels select the router pods of an IngressController.
func Labels(ic string) map[string]string {
	return map[string]string{api.LabelDeploymentIngressController: ic}
}

// Selector is the form of Labels in status.selector.
func Selector(ic string) string {
	return fmt.Sprintf("%s=%s", api.LabelDeploymentIngressController, ic)
}

// Answers reports whether a pod passes its readiness probe, as one that ends may still do.
func Answers(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
