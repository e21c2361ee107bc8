package kube

import (
	"maps"
	"unique"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/model"
)

// The functions below say whether an event can change what is served. All of
// them take nil for an object that did not exist before or does not any more.

// routeChanged ignores the status and managedFields: the router's own status
// writes must not make it work again.
func routeChanged(a, b *routev1.Route) bool {
	if a == nil || b == nil {
		return a != b
	}
	return metaChanged(a, b) || !equality.Semantic.DeepEqual(&a.Spec, &b.Spec)
}

// serviceChanged ignores the status, which only the load balancer writes.
func serviceChanged(a, b *corev1.Service) bool {
	if a == nil || b == nil {
		return a != b
	}
	return metaChanged(a, b) || !equality.Semantic.DeepEqual(&a.Spec, &b.Spec)
}

// sliceChanged ignores annotations, such as the time of the last trigger.
func sliceChanged(a, b *discoveryv1.EndpointSlice) bool {
	if a == nil || b == nil {
		return a != b
	}
	return a.UID != b.UID || a.AddressType != b.AddressType ||
		!equality.Semantic.DeepEqual(a.Ports, b.Ports) ||
		!equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints)
}

func secretChanged(a, b *corev1.Secret) bool {
	if a == nil || b == nil {
		return a != b
	}
	return a.UID != b.UID || a.Type != b.Type || !equality.Semantic.DeepEqual(a.Data, b.Data)
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
func serviceOf(s *discoveryv1.EndpointSlice) model.Key {
	return model.Key{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
}

// The functions below remove what nobody reads.

// intern makes one of equal texts, for those that many objects have.
func intern(texts ...*string) {
	for _, t := range texts {
		*t = unique.Make(*t).Value()
	}
}

func stripRoute(r *routev1.Route) {
	r.TypeMeta = metav1.TypeMeta{}
	r.ManagedFields = nil
	intern(&r.Namespace, &r.Spec.To.Kind)
	for i := range r.Status.Ingress {
		ingress := &r.Status.Ingress[i]
		intern(&ingress.RouterName, &ingress.RouterCanonicalHostname)
		if ingress.Host == r.Spec.Host {
			ingress.Host = r.Spec.Host
		}
		for j := range ingress.Conditions {
			c := &ingress.Conditions[j]
			intern((*string)(&c.Type), (*string)(&c.Status), &c.Reason)
		}
	}
}

func stripService(s *corev1.Service) {
	s.TypeMeta = metav1.TypeMeta{}
	s.ManagedFields = nil
	s.OwnerReferences = nil
	s.Status = corev1.ServiceStatus{}
	s.Spec = corev1.ServiceSpec{Type: s.Spec.Type, ClusterIP: s.Spec.ClusterIP, Ports: s.Spec.Ports, ExternalName: s.Spec.ExternalName}
	intern(&s.Namespace, (*string)(&s.Spec.Type), &s.Spec.ClusterIP)
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		intern(&p.Name, (*string)(&p.Protocol), &p.TargetPort.StrVal)
	}
}

func stripSlice(s *discoveryv1.EndpointSlice) {
	s.ManagedFields = nil
	s.Annotations = nil
	s.OwnerReferences = nil
	s.GenerateName = ""
	s.TypeMeta = metav1.TypeMeta{}
	intern(&s.Namespace, (*string)(&s.AddressType))
	for _, p := range s.Ports {
		if p.Name != nil {
			intern(p.Name)
		}
		if p.Protocol != nil {
			intern((*string)(p.Protocol))
		}
	}
	for i := range s.Endpoints {
		for _, name := range []*string{s.Endpoints[i].NodeName, s.Endpoints[i].Zone} {
			if name != nil {
				intern(name)
			}
		}
	}
}

func stripSecret(s *corev1.Secret) {
	s.ManagedFields = nil
	s.Annotations = nil
	s.OwnerReferences = nil
}

func stripController(c *operatorv1.IngressController) { c.ManagedFields = nil }

func stripNamespace(n *metav1.PartialObjectMetadata) {
	n.ObjectMeta = metav1.ObjectMeta{
		Name:            n.Name,
		UID:             n.UID,
		ResourceVersion: n.ResourceVersion,
		Labels:          n.Labels,
	}
}
