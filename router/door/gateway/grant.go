package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// reference is one from an object of the Gateway API to another.
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
	return door.GrantsFrom(src)
}

// permitted reports whether one of the grants of the other namespace permits a reference.
func permitted(all []*gatewayv1.ReferenceGrant, r reference) bool {
	return door.Permitted(all, door.Reference{
		FromGroup: gatewayv1.GroupName, FromKind: r.fromKind, FromNamespace: r.fromNamespace,
		ToGroup: r.toGroup, ToKind: r.toKind, Namespace: r.namespace, Name: r.toName,
	})
}

// grantsOf stands for all ReferenceGrants of a namespace.
func grantsOf(namespace string) model.Object { return door.GrantsOf(namespace) }
