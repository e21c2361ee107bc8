package kube

import (
	"maps"
	"unique"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// The functions below say whether an event can change what is served. All of
// them take nil for an object that did not exist before or does not any more.

// routeChanged ignores the status and managedFields: the router's own status
// writes must not make it work again.
func routeChanged(a, b *routev1.Route) bool {
	if a == nil || b == nil {
		return a != b
	}
	return metaChanged(a, b) || !equality.Semantic.DeepEqual(&a.Spec, &b.Spec) || !equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

func serviceChanged(a, b *backend.Service) bool {
	if a == nil || b == nil {
		return a != b
	}
	return !a.Equal(b)
}

func sliceChanged(a, b *backend.Slice) bool {
	if a == nil || b == nil {
		return a != b
	}
	return !a.Equal(b)
}

func secretChanged(a, b *corev1.Secret) bool {
	if a == nil || b == nil {
		return a != b
	}
	return a.UID != b.UID || a.Type != b.Type || !equality.Semantic.DeepEqual(a.Data, b.Data)
}

func configMapChanged(a, b *policy.ConfigMap) bool {
	if a == nil || b == nil {
		return a != b
	}
	return !a.Equal(b)
}

// controllerChanged compares the generation, which the API server raises with
// each change of the spec, the annotations, some of which are settings, and
// what the operator decided.
func controllerChanged(a, b *operatorv1.IngressController) bool {
	if a == nil || b == nil {
		return a != b
	}
	return a.UID != b.UID || a.Generation != b.Generation || !maps.Equal(a.Annotations, b.Annotations) ||
		a.Status.Domain != b.Status.Domain || !equality.Semantic.DeepEqual(a.Status.TLSProfile, b.Status.TLSProfile)
}

func metaChanged(a, b metav1.Object) bool {
	return a.GetUID() != b.GetUID() ||
		!maps.Equal(a.GetLabels(), b.GetLabels()) ||
		!maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

// serviceOf returns the Service that a slice belongs to. Slices without the
// label belong to none, and get a key that no Service has.
func serviceOf(key model.Object, s *backend.Slice) model.Object {
	return model.Object{Kind: door.KindService, Namespace: key.Namespace, Name: s.Service()}
}

// The functions below remove what no package reads.

// intern makes one of equal texts, for those that many objects have.
func intern(texts ...*string) {
	for _, t := range texts {
		*t = unique.Make(*t).Value()
	}
}

// lastApplied is what kubectl apply leaves behind: the object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func stripRoute(r *routev1.Route) {
	r.TypeMeta = metav1.TypeMeta{}
	r.ManagedFields = nil
	if delete(r.Annotations, lastApplied); len(r.Annotations) == 0 {
		r.Annotations = nil
	}
	intern(&r.Namespace, &r.Spec.To.Kind, (*string)(&r.Spec.WildcardPolicy))
	if r.Spec.To.Name == r.Name {
		r.Spec.To.Name = r.Name
	}
	r.Status.Ingress = fit(r.Status.Ingress)
	for i := range r.Status.Ingress {
		ingress := &r.Status.Ingress[i]
		intern(&ingress.RouterName, &ingress.RouterCanonicalHostname, (*string)(&ingress.WildcardPolicy))
		if ingress.Host == r.Spec.Host {
			ingress.Host = r.Spec.Host
		}
		ingress.Conditions = fit(ingress.Conditions)
		for j := range ingress.Conditions {
			c := &ingress.Conditions[j]
			intern((*string)(&c.Type), (*string)(&c.Status), &c.Reason)
		}
	}
}

// fit returns a slice without room for more, which decoding leaves.
func fit[T any](s []T) []T {
	if len(s) == cap(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

func stripSecret(s *corev1.Secret) {
	s.ManagedFields = nil
	s.Annotations = nil
	s.OwnerReferences = nil
}

func stripController(c *operatorv1.IngressController) { c.ManagedFields = nil }

func readNamespace(n *metav1.PartialObjectMetadata) *policy.Namespace {
	return policy.NewNamespace(n.Labels, n.Annotations)
}
