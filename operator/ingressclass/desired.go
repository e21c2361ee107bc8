// Package ingressclass decides about the IngressClass of an IngressController. Pure.
package ingressclass

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
)

// Desired returns the IngressClass of an IngressController. Whether
// it is the default class of the cluster is left to the administrator.
func Desired(ic string) *networkingv1.IngressClass {
	return &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:   api.IngressClassName(ic),
			Labels: map[string]string{api.LabelOwningIngressController: ic},
		},
		Spec: networkingv1.IngressClassSpec{
			Controller: api.IngressClassController,
			Parameters: &networkingv1.IngressClassParametersReference{
				APIGroup:  new(operatorv1.GroupName),
				Kind:      "IngressController",
				Name:      ic,
				Scope:     new(networkingv1.IngressClassParametersReferenceScopeNamespace),
				Namespace: new(api.OperatorNamespace),
			},
		},
	}
}

// Changed returns the live IngressClass brought in line with the
// desired one, and whether that changes anything. spec.controller cannot change.
func Changed(live, desired *networkingv1.IngressClass) (*networkingv1.IngressClass, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !equality.Semantic.DeepEqual(live.Spec.Parameters, desired.Spec.Parameters) {
		updated.Spec.Parameters = desired.Spec.Parameters
		changed = true
	}
	return updated, changed
}
