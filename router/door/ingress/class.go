package ingress

import (
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
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

// controller returns the name of the IngressController that the parameters of
// the class name, which alone serves the Ingress; empty for all that select it.
func (c *conversion) controller() string {
	class := c.in.Class
	if class == nil || class.Spec.Parameters == nil {
		return ""
	}
	p := class.Spec.Parameters
	group, namespace := "", api.OperatorNamespace
	if p.APIGroup != nil {
		group = *p.APIGroup
	}
	if p.Namespace != nil {
		namespace = *p.Namespace
	}
	if group != operatorv1.GroupName || p.Kind != "IngressController" || namespace != api.OperatorNamespace {
		c.warn("spec.ingressClassName", api.ReasonInvalidClassParameters,
			fmt.Sprintf("spec.parameters of IngressClass %s name no IngressController in namespace %s", class.Name, api.OperatorNamespace),
			"all IngressControllers that select the Ingress serve it")
		return ""
	}
	return p.Name
}
