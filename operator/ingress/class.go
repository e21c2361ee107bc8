package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
)

// annotationClass is how classes were named before spec.ingressClassName.
const annotationClass = "kubernetes.io/ingress.class"

// ClassOf returns the name of the class of an Ingress, empty if it names none.
func ClassOf(i *networkingv1.Ingress) string {
	if i.Spec.IngressClassName != nil {
		return *i.Spec.IngressClassName
	}
	return i.Annotations[annotationClass]
}

// Managed reports whether an Ingress is ours. The class is the one that the
// Ingress names, nil if there is no such class; classless says whether
// Ingresses that name none are ours.
func Managed(i *networkingv1.Ingress, class *networkingv1.IngressClass, classless bool) bool {
	if ClassOf(i) == "" {
		return classless
	}
	return class != nil && class.Spec.Controller == api.IngressClassController
}
