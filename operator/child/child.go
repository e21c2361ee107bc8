// Package child holds what all children of an IngressController have in common:
// names, labels, owners, and how a desired object is compared with the live one.
// Pure.
package child

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// Meta returns the metadata of a child in the namespace of the routers.
func Meta(ic, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: api.OperandNamespace,
		Name:      name,
		Labels:    map[string]string{api.LabelOwningIngressController: ic},
	}
}

// WithOwner returns the labels with the one that names the IngressController.
func WithOwner(labels map[string]string, ic string) map[string]string {
	merged := maps.Clone(labels)
	merged[api.LabelOwningIngressController] = ic
	return merged
}

// OwnedBy makes an object go when the Deployment goes. The IngressController
// itself cannot be the owner, because it lives in another namespace.
//
// The Services that clients reach from outside have no owner: a user who deletes
// the Deployment by hand gets it back a moment later, and must not lose the
// address meanwhile. The finalizer deletes them.
func OwnedBy[T metav1.Object](object T, d *appsv1.Deployment) T {
	if d != nil && d.UID != "" {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: appsv1.SchemeGroupVersion.String(),
			Kind:       "Deployment",
			Name:       d.Name,
			UID:        d.UID,
			Controller: new(true),
		}})
	}
	return object
}

// MergeMeta adds the desired labels, annotations and owners to the live ones
// and reports whether that changed anything. What others added stays.
func MergeMeta(live, desired *metav1.ObjectMeta) bool {
	changed := mergeMap(&live.Labels, desired.Labels)
	if mergeMap(&live.Annotations, desired.Annotations) {
		changed = true
	}
	if len(desired.OwnerReferences) > 0 && !equality.Semantic.DeepEqual(live.OwnerReferences, desired.OwnerReferences) {
		live.OwnerReferences = desired.OwnerReferences
		changed = true
	}
	return changed
}

func mergeMap(live *map[string]string, desired map[string]string) bool {
	changed := false
	for k, v := range desired {
		if old, ok := (*live)[k]; ok && old == v {
			continue
		}
		if *live == nil {
			*live = map[string]string{}
		}
		(*live)[k] = v
		changed = true
	}
	return changed
}

// Fingerprint returns a short hash of a value.
func Fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "" // API types can always be marshalled.
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Derives reports whether live has everything that desired sets. Fields that
// desired leaves empty may have the defaults of the API server, but for
// numbers and booleans: they must be set wherever the default is not zero.
func Derives(desired, live any) bool {
	return equality.Semantic.DeepDerivative(desired, live)
}
