package api

// Reasons of the Admitted condition of a Route. The names are those of
// OpenShift's router wherever it has one.
const (
	// ReasonRouteNotAdmitted: the router's policy refuses the host or the
	// wildcard policy. Ask the owner of the IngressController.
	ReasonRouteNotAdmitted Reason = "RouteNotAdmitted"
	// ReasonNoHostValue: the route has neither a host nor a subdomain from
	// which the router could make one. Set spec.host.
	ReasonNoHostValue Reason = "NoHostValue"
	// ReasonInvalidHost: the host is not a DNS name. Correct spec.host.
	ReasonInvalidHost Reason = "InvalidHost"
	// ReasonHostAlreadyClaimed: an older route holds the same host and path,
	// or another namespace holds the host. Choose another host or path.
	ReasonHostAlreadyClaimed Reason = "HostAlreadyClaimed"
	// ReasonReplacedByHTTPRoute: an HTTPRoute of the namespace takes over the host and path at one
	// of the router's ports.
	ReasonReplacedByHTTPRoute Reason = "ReplacedByHTTPRoute"
	// ReasonExtendedValidationFailed: a certificate, key or other TLS field
	// cannot be used. Correct spec.tls.
	ReasonExtendedValidationFailed Reason = "ExtendedValidationFailed"
	// ReasonExternalCertificateValidationFailed: the Secret that
	// spec.tls.externalCertificate names is missing, of the wrong type, or
	// may not be read by the router.
	ReasonExternalCertificateValidationFailed Reason = "ExternalCertificateValidationFailed"
	// ReasonRefusedByHAProxy: HAProxy refused the configuration of this
	// route. The message has HAProxy's words.
	ReasonRefusedByHAProxy Reason = "RefusedByHAProxy"
)

func routeRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonRouteNotAdmitted: {
			Severity: SeverityError,
			Cause:    "the router's policy does not allow the host or the wildcard policy",
			Remedy:   "choose another host, or ask the owner of the IngressController to change spec.routeAdmission",
		},
		ReasonNoHostValue: {
			Severity: SeverityError,
			Cause:    "the route has no host, and none could be made from a subdomain",
			Remedy:   "set spec.host",
		},
		ReasonInvalidHost: {
			Severity: SeverityError,
			Cause:    "the host is not a DNS name",
			Remedy:   "correct spec.host: lower-case letters, digits and -, labels of at most 63 characters",
		},
		ReasonReplacedByHTTPRoute: {
			Severity: SeverityInfo,
			Cause:    "an HTTPRoute of the namespace with the annotation fairlead.dev/takes-over serves this host and path at the same address",
			Remedy:   "remove the annotation of the HTTPRoute to go back, or delete the Route or Ingress once all of it is replaced",
		},
		ReasonHostAlreadyClaimed: {
			Severity: SeverityError,
			Cause:    "an older route holds the same host and path, or another namespace holds the host",
			Remedy:   "choose another host or path, delete the older route, or ask for routeAdmission.namespaceOwnership: InterNamespaceAllowed",
		},
		ReasonExtendedValidationFailed: {
			Severity: SeverityError,
			Cause:    "a certificate, key or other TLS field cannot be used",
			Remedy:   "correct the field of spec.tls that the message names",
		},
		ReasonExternalCertificateValidationFailed: {
			Severity: SeverityError,
			Cause:    "the Secret that spec.tls.externalCertificate names is missing, of the wrong type, or the router may not read it",
			Remedy:   "create a Secret of type kubernetes.io/tls, and let ServiceAccount router of namespace openshift-ingress get, list and watch it",
		},
		ReasonRefusedByHAProxy: {
			Severity: SeverityError,
			Cause:    "HAProxy did not take the configuration of this route",
			Remedy:   "undo the last change of the route, and report the message: the router should have refused it earlier",
		},
	}
}

