package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object returns the form that users type, "kind/namespace/name".
func object(kind string, o metav1.Object) string {
	if o.GetNamespace() == "" {
		return kind + "/" + o.GetName()
	}
	return kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

// wanted is how many pods a Deployment is to have.
func wanted(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// older says whether an object exists for longer than d, so that those who look
// after it have had their time.
func (s *Snapshot) older(o metav1.Object, d time.Duration) bool {
	return s.Now.Sub(o.GetCreationTimestamp().Time) > d
}

// most joins the first few words of a list, and counts the others.
func most(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:n], ", ") + ", …"
}
