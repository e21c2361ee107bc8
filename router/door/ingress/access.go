package ingress

import (
	"encoding/json"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// ExternalSecrets returns the Secrets that Routes refer to, each once, sorted.
func ExternalSecrets(routes []*routev1.Route) []string {
	var names []string
	for _, r := range routes {
		if t := r.Spec.TLS; t != nil && t.ExternalCertificate != nil && t.ExternalCertificate.Name != "" {
			names = append(names, t.ExternalCertificate.Name)
		}
		for _, name := range []string{r.Annotations[policy.AnnotationBasicSecret], r.Annotations[policy.AnnotationClientCA], clientsOf(r)} {
			if len(validation.IsDNS1123Subdomain(name)) == 0 {
				names = append(names, name)
			}
		}
		names = append(names, policy.IngressSecrets(r.Annotations[api.AnnotationIngressPolicy])...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// clientsOf returns the Secret with the authorities of clients that annotations of
// another controller name, or "".
func clientsOf(r *routev1.Route) string {
	var groups v1alpha1.PolicySpec
	text := r.Annotations[api.AnnotationIngressPolicy]
	if text == "" || json.Unmarshal([]byte(text), &groups) != nil || groups.Authentication == nil || groups.Authentication.ClientCertificate == nil {
		return ""
	}
	return string(groups.Authentication.ClientCertificate.CASecret)
}

// Access returns the Role and the RoleBinding that let routers read Secrets of
// the namespace of an Ingress, these and no others. They go with the Ingress.
func Access(i *networkingv1.Ingress, secrets []string) (*rbacv1.Role, *rbacv1.RoleBinding) {
	meta := metav1.ObjectMeta{
		Namespace:       i.Namespace,
		Name:            api.IngressAccessName(i.Name),
		Labels:          map[string]string{api.LabelIngressAccess: "true"},
		OwnerReferences: ownedBy(i),
	}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups:     []string{corev1.GroupName},
		Resources:     []string{"secrets"},
		Verbs:         []string{"get", "list", "watch"},
		ResourceNames: secrets,
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: *meta.DeepCopy(),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: api.OperandNamespace, Name: api.RouterServiceAccount}},
	}
	return role, binding
}

// ownedBy makes an object go with the Ingress.
func ownedBy(i *networkingv1.Ingress) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: networkingv1.SchemeGroupVersion.String(),
		Kind:       "Ingress",
		Name:       i.Name,
		UID:        i.UID,
		Controller: new(true),
	}}
}
