package preflight

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterVersionOperator is the field manager of what OpenShift keeps.
const clusterVersionOperator = "cluster-version-operator"

// statusWriters are field managers of the API server itself, which own no kind.
var statusWriters = []string{"kube-apiserver", "kube-controller-manager"}

// Owner says which program keeps an object, "" if that cannot be seen.
func Owner(o metav1.Object) string {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	managers := managers(o)
	switch {
	case slices.Contains(managers, clusterVersionOperator):
		return "OpenShift"
	case annotations["meta.helm.sh/release-name"] != "":
		return "Helm release " + annotations["meta.helm.sh/release-name"] + " in namespace " + annotations["meta.helm.sh/release-namespace"]
	case annotations["argocd.argoproj.io/tracking-id"] != "":
		name, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
		return "Argo CD application " + name
	case labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return "Flux kustomization " + labels["kustomize.toolkit.fluxcd.io/name"]
	case labels["olm.managed"] != "":
		return "the Operator Lifecycle Manager"
	case labels["app.kubernetes.io/managed-by"] != "":
		return labels["app.kubernetes.io/managed-by"]
	}
	return strings.Join(managers, ", ")
}

func managers(o metav1.Object) []string {
	found := map[string]bool{}
	for _, m := range o.GetManagedFields() {
		if m.Subresource == "" && m.Manager != "" && !slices.Contains(statusWriters, m.Manager) {
			// What kubectl calls itself when it applies without --server-side.
			found[strings.TrimSuffix(m.Manager, "-client-side-apply")] = true
		}
	}
	return sorted(found)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
