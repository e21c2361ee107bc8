package api

// Remedy says what a reason means and what to do about it.
type Remedy struct {
	// Cause completes the sentence "This happens because …".
	Cause string
	// Remedy is what to do next; empty where nothing is wrong.
	Remedy string
}

// RemedyOf returns what is known about a reason; ok is false for a reason that
// is not Fairlead's.
func RemedyOf(r Reason) (remedy Remedy, ok bool) {
	for _, table := range []map[Reason]Remedy{routeRemedies(), admittedRemedies(), manifestRemedies(), ingressRemedies(), ingressRouteRemedies(), controllerRemedies(), canaryRemedies(), controllerSettingsRemedies(), addressRemedies(), announcementRemedies(), configurationRemedies(), dnsRemedies(), cloudRemedies()} {
		if remedy, ok := table[r]; ok {
			return remedy, true
		}
	}
	return Remedy{}, false
}

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

func manifestRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonUnknownField: {
			"the kind has no such field; the API server would drop it",
			"correct the spelling or the indentation; kubectl explain lists the fields",
		},
		ReasonUndecodable: {
			"the text is not a manifest of its kind",
			"correct it where the message points",
		},
		ReasonDuplicateObject: {
			"two manifests are about the same object, and the later one counts",
			"remove one of the two, or give one another name",
		},
		ReasonUnknownAnnotation: {
			"the annotation has the prefix of the router's, but is none of them",
			"correct the spelling, or remove the annotation; docs/routes lists all",
		},
		ReasonServicePortMissing: {
			"the Service has no port of that name or number",
			"set spec.port.targetPort to the name of one of the Service's ports, or to its targetPort",
		},
		ReasonCertificateExpired: {
			"the certificate is used outside of the time that it is made for",
			"renew the certificate",
		},
		ReasonOpenPath: {
			"the route is open to everybody around a path that another route of its host protects",
			"make sure that the pods of the open route do not serve the protected path, or protect the open route as well",
		},
	}
}

func ingressRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonBackendNotFound: {
			"the Service of a path, or its port, does not exist",
			"create the Service, or correct name and port of the backend",
		},
		ReasonUnsupportedBackend: {
			"the backend is no Service",
			"name a Service as backend",
		},
		ReasonUnsupportedHostlessRule: {
			"a rule with passthrough has no host",
			"give the rule a host",
		},
		ReasonForeignAnnotation: {
			"an annotation of another Ingress controller means nothing here, or not quite the same",
			"write what the message names instead, or remove the annotation",
		},
		ReasonForeignProtection: {
			"an annotation of another Ingress controller keeps requests away in a way that there is not here, or cannot be read",
			"do it as the message says, then remove the annotation",
		},
		ReasonInvalidClassParameters: {
			"spec.parameters of the IngressClass name something else than an IngressController",
			"set apiGroup operator.openshift.io, kind IngressController, scope Namespace and namespace openshift-ingress-operator",
		},
		ReasonUnsupportedDefaultBackend: {
			"a rule without http has no spec.defaultBackend to go to, or there is one with passthrough",
			"add spec.defaultBackend, or paths to the rule",
		},
		ReasonUnsupportedPath: {
			"a Route cannot have the path, or its termination allows no path",
			"percent-encode the path; with passthrough use only Prefix /",
		},
		ReasonDuplicatePath: {
			"two paths of the Ingress mean the same",
			"remove one of the two",
		},
	}
}

// ingressRouteRemedies are about what becomes of an Ingress: its Routes and what
// they read.
func ingressRouteRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonCertificateInvalid: {
			"the TLS Secret is missing or has no usable certificate and key",
			"create the Secret with tls.crt and tls.key, type kubernetes.io/tls",
		},
		ReasonCertificateHostMismatch: {
			"the certificate is not made for the host, so clients will complain",
			"get a certificate that covers the host",
		},
		ReasonCertificateAccessRefused: {
			"the Role or RoleBinding that lets routers read the Secrets of the Ingress could not be written",
			"delete or rename the object that the message names, or raise the quota",
		},
		ReasonPathPattern: {
			"a path has a star, by which some other controllers mean a pattern",
			"write the path without it, with pathType Prefix or Exact",
		},
		ReasonIngressTooLarge: {
			"the Ingress, or all of its namespace together, would become more Routes than are allowed, name more Secrets, or bring more text",
			"split the Ingress, remove long annotations and labels, or ask the administrator to raise the operator's limits",
		},
		ReasonMoreFindings: {
			"more than fifty things are wrong with the Ingress",
			"mend those that are told first",
		},
		ReasonRouteNameTaken: {
			"a Route of the name that is needed belongs to somebody else",
			"delete or rename that Route",
		},
		ReasonRouteRefused: {
			"the API server refused the Route made of the Ingress",
			"correct the Ingress as the message says",
		},
	}
}

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
