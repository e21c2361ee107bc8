package api

// Reason is the machine-readable cause of a finding or condition. Reasons are
// part of the API: scripts and alerts match them, so they never change meaning.
type Reason string

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
