package gateway

import (
	"fmt"

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
func SharesAddress(g *gatewayv1.Gateway) bool {
	return g.Annotations[AnnotationAddress] == AddressRouter
}

// The ports at which a router serves Routes and Ingresses, and Gateways at its address.
const (
	SharedHTTPPort  = 80
	SharedHTTPSPort = 443
)

// PermitsSharing reports whether an IngressController permits that Gateways share the address of
// its routers, and says what is wrong with its annotation: what is not known permits nothing.
func PermitsSharing(annotations map[string]string) (permits bool, problem string) {
	switch annotations[AnnotationSharedAddress] {
	case "true":
		return true, ""
	case "", "false":
		return false, ""
	}
	return false, `must be "true" or "false"`
}

// AddressProblem says what is wrong with how a Gateway chooses its address, or nothing. Such a
// Gateway is not served: elsewhere its hosts could be where their owner does not want them.
func AddressProblem(g *gatewayv1.Gateway) string {
	value, has := g.Annotations[AnnotationAddress]
	switch {
	case !has:
		return ""
	case value == AddressRouter && len(g.Spec.Addresses) > 0:
		return fmt.Sprintf("spec.addresses: the Gateway is to be at the address of the router (annotation %s), so it is not served; remove spec.addresses, or remove the annotation for an address of its own", AnnotationAddress)
	case value == AddressRouter:
		return ""
	}
	return fmt.Sprintf("annotation %s has %.50q, which is not known, so the Gateway is not served; write %q for the address of the router, or remove the annotation for an address of its own", AnnotationAddress, value, AddressRouter)
}

// atRouter says why a listener is not served at the address that its Gateway chooses, or nothing.
func atRouter(g *gatewayv1.Gateway, l *gatewayv1.Listener) (gatewayv1.ListenerConditionReason, string) {
	if problem := AddressProblem(g); problem != "" {
		return gatewayv1.ListenerReasonUnsupportedValue, problem
	}
	if !SharesAddress(g) {
		return "", ""
	}
	const here, instead = "is not served at the address of the router (annotation " + AnnotationAddress + ")", "or another Gateway without the annotation"
	port := int32(SharedHTTPPort)
	switch l.Protocol {
	case gatewayv1.HTTPProtocolType:
	case gatewayv1.HTTPSProtocolType:
		port = SharedHTTPSPort
		what := ""
		if hasALPN(l) {
			what = "tls.options[" + OptionALPN + "]"
		}
		if v, field := Validation(g, int32(l.Port)); v != nil {
			what = field
		}
		if what != "" {
			return gatewayv1.ListenerReasonUnsupportedValue, fmt.Sprintf("%s %s, so the listener is not served; remove it, %s", what, here, instead)
		}
	case gatewayv1.TLSProtocolType, gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType:
		return gatewayv1.ListenerReasonUnsupportedProtocol, fmt.Sprintf("protocol %s %s; use HTTP or HTTPS, %s", l.Protocol, here, instead)
	}
	if int32(l.Port) != port {
		return gatewayv1.ListenerReasonPortUnavailable, fmt.Sprintf("protocol %s at port %d %s; use port %d, %s", l.Protocol, l.Port, here, port, instead)
	}
	return "", ""
}

// noSets says why a Gateway at the address of the router has no ListenerSets.
func noSets(g *gatewayv1.Gateway) string {
	return fmt.Sprintf("Gateway %s/%s is at the address of the router (annotation %s), where ListenerSets have no listeners, so none of them is served; name a Gateway without the annotation, or have the Gateway itself list the listeners", g.Namespace, g.Name, AnnotationAddress)
}
