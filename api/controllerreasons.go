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
	// restricts the source addresses, instead of the IngressController.
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
	// ReasonSpansNotSent: the collector of fairlead.dev/tracing does not take spans.
	ReasonSpansNotSent Reason = "SpansNotSent"
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
	// ReasonSyncLoadBalancerFailed: the load-balancer provider reported an error.
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

func controllerRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonValid:    {Cause: "the IngressController passed validation"},
		ReasonAdmitted: {Cause: "the IngressController was accepted"},
		ReasonInvalid: {
			Severity: SeverityError,
			Cause:    "the IngressController cannot be used as it is",
			Remedy:   "correct the fields that the message names; routers that it already has keep the settings that were admitted last",
		},
		ReasonDeletionWaits: {
			Cause:  "the IngressController is being deleted; the message names the objects that deletion waits for",
			Remedy: "wait, or see why the DNSRecord, Service or pod that the message names does not go",
		},
		ReasonRejected: {
			Cause:  "the IngressController cannot be used as it is",
			Remedy: "correct the fields that the message names",
		},
		ReasonDefaultCertificateNotFound: {
			Severity: SeverityError,
			Cause:    "the Secret that spec.defaultCertificate names is missing in namespace openshift-ingress",
			Remedy:   "create the Secret there, type kubernetes.io/tls",
		},
		ReasonDefaultCertificateInvalid: {
			Severity: SeverityError,
			Cause:    "the Secret of spec.defaultCertificate has no usable tls.crt and tls.key",
			Remedy:   "put a certificate and its key into the Secret",
		},
		ReasonDefaultCertificateWithoutNames: {
			Severity: SeverityInfo,
			Cause:    "the default certificate has no subjectAltName, only a common name, which most clients do not look at",
			Remedy:   "issue a certificate that has *.DOMAIN and DOMAIN as subjectAltName",
		},
		ReasonSourceRangesAnnotation: {
			Cause:  "an annotation of the Service router-NAME restricts the source addresses of clients, instead of the IngressController",
			Remedy: "set spec.endpointPublishingStrategy.loadBalancer.allowedSourceRanges to the same ranges; the annotation then goes by itself",
		},
		ReasonConflictingObject: {
			Cause:  "an object of the name that the operator needs belongs to another owner",
			Remedy: "delete or rename that object",
		},
		ReasonConfigMapNotFound: {
			Cause:  "a ConfigMap that the IngressController names is missing in namespace openshift-config",
			Remedy: "create the ConfigMap there; its last copy, if there was one, stays in use",
		},
		ReasonLoadBalancerProvisioned: {Cause: "the load balancer has an address"},
		ReasonLoadBalancerPending: {
			Cause:  "no address has been assigned yet",
			Remedy: "look at the events of the Service router-NAME in namespace openshift-ingress; create an IPAddressPool if there is none",
		},
		ReasonSyncLoadBalancerFailed: {
			Cause:  "the load-balancer provider reported an error",
			Remedy: "look at the events of the Service router-NAME in namespace openshift-ingress",
		},
		ReasonLoadBalancerServiceNotFound: {
			Cause:  "the Service router-NAME does not exist yet",
			Remedy: "wait for the operator; look at its log if that takes more than a minute",
		},
	}
}

// canaryRemedies are about what the canary finds.
func canaryRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonCanarySucceeding: {Cause: "the canary answers through the routers"},
		ReasonCanaryFailing: {
			Cause:  "five probes of the canary in a row had no right answer: most likely clients get none either",
			Remedy: "check for each address in the message: the way to it, the routers' log, the way from the routers to the pods in openshift-ingress-canary",
		},
		ReasonCanaryInconclusive: {
			Cause:  "the probes fail, which may be so because pods have another way to the routers than clients",
			Remedy: "the message says why; ask for the host of the Route canary as a client does",
		},
		ReasonCanaryPending: {Cause: "the canary has not been asked often enough yet", Remedy: "wait"},
		ReasonCanaryNotInstalled: {
			Cause:  "the objects of the canary could not be written",
			Remedy: "apply config/default, which has the namespace openshift-ingress-canary, or switch the canary off",
		},
		ReasonCanaryRouteMissing: {Cause: "the Route of the canary does not exist", Remedy: "wait for the operator to make it"},
		ReasonCanaryRouteNotAdmitted: {
			Cause:  "the routers do not serve the Route of the canary",
			Remedy: "look at the status of the Route canary in namespace openshift-ingress-canary; let the selectors of the IngressController select it, or switch the canary off",
		},
		ReasonCanaryNoAddress: {Cause: "the routers have no address to be asked at", Remedy: "see the condition LoadBalancerReady"},
		ReasonCanaryPodsNotReady: {
			Cause:  "no pod of the canary is ready to answer",
			Remedy: "look at the pods in namespace openshift-ingress-canary; most often a node cannot pull the image of --canary-image",
		},
	}
}

// controllerSettingsRemedies are about settings of an IngressController that
// hold only in part.
func controllerSettingsRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonNoEffect: {Severity: SeverityInfo, Cause: "a setting is there that Fairlead does not need"},
		ReasonAnyProxySource: {
			Severity: SeverityInfo,
			Cause:    "every source may speak the PROXY protocol, so a client that gets past the load balancer can claim any address",
			Remedy:   "list the load balancers in unsupportedConfigOverrides.proxyProtocolSources",
		},
		ReasonFilesNotWritten: {
			Severity: SeverityError,
			Cause:    "a router cannot write the files that HAProxy starts from, most often because its volume is full",
			Remedy:   "raise the operator's flag --router-routes, from which the size of the volume is computed; see docs/operator/resources.md",
		},
		ReasonRevocationListUnavailable: {
			Severity: SeverityWarning,
			Cause:    "a list of revoked client certificates is missing or too old",
			Remedy:   "make the address that the message names answer, or put the lists into crls.pem of the client CA's ConfigMap; for a single host, into ca.crl of the Secret that its policy names",
		},
		ReasonSpansNotSent: {
			Severity: SeverityWarning,
			Cause:    "the collector of the annotation fairlead.dev/tracing does not take the spans of requests, or there are none",
			Remedy:   "correct what the message says of the collector; the metrics fairlead_router_spans_sent_total and _dropped_total show that spans arrive again",
		},
	}
}
