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
			"the router's policy does not allow the host or the wildcard policy",
			"choose another host, or ask the owner of the IngressController to change spec.routeAdmission",
		},
		ReasonNoHostValue: {
			"the route has no host, and none could be made from a subdomain",
			"set spec.host",
		},
		ReasonInvalidHost: {
			"the host is not a DNS name",
			"correct spec.host: lower-case letters, digits and -, labels of at most 63 characters",
		},
		ReasonHostAlreadyClaimed: {
			"an older route holds the same host and path, or another namespace holds the host",
			"choose another host or path, delete the older route, or ask for routeAdmission.namespaceOwnership: InterNamespaceAllowed",
		},
		ReasonExtendedValidationFailed: {
			"a certificate, key or other TLS field cannot be used",
			"correct the field of spec.tls that the message names",
		},
		ReasonExternalCertificateValidationFailed: {
			"the Secret that spec.tls.externalCertificate names is missing, of the wrong type, or the router may not read it",
			"create a Secret of type kubernetes.io/tls, and let ServiceAccount router of namespace openshift-ingress get, list and watch it",
		},
		ReasonRefusedByHAProxy: {
			"HAProxy did not take the configuration of this route",
			"undo the last change of the route, and report the message: the router should have refused it earlier",
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
	// ReasonInvalidAnnotation: an annotation has a value that cannot be used.
	ReasonInvalidAnnotation Reason = "InvalidAnnotation"
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

// admittedRemedies are about findings that leave a Route admitted.
func admittedRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonServiceNotFound: {
			"the Service does not exist in the namespace of the object",
			"create the Service, or correct its name",
		},
		ReasonPortNotFound: {
			"no endpoint of the Service has the port that the route names",
			"set spec.port.targetPort to the name of a Service port, or to the number of a pod port",
		},
		ReasonNoEndpoints: {
			"no pod behind the Service is ready",
			"look at the pods that the Service selects, and at their readiness probes",
		},
		ReasonInvalidAnnotation: {
			"the annotation's value cannot be used",
			"correct the value as the message says, or remove the annotation",
		},
		ReasonAnnotationIgnored: {
			"the annotation has no effect on this route: its termination, or another annotation, leaves nothing for it to do",
			"remove the annotation, or add what the message names",
		},
		ReasonInvalidField: {
			"the field has a value that the API server normally refuses",
			"correct the field, and install the newest CRDs",
		},
		ReasonAmbiguousPort: {
			"the Service has several ports and the route names none",
			"set spec.port.targetPort",
		},
		ReasonUnverifiedBackend: {
			"the re-encrypt route has no destination CA, so it is not checked who answers",
			"set spec.tls.destinationCACertificate to the CA of the pod's certificate",
		},
		ReasonTooManyHealthChecks: {
			"this route and the older ones of the namespace ask for more health checks than a namespace may have",
			"set a longer router.openshift.io/haproxy.health.check.interval on routes with many endpoints, or ask the owner of the IngressController for more",
		},
	}
}
