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

func controllerRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonValid:    {"the IngressController passed validation", ""},
		ReasonAdmitted: {"the IngressController was accepted", ""},
		ReasonInvalid: {
			"the IngressController cannot be used as it is",
			"correct the fields that the message names; routers that it already has keep the settings that were admitted last",
		},
		ReasonDeletionWaits: {
			"the IngressController is being deleted, and the message says what that waits for",
			"wait, or see why the DNSRecord, Service or pod that the message names does not go",
		},
		ReasonRejected: {
			"the IngressController cannot be used as it is",
			"correct the fields that the message names",
		},
		ReasonDefaultCertificateNotFound: {
			"the Secret that spec.defaultCertificate names is missing in namespace openshift-ingress",
			"create the Secret there, type kubernetes.io/tls",
		},
		ReasonDefaultCertificateInvalid: {
			"the Secret of spec.defaultCertificate has no usable tls.crt and tls.key",
			"put a certificate and its key into the Secret",
		},
		ReasonDefaultCertificateWithoutNames: {
			"the default certificate has no subjectAltName, only a common name, which most clients do not look at",
			"issue a certificate that has *.DOMAIN and DOMAIN as subjectAltName",
		},
		ReasonSourceRangesAnnotation: {
			"an annotation of the Service router-NAME says who may connect, instead of the IngressController",
			"set spec.endpointPublishingStrategy.loadBalancer.allowedSourceRanges to the same ranges; the annotation then goes by itself",
		},
		ReasonConflictingObject: {
			"an object of the name that the operator needs belongs to somebody else",
			"delete or rename that object",
		},
		ReasonConfigMapNotFound: {
			"a ConfigMap that the IngressController names is missing in namespace openshift-config",
			"create the ConfigMap there; its last copy, if there was one, stays in use",
		},
		ReasonLoadBalancerProvisioned: {"the load balancer has an address", ""},
		ReasonLoadBalancerPending: {
			"no address has been assigned yet",
			"look at the events of the Service router-NAME in namespace openshift-ingress; create an IPAddressPool if there is none",
		},
		ReasonSyncLoadBalancerFailed: {
			"who assigns addresses reported an error",
			"look at the events of the Service router-NAME in namespace openshift-ingress",
		},
		ReasonLoadBalancerServiceNotFound: {
			"the Service router-NAME does not exist yet",
			"wait for the operator; look at its log if that takes more than a minute",
		},
	}
}

// canaryRemedies are about what the canary finds.
func canaryRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonCanarySucceeding: {"the canary answers through the routers", ""},
		ReasonCanaryFailing: {
			"five probes of the canary in a row had no right answer: most likely clients get none either",
			"look at what the message says of each address: the way to it, the routers' log, the way from the routers to the pods in openshift-ingress-canary",
		},
		ReasonCanaryInconclusive: {
			"the probes fail, which may be so because pods have another way to the routers than clients",
			"the message says why; ask for the host of the Route canary as a client does",
		},
		ReasonCanaryPending: {"the canary has not been asked often enough yet", "wait"},
		ReasonCanaryNotInstalled: {
			"the objects of the canary could not be written",
			"apply config/default, which has the namespace openshift-ingress-canary, or switch the canary off",
		},
		ReasonCanaryRouteMissing: {"the Route of the canary does not exist", "wait for the operator to make it"},
		ReasonCanaryRouteNotAdmitted: {
			"the routers do not serve the Route of the canary",
			"look at the status of the Route canary in namespace openshift-ingress-canary; let the selectors of the IngressController select it, or switch the canary off",
		},
		ReasonCanaryNoAddress: {"the routers have no address to be asked at", "see the condition LoadBalancerReady"},
		ReasonCanaryPodsNotReady: {
			"no pod of the canary is ready to answer",
			"look at the pods in namespace openshift-ingress-canary; most often a node cannot pull the image of --canary-image",
		},
	}
}

// controllerSettingsRemedies are about settings of an IngressController that
// hold only in part.
func controllerSettingsRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonNoEffect: {"a setting is there that Fairlead does not need", ""},
		ReasonAnyProxySource: {
			"every source may speak the PROXY protocol, so a client that gets past the load balancer can claim any address",
			"list the load balancers in unsupportedConfigOverrides.proxyProtocolSources",
		},
		ReasonFilesNotWritten: {
			"a router cannot write the files that HAProxy starts from, most often because its volume is full",
			"raise the operator's flag --router-routes, from which the size of the volume is computed; see docs/operator/resources.md",
		},
		ReasonRevocationListUnavailable: {
			"a list of revoked client certificates is missing or too old",
			"make the address that the message names answer, or put the lists into crls.pem of the client CA's ConfigMap",
		},
	}
}
