package api

// Reasons of findings about objects of the Gateway API. Where a condition of the API says
// the same, the name is its own.
const (
	// ReasonNoMatchingParent: the Gateway has no listener with the name or port of a
	// parentRef.
	ReasonNoMatchingParent Reason = "NoMatchingParent"
	// ReasonNotAllowedByListeners: the listeners admit no route of this kind or namespace.
	ReasonNotAllowedByListeners Reason = "NotAllowedByListeners"
	// ReasonNoMatchingListenerHostname: no hostname of the route is one of the listeners'.
	ReasonNoMatchingListenerHostname Reason = "NoMatchingListenerHostname"
	// ReasonUnsupportedValue: the route asks for what is not served.
	ReasonUnsupportedValue Reason = "UnsupportedValue"
	// ReasonIncompatibleFilters: two filters of a rule cannot hold together.
	ReasonIncompatibleFilters Reason = "IncompatibleFilters"
	// ReasonRefNotPermitted: a reference to another namespace has no ReferenceGrant there.
	ReasonRefNotPermitted Reason = "RefNotPermitted"
	// ReasonInvalidKind: a backendRef is of a kind that is not known.
	ReasonInvalidKind Reason = "InvalidKind"
	// ReasonUnsupportedProtocol: appProtocol of a Service's port is not spoken.
	ReasonUnsupportedProtocol Reason = "UnsupportedProtocol"
	// ReasonListenerNotServed: a listener of a Gateway cannot be served.
	ReasonListenerNotServed Reason = "ListenerNotServed"
	// ReasonBackendTLSPolicyNotAccepted: a BackendTLSPolicy is not valid, or another one
	// has its target.
	ReasonBackendTLSPolicyNotAccepted Reason = "BackendTLSPolicyNotAccepted"
	// ReasonBackendTLSPolicyInvalid: a route names a Service whose BackendTLSPolicy cannot be
	// applied.
	ReasonBackendTLSPolicyInvalid Reason = "BackendTLSPolicyInvalid"
	// ReasonInvalidClientCertificateRef: a Gateway names a certificate for pods that cannot be
	// used.
	ReasonInvalidClientCertificateRef Reason = "InvalidClientCertificateRef"
	// ReasonRouteGoesFirst: a Route of the namespace has the same path at the address of the router.
	ReasonRouteGoesFirst Reason = "RouteGoesFirst"
	// ReasonInvalidRouteKinds: a listener admits kinds of routes that it cannot have.
	ReasonInvalidRouteKinds Reason = "InvalidRouteKinds"
)

func gatewayRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonNoMatchingParent: {
			Severity: SeverityError,
			Cause:    "the Gateway has no listener with the sectionName and port of the parentRef",
			Remedy:   "correct sectionName and port of spec.parentRefs, or leave them out to attach to all listeners",
		},
		ReasonNotAllowedByListeners: {
			Severity: SeverityError,
			Cause:    "allowedRoutes of the listeners admits no route of this kind from this namespace, or another namespace has the host at the address of the router",
			Remedy:   "ask the owner of the Gateway to change allowedRoutes, create the route in a namespace that it admits, or choose another hostname",
		},
		ReasonRouteGoesFirst: {
			Severity: SeverityWarning,
			Cause:    "a Route or Ingress of the namespace has the same host and path at the address of the router",
			Remedy:   "have the HTTPRoute take over with the annotation fairlead.dev/takes-over: \"true\", or choose another path",
		},
		ReasonNoMatchingListenerHostname: {
			Severity: SeverityError,
			Cause:    "no hostname of the route fits a hostname of the listeners",
			Remedy:   "correct spec.hostnames, or ask the owner of the Gateway for a listener with the hostname",
		},
		ReasonUnsupportedValue: {
			Severity: SeverityError,
			Cause:    "the route asks for what Fairlead does not serve yet, or for what cannot be served",
			Remedy:   "remove or correct the field that the message names; docs/gateway/httproute.md and the pages beside it list what is served",
		},
		ReasonIncompatibleFilters: {
			Severity: SeverityError,
			Cause:    "two filters of a rule cannot hold together",
			Remedy:   "keep one of them, or divide the rule",
		},
		ReasonRefNotPermitted: {
			Severity: SeverityError,
			Cause:    "a reference leads to another namespace, where no ReferenceGrant permits it",
			Remedy:   "create a ReferenceGrant in the other namespace, or refer to an object of the same one",
		},
		ReasonInvalidKind: {
			Severity: SeverityWarning,
			Cause:    "a backendRef is of a kind other than Service",
			Remedy:   "refer to a Service: group \"\" and kind Service",
		},
		ReasonUnsupportedProtocol: {
			Severity: SeverityWarning,
			Cause:    "appProtocol of the Service's port is one that the router does not speak to pods",
			Remedy:   "use http, kubernetes.io/h2c or kubernetes.io/ws, or no appProtocol; GRPCRoutes need kubernetes.io/h2c, grpc or none",
		},
	}
}

func gatewayObjectRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonListenerNotServed: {
			Severity: SeverityError,
			Cause:    "the listener conflicts with another one, or asks for what is not served",
			Remedy:   "correct the listener as the message says",
		},
		ReasonBackendTLSPolicyNotAccepted: {
			Severity: SeverityError,
			Cause:    "the BackendTLSPolicy names authorities or names that cannot be verified, a target that does not exist, or one that another policy has",
			Remedy:   "correct the field that the message names; docs/gateway/backendtlspolicy.md has what can be verified",
		},
		ReasonBackendTLSPolicyInvalid: {
			Severity: SeverityWarning,
			Cause:    "a BackendTLSPolicy wants the pods of the Service verified, and cannot be applied",
			Remedy:   "correct the BackendTLSPolicy as its status says, or delete it if pods need not be verified",
		},
		ReasonInvalidClientCertificateRef: {
			Severity: SeverityError,
			Cause:    "spec.tls.backend.clientCertificateRef of the Gateway names no Secret of type kubernetes.io/tls that can be used",
			Remedy:   "correct the reference or the Secret as the condition ResolvedRefs of the Gateway says",
		},
		ReasonInvalidRouteKinds: {
			Severity: SeverityWarning,
			Cause:    "allowedRoutes.kinds has kinds that listeners of this protocol cannot have",
			Remedy:   "remove these kinds, or leave kinds out to admit all that the protocol can have",
		},
	}
}
