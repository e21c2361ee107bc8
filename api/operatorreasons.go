package api

// Reasons of the conditions and events of an IngressController. The names are
// OpenShift's wherever it has one.
const (
	// ReasonValid: the IngressController passed validation.
	ReasonValid Reason = "Valid"
	// ReasonInvalid: the IngressController cannot be used as it is. The
	// message has every fault. Routers that it already had keep running, with
	// the settings that were admitted last.
	ReasonInvalid Reason = "Invalid"
	// ReasonAdmitted is the event of an accepted IngressController.
	ReasonAdmitted Reason = "Admitted"
	// ReasonDeletionWaits is the event that says what the deletion of an
	// IngressController waits for.
	ReasonDeletionWaits Reason = "DeletionWaits"
	// ReasonRejected is the event of a refused IngressController.
	ReasonRejected Reason = "Rejected"
	// ReasonDefaultCertificateNotFound: the Secret that
	// spec.defaultCertificate names is missing in namespace openshift-ingress.
	ReasonDefaultCertificateNotFound Reason = "DefaultCertificateNotFound"
	// ReasonDefaultCertificateInvalid: that Secret has no usable tls.crt and tls.key.
	ReasonDefaultCertificateInvalid Reason = "DefaultCertificateInvalid"
	// ReasonDefaultCertificateWithoutNames: the certificate has a common name
	// only. It is served, and most clients refuse it.
	ReasonDefaultCertificateWithoutNames Reason = "DefaultCertificateWithoutNames"
	// ReasonSourceRangesAnnotation: an annotation of the load-balancer Service
	// says who may connect, instead of the IngressController.
	ReasonSourceRangesAnnotation Reason = "OperandsEvaluationConditionsDetected"
	// ReasonConflictingObject: an object of the name that the operator needs
	// exists, but does not belong to the IngressController. Delete or rename it.
	ReasonConflictingObject Reason = "ConflictingObject"
	// ReasonConfigMapNotFound: a ConfigMap that the IngressController names is
	// missing in namespace openshift-config. Its last copy stays in use.
	ReasonConfigMapNotFound Reason = "ConfigMapNotFound"
	// ReasonRevocationListUnavailable: a list of revoked client certificates
	// is missing or too old. Clients that depend on it are refused.
	ReasonRevocationListUnavailable Reason = "RevocationListUnavailable"
	// ReasonFilesNotWritten: a router cannot write the files that HAProxy starts
	// from, most often because its volume is full.
	ReasonFilesNotWritten Reason = "FilesNotWritten"
	// ReasonNoEffect: a setting is there that Fairlead does not need.
	ReasonNoEffect Reason = "NoEffect"
	// ReasonAnyProxySource: every source may speak the PROXY protocol, so a
	// client that gets past the load balancer can claim any address.
	ReasonAnyProxySource Reason = "AnyProxySource"
	// ReasonLoadBalancerProvisioned: the load balancer has an address.
	ReasonLoadBalancerProvisioned Reason = "LoadBalancerProvisioned"
	// ReasonLoadBalancerPending: no address has been assigned yet.
	ReasonLoadBalancerPending Reason = "LoadBalancerPending"
	// ReasonSyncLoadBalancerFailed: who assigns addresses reported an error.
	ReasonSyncLoadBalancerFailed Reason = "SyncLoadBalancerFailed"
	// ReasonLoadBalancerServiceNotFound: the Service router-NAME does not exist yet.
	ReasonLoadBalancerServiceNotFound Reason = "ServiceNotFound"
	// ReasonCanarySucceeding: the canary answers through the routers.
	ReasonCanarySucceeding Reason = "CanaryChecksSucceeding"
	// ReasonCanaryFailing: five probes of the canary in a row had no right answer.
	ReasonCanaryFailing Reason = "CanaryChecksRepetitiveFailures"
	// ReasonCanaryInconclusive: the probes fail, which may be so because pods have
	// another way to the routers than clients.
	ReasonCanaryInconclusive Reason = "CanaryChecksInconclusive"
	// ReasonCanaryPending: the canary has not been asked often enough yet.
	ReasonCanaryPending Reason = "CanaryChecksPending"
	// ReasonCanaryNotInstalled: the objects of the canary could not be written.
	ReasonCanaryNotInstalled Reason = "CanaryNotInstalled"
	// ReasonCanaryRouteMissing: the Route of the canary does not exist.
	ReasonCanaryRouteMissing Reason = "CanaryRouteDoesNotExist"
	// ReasonCanaryRouteNotAdmitted: the routers do not serve the Route of the canary.
	ReasonCanaryRouteNotAdmitted Reason = "CanaryRouteNotAdmitted"
	// ReasonCanaryNoAddress: the routers have no address to be asked at.
	ReasonCanaryNoAddress Reason = "CanaryNoAddress"
	// ReasonCanaryPodsNotReady: no pod of the canary is ready to answer.
	ReasonCanaryPodsNotReady Reason = "CanaryPodsNotReady"
)

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
	// ReasonMoreFindings: more is wrong than is told.
	ReasonMoreFindings Reason = "MoreFindings"
	// ReasonRouteNameTaken: a Route of the name that the operator would use
	// exists and is not the Ingress's own. Delete or rename that Route.
	ReasonRouteNameTaken Reason = "RouteNameTaken"
	// ReasonRouteRefused: the API server refused the Route made of the
	// Ingress. The message has its words.
	ReasonRouteRefused Reason = "RouteRefused"
)
