package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// AnnotationAddress on a Gateway, with the value AddressRouter, serves its listeners at the
// address and ports of the router itself, beside Routes and Ingresses, in place of an address
// of its own. The IngressController of its class must permit it (AnnotationSharedAddress).
const (
	AnnotationAddress = "fairlead.dev/address"
	AddressRouter     = "router"
)

// AnnotationSharedAddress on an IngressController, with the value "true", permits that Gateways
// share the address of its routers (AnnotationAddress).
const AnnotationSharedAddress = "fairlead.dev/shared-address"

// AnnotationTakesOver on an HTTPRoute, with the value "true", has it replace Routes of its own
// namespace for the same host and path where both share an address.
const AnnotationTakesOver = "fairlead.dev/takes-over"

// SharesAddress reports whether a Gateway asks for the address of the router.
func SharesAddress(g *gatewayv1.Gateway) bool { return g.Annotations[AnnotationAddress] == AddressRouter }
