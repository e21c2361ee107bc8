package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	door "github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// Access is what lets routers read the Secrets that a Gateway names in one namespace, these
// and no others.
type Access struct {
	Role    *rbacv1.Role
	Binding *rbacv1.RoleBinding
}

const (
	// labelAccess is on Roles and RoleBindings for a Gateway, with AccessID.
	labelAccess = "fairlead.dev/gateway-access"
	// annotationAccess has the Gateway's namespace and name.
	annotationAccess = "fairlead.dev/gateway"
)

// AccessLabels find what AccessOf makes for a Gateway in all namespaces.
func AccessLabels(namespace, name string) map[string]string {
	sum := sha256.Sum256([]byte(namespace + "/" + name))
	return map[string]string{labelAccess: hex.EncodeToString(sum[:8]), api.LabelIngressAccess: "true", gateway.LabelManagedBy: gateway.ManagedBy}
}

// AccessOwner returns "NAMESPACE/NAME" of the Gateway that an object lets routers read
// Secrets for, or nothing.
func AccessOwner(o metav1.Object) string {
	if o.GetLabels()[labelAccess] == "" {
		return ""
	}
	return o.GetAnnotations()[annotationAccess]
}

// Access returns what routers need to read the certificates of the Gateway, for each
// namespace with one. Those of ListenerSets have Roles of their own, for each namespace that
// ListenerSets are in, so that no tenant makes the Role of another one too large.
func (in Input) Access() []Access {
	g := in.Gateway
	if gateway.SharesAddress(g) && in.Settings.Name != "" && !in.Settings.SharedAddress {
		return nil // they serve nothing of it
	}
	if gateway.HasParameters(g) && in.Settings.Name == "" {
		return nil // none serves it
	}
	labels := AccessLabels(g.Namespace, g.Name)
	all := in.access("router-reads-certificates-for-gateway-"+labels[labelAccess], door.Secrets(g, in.Grants))
	if in.Joint == nil {
		return all
	}
	byTenant := map[string][]model.Object{}
	for _, v := range in.Joint.Sets {
		byTenant[v.Set.Namespace] = append(byTenant[v.Set.Namespace], door.SetSecrets(v, in.Grants)...)
	}
	for _, tenant := range slices.Sorted(maps.Keys(byTenant)) {
		sum := sha256.Sum256([]byte(g.Namespace + "/" + g.Name + "/" + tenant))
		all = append(all, in.access("router-reads-certificates-for-listenersets-"+hex.EncodeToString(sum[:8]), byTenant[tenant])...)
	}
	return all
}

// access returns what lets routers read some Secrets, by one name in each namespace.
func (in Input) access(name string, secrets []model.Object) (all []Access) {
	g := in.Gateway
	byNamespace := map[string][]string{}
	for _, s := range secrets {
		if !slices.Contains(byNamespace[s.Namespace], s.Name) {
			byNamespace[s.Namespace] = append(byNamespace[s.Namespace], s.Name)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		meta := metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: AccessLabels(g.Namespace, g.Name), Annotations: map[string]string{annotationAccess: g.Namespace + "/" + g.Name},
		}
		if namespace == g.Namespace { // an owner is in the same namespace
			meta.OwnerReferences = Meta(g, "").OwnerReferences
		}
		all = append(all, Access{
			Role: &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"},
				Verbs: []string{"get", "list", "watch"}, ResourceNames: byNamespace[namespace],
			}}},
			Binding: &rbacv1.RoleBinding{
				ObjectMeta: *meta.DeepCopy(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: api.OperandNamespace, Name: api.RouterServiceAccount}},
			},
		})
	}
	return all
}

// ShowsSecretOf reports whether a Gateway shows pods the certificate of a Secret of another
// namespace.
func ShowsSecretOf(g *gatewayv1.Gateway, namespace string) bool {
	if g.Spec.TLS == nil || g.Spec.TLS.Backend == nil || g.Spec.TLS.Backend.ClientCertificateRef == nil {
		return false
	}
	of := g.Spec.TLS.Backend.ClientCertificateRef.Namespace
	return namespace != g.Namespace && of != nil && string(*of) == namespace
}

// NamesSecretsOf reports whether a listener of an object in one namespace names a Secret of
// another one.
func NamesSecretsOf(listeners []gatewayv1.Listener, from, namespace string) bool {
	return namespace != from && slices.ContainsFunc(listeners, func(l gatewayv1.Listener) bool {
		return l.TLS != nil && slices.ContainsFunc(l.TLS.CertificateRefs, func(r gatewayv1.SecretObjectReference) bool {
			return r.Namespace != nil && string(*r.Namespace) == namespace
		})
	})
}
