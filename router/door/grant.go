package door

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/model"
)

// Grants is what a Source has beside, where it has ReferenceGrants of the Gateway API.
type Grants interface {
	// Grants returns the ReferenceGrants of a namespace, in any order.
	Grants(namespace string) []*gatewayv1.ReferenceGrant
}

// UnknownGrants is what a Source has beside, where it may not know all ReferenceGrants.
type UnknownGrants interface {
	// GrantGap returns nil, or an error with a method Unknown if a namespace may have
	// ReferenceGrants that are not known.
	GrantGap(namespace string) error
}

// Reference is one from an object to another one.
type Reference struct {
	FromGroup, FromKind, FromNamespace string
	ToGroup, ToKind, Namespace, Name   string
}

// GrantsFrom returns a function that lists the ReferenceGrants of a namespace.
func GrantsFrom(src Source) func(namespace string) []*gatewayv1.ReferenceGrant {
	if all, ok := src.(Grants); ok {
		return all.Grants
	}
	return func(string) []*gatewayv1.ReferenceGrant { return nil }
}

// GrantsOf stands for all ReferenceGrants of a namespace.
func GrantsOf(namespace string) model.Object {
	return model.Object{Kind: KindGrants, Namespace: namespace}
}

// Permitted reports whether one of the grants of the other namespace permits a reference.
func Permitted(all []*gatewayv1.ReferenceGrant, r Reference) bool {
	return slices.ContainsFunc(all, r.permittedBy)
}

func (r *Reference) permittedBy(g *gatewayv1.ReferenceGrant) bool {
	from := slices.ContainsFunc(g.Spec.From, func(f gatewayv1.ReferenceGrantFrom) bool {
		return string(f.Group) == r.FromGroup && string(f.Kind) == r.FromKind && string(f.Namespace) == r.FromNamespace
	})
	return from && slices.ContainsFunc(g.Spec.To, func(t gatewayv1.ReferenceGrantTo) bool {
		return string(t.Group) == r.ToGroup && string(t.Kind) == r.ToKind && (t.Name == nil || *t.Name == "" || string(*t.Name) == r.Name)
	})
}
