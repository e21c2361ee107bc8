package api

// Reasons of the events on an Ingress.
const (
	// ReasonBackendNotFound: the Service, or its port, does not exist. The
	// path answers 503 until it does.
	ReasonBackendNotFound Reason = "BackendNotFound"
	// ReasonUnsupportedBackend: the backend is no Service. The path is not served.
	ReasonUnsupportedBackend Reason = "UnsupportedBackend"
	// ReasonUnsupportedHostlessRule: a rule with passthrough has no host. It
	// is not served.
	ReasonUnsupportedHostlessRule Reason = "UnsupportedHostlessRule"
	// ReasonForeignAnnotation: an annotation of another Ingress controller has
	// no equivalent, or one that differs.
	ReasonForeignAnnotation Reason = "ForeignAnnotation"
	// ReasonForeignProtection: an annotation of another Ingress controller
	// keeps requests away in a way that there is not here, so the paths of the
	// Ingress answer 503. Its Routes have the reason, too.
	ReasonForeignProtection Reason = "ForeignProtection"
	// ReasonCanaryWithoutMain: the Ingress is a canary (nginx.ingress.kubernetes.io/canary),
	// and no other Ingress of its namespace and class has one of its paths. The path
	// answers 503.
	ReasonCanaryWithoutMain Reason = "CanaryWithoutMain"
	// ReasonInvalidClassParameters: spec.parameters of the IngressClass name
	// something else than an IngressController. They have no effect.
	ReasonInvalidClassParameters Reason = "InvalidClassParameters"
	// ReasonUnsupportedDefaultBackend: a rule without http has no
	// spec.defaultBackend to go to, or there is one with passthrough.
	ReasonUnsupportedDefaultBackend Reason = "UnsupportedDefaultBackend"
	// ReasonUnsupportedPath: the path has characters that a Route cannot
	// have, or the termination allows no path. It is not served.
	ReasonUnsupportedPath Reason = "UnsupportedPath"
	// ReasonDuplicatePath: an earlier path of the Ingress, or one spelled with
	// a trailing slash, has the same meaning and is served instead.
	ReasonDuplicatePath Reason = "DuplicatePath"
	// ReasonCertificateInvalid: the TLS Secret is missing or unusable. The
	// last good certificate, or else the default certificate, is served.
	ReasonCertificateInvalid Reason = "CertificateInvalid"
	// ReasonCertificateHostMismatch: the certificate does not cover the host.
	// It is served anyway, and clients will complain.
	ReasonCertificateHostMismatch Reason = "CertificateHostMismatch"
	// ReasonCertificateAccessRefused: the API server refused the Role or the
	// RoleBinding that lets routers read the Secrets of an Ingress, or they are
	// another's. The message says which.
	ReasonCertificateAccessRefused Reason = "CertificateAccessRefused"
	// ReasonPathPattern: a path has a star, by which other controllers mean a
	// pattern.
	ReasonPathPattern Reason = "PathPattern"
	// ReasonIngressTooLarge: the Ingress stands for more Routes, names more
	// Secrets or brings more text than one Ingress, or all of the namespace, may.
	ReasonIngressTooLarge Reason = "IngressTooLarge"
	// ReasonMoreFindings: more is wrong than is reported.
	ReasonMoreFindings Reason = "MoreFindings"
	// ReasonRouteNameTaken: a Route of the name that the operator would use
	// exists and is not the Ingress's own. Delete or rename that Route.
	ReasonRouteNameTaken Reason = "RouteNameTaken"
	// ReasonRouteRefused: the API server refused the Route made of the
	// Ingress. The message has its words.
	ReasonRouteRefused Reason = "RouteRefused"
)

func ingressRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonBackendNotFound: {
			Severity: SeverityWarning,
			Cause:    "the Service of a path, or its port, does not exist",
			Remedy:   "create the Service, or correct name and port of the backend",
		},
		ReasonUnsupportedBackend: {
			Severity: SeverityWarning,
			Cause:    "the backend is no Service",
			Remedy:   "name a Service as backend",
		},
		ReasonUnsupportedHostlessRule: {
			Severity: SeverityWarning,
			Cause:    "a rule with passthrough has no host",
			Remedy:   "give the rule a host",
		},
		ReasonForeignAnnotation: {
			Severity: SeverityWarning,
			Cause:    "an annotation of another Ingress controller means nothing here, or not quite the same",
			Remedy:   "write what the message names instead, or remove the annotation",
		},
		ReasonForeignProtection: {
			Severity: SeverityError,
			Cause:    "an annotation of another Ingress controller keeps requests away in a way that there is not here, or cannot be read",
			Remedy:   "do it as the message says, then remove the annotation",
		},
		ReasonCanaryWithoutMain: {
			Severity: SeverityError,
			Cause:    "an Ingress with nginx.ingress.kubernetes.io/canary has a host and path that no other Ingress of its namespace and class has",
			Remedy:   "give the Ingress whose canary it is the same host, path and pathType, or remove the annotation canary to serve the path as its own",
		},
		ReasonInvalidClassParameters: {
			Severity: SeverityWarning,
			Cause:    "spec.parameters of the IngressClass name something else than an IngressController",
			Remedy:   "set apiGroup operator.openshift.io, kind IngressController, scope Namespace and namespace openshift-ingress-operator",
		},
		ReasonUnsupportedDefaultBackend: {
			Severity: SeverityWarning,
			Cause:    "a rule without http has no spec.defaultBackend to go to, or there is one with passthrough",
			Remedy:   "add spec.defaultBackend, or paths to the rule",
		},
		ReasonUnsupportedPath: {
			Severity: SeverityWarning,
			Cause:    "a Route cannot have the path, or its termination allows no path",
			Remedy:   "percent-encode the path; with passthrough use only Prefix /",
		},
		ReasonDuplicatePath: {
			Severity: SeverityWarning,
			Cause:    "two paths of the Ingress mean the same",
			Remedy:   "remove one of the two",
		},
	}
}

// ingressRouteRemedies are about what becomes of an Ingress: its Routes and what
// they read.
func ingressRouteRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonCertificateInvalid: {
			Severity: SeverityWarning,
			Cause:    "the TLS Secret is missing or has no usable certificate and key",
			Remedy:   "create the Secret with tls.crt and tls.key, type kubernetes.io/tls",
		},
		ReasonCertificateHostMismatch: {
			Severity: SeverityWarning,
			Cause:    "the certificate is not made for the host, so clients will complain",
			Remedy:   "get a certificate that covers the host",
		},
		ReasonCertificateAccessRefused: {
			Severity: SeverityError,
			Cause:    "the Role or RoleBinding that lets routers read the Secrets of the Ingress could not be written",
			Remedy:   "delete or rename the object that the message names, or raise the quota",
		},
		ReasonPathPattern: {
			Severity: SeverityWarning,
			Cause:    "a path has a star, by which some other controllers mean a pattern",
			Remedy:   "write the path without it, with pathType Prefix or Exact",
		},
		ReasonIngressTooLarge: {
			Severity: SeverityError,
			Cause:    "the Ingress, or all of its namespace together, would become more Routes than are allowed, name more Secrets, or bring more text",
			Remedy:   "split the Ingress, remove long annotations and labels, or ask the administrator to raise the operator's limits",
		},
		ReasonMoreFindings: {
			Severity: SeverityWarning,
			Cause:    "more than fifty things are wrong with the Ingress",
			Remedy:   "fix those that are reported first",
		},
		ReasonRouteNameTaken: {
			Severity: SeverityWarning,
			Cause:    "a Route of the name that is needed belongs to another owner",
			Remedy:   "delete or rename that Route",
		},
		ReasonRouteRefused: {
			Severity: SeverityWarning,
			Cause:    "the API server refused the Route made of the Ingress",
			Remedy:   "correct the Ingress as the message says",
		},
	}
}