// Reasons of findings that leave a Route admitted.
const (
	// ReasonServiceNotFound: a Service that the object names does not exist.
	ReasonServiceNotFound Reason = "ServiceNotFound"
	// ReasonPortNotFound: no endpoint has the port that the object asks for.
	ReasonPortNotFound Reason = "PortNotFound"
	// ReasonNoEndpoints: no endpoint is ready; requests get a 503 page.
	ReasonNoEndpoints Reason = "NoEndpoints"
	// ReasonStandaloneOnly: a Service names its pods by an annotation that only a
	// standalone router reads.
	ReasonStandaloneOnly Reason = "StandaloneOnly"
	// ReasonInvalidAnnotation: an annotation has a value that cannot be used.
	ReasonInvalidAnnotation Reason = "InvalidAnnotation"
	// ReasonRedirectLoop: a redirect leads to an address that is redirected again,
	// without end. It is left out.
	ReasonRedirectLoop Reason = "RedirectLoop"
	// ReasonUnreachableRule: a rule before this one takes all of its requests.
	ReasonUnreachableRule Reason = "UnreachableRule"
	// ReasonAnnotationIgnored: an annotation has no effect on this route.
	ReasonAnnotationIgnored Reason = "AnnotationIgnored"
	// ReasonInvalidField: a field has a value that the API server should have
	// refused, but did not (for example because the CRD is older).
	ReasonInvalidField Reason = "InvalidField"
	// ReasonAmbiguousPort: the Service has several ports and the route names
	// none, so the first by name is used.
	ReasonAmbiguousPort Reason = "AmbiguousPort"
	// ReasonUnverifiedBackend: a re-encrypt route has no destination CA, so
	// the router encrypts without knowing to whom.
	ReasonUnverifiedBackend Reason = "UnverifiedBackend"
	// ReasonTooManyHealthChecks: the routes of the namespace ask for more
	// health checks than it may have, so those of this route come less often.
	ReasonTooManyHealthChecks Reason = "TooManyHealthChecks"
)

// endpointRemedies are about Services without the endpoints that a Route needs.
func endpointRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonServiceNotFound: {
			Severity: SeverityWarning,
			Cause:    "the Service does not exist in the namespace of the object",
			Remedy:   "create the Service, or correct its name",
		},
		ReasonPortNotFound: {
			Severity: SeverityWarning,
			Cause:    "no endpoint of the Service has the port that the route names",
			Remedy:   "set spec.port.targetPort to the name of a Service port, or to the number of a pod port",
		},
		ReasonNoEndpoints: {
			Severity: SeverityInfo,
			Cause:    "no pod behind the Service is ready",
			Remedy:   "look at the pods that the Service selects, and at their readiness probes",
		},
		ReasonStandaloneOnly: {
			Severity: SeverityWarning,
			Cause:    "the Service has the annotation " + AnnotationEndpoints + ", which only `fairlead serve` reads",
			Remedy:   "remove the annotation: a cluster finds pods by the Service's selector, or by EndpointSlices that you write",
		},
	}
}

// admittedRemedies are about other findings that leave a Route admitted.
func admittedRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonInvalidAnnotation: {
			Severity: SeverityError,
			Cause:    "the annotation's value cannot be used",
			Remedy:   "correct the value as the message says, or remove the annotation",
		},
		ReasonRedirectLoop: {
			Severity: SeverityWarning,
			Cause:    "the redirect leads to an address that is redirected again, without end",
			Remedy:   "choose a target outside of the redirected paths; for https, set spec.tls.insecureEdgeTerminationPolicy to Redirect",
		},
		ReasonUnreachableRule: {
			Severity: SeverityInfo,
			Cause:    "a rule before this one takes all of its requests",
			Remedy:   "put the more specific rule first, or remove it",
		},
		ReasonAnnotationIgnored: {
			Severity: SeverityWarning,
			Cause:    "the annotation has no effect on this route: its termination, or another annotation, leaves nothing for it to do",
			Remedy:   "remove the annotation, or add what the message names",
		},
		ReasonInvalidField: {
			Severity: SeverityError,
			Cause:    "the field has a value that the API server normally refuses",
			Remedy:   "correct the field, and install the newest CRDs",
		},
		ReasonAmbiguousPort: {
			Severity: SeverityWarning,
			Cause:    "the Service has several ports and the route names none",
			Remedy:   "set spec.port.targetPort",
		},
		ReasonUnverifiedBackend: {
			Severity: SeverityInfo,
			Cause:    "the re-encrypt route has no destination CA, or a policy says upstream.tls.mode: Insecure, so it is not checked who answers",
			Remedy:   "set spec.tls.destinationCACertificate, or upstream.tls.ca of the policy, to the CA of the pod's certificate",
		},
		ReasonTooManyHealthChecks: {
			Severity: SeverityWarning,
			Cause:    "this route and the older ones of the namespace ask for more health checks than a namespace may have",
			Remedy:   "set a longer router.openshift.io/haproxy.health.check.interval on routes with many endpoints, or ask the owner of the IngressController for more",
		},
	}
}
