package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// reference is one from an object to another.
type reference struct {
	fromKind, fromNamespace            string
	toGroup, toKind, namespace, toName string
}

// granted reports whether a reference may be followed: within a namespace, or where the
// other namespace has a ReferenceGrant.
func granted(src door.Source, r reference) bool {
	if r.fromNamespace == r.namespace {
		return true
	}
	return permitted(grantsFrom(src)(r.namespace), r)
}

// grantsFrom returns a function that lists the ReferenceGrants of a namespace.
func grantsFrom(src door.Source) func(namespace string) []*gatewayv1.ReferenceGrant {
	if all, ok := src.(door.Gateways); ok {
		return all.Grants
	}
	return func(string) []*gatewayv1.ReferenceGrant { return nil }
}

// permitted reports whether one of the grants of the other namespace permits a reference.
func permitted(all []*gatewayv1.ReferenceGrant, r reference) bool {
	return slices.ContainsFunc(all, func(g *gatewayv1.ReferenceGrant) bool { return grants(g, r) })
}

func grants(g *gatewayv1.ReferenceGrant, r reference) bool {
	from := slices.ContainsFunc(g.Spec.From, func(f gatewayv1.ReferenceGrantFrom) bool {
		return f.Group == gatewayv1.GroupName && string(f.Kind) == r.fromKind && string(f.Namespace) == r.fromNamespace
	})
	return from && slices.ContainsFunc(g.Spec.To, func(t gatewayv1.ReferenceGrantTo) bool {
		return string(t.Group) == r.toGroup && string(t.Kind) == r.toKind && (t.Name == nil || *t.Name == "" || string(*t.Name) == r.toName)
	})
}

// grantsOf stands for all ReferenceGrants of a namespace.
func grantsOf(namespace string) model.Object {
	return model.Object{Kind: door.KindGrants, Namespace: namespace}
}
