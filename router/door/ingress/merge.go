package ingress

import (
	"maps"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// Merge returns the live Route brought in line with the desired one, and
// whether that changes anything. Annotations that did not come from the
// Ingress stay; so do labels, unless the Ingress asks for them to follow.
func Merge(i *networkingv1.Ingress, live, desired *routev1.Route) (*routev1.Route, bool) {
	annotations, labels := mergeAnnotations(live.Annotations, desired.Annotations), live.Labels
	if follow, err := reconcileLabels(i); err == nil && follow {
		labels = desired.Labels
	}
	// First the comparison: of the thousands of Routes of an Ingress few change.
	if equality.Semantic.DeepEqual(live.Spec, desired.Spec) &&
		equality.Semantic.DeepEqual(live.OwnerReferences, desired.OwnerReferences) &&
		equality.Semantic.DeepEqual(live.Annotations, annotations) &&
		equality.Semantic.DeepEqual(live.Labels, labels) {
		return live, false
	}
	updated := live.DeepCopy()
	updated.Spec = *desired.Spec.DeepCopy()
	updated.OwnerReferences = desired.OwnerReferences
	updated.Annotations, updated.Labels = annotations, maps.Clone(labels)
	return updated, true
}

func mergeAnnotations(live, desired map[string]string) map[string]string {
	merged := maps.Clone(live)
	if merged == nil {
		merged = map[string]string{}
	}
	for key := range strings.SplitSeq(live[api.AnnotationFromIngress], ",") {
		delete(merged, key)
	}
	delete(merged, api.AnnotationFromIngress)
	for _, key := range ownAnnotations {
		delete(merged, key)
	}
	maps.Copy(merged, desired)
	return merged
}

func joinKeys(m map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ",")
}

// Owner returns the name of the Ingress that controls a Route, or what lets
// routers read its Secrets; empty if none does.
func Owner(o metav1.Object) string {
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "Ingress" && strings.HasPrefix(owner.APIVersion, networkingv1.GroupName+"/") {
		return owner.Name
	}
	return ""
}
