package api

// Reasons of findings about manifests that have not met an API server.
const (
	// ReasonUnknownField: the manifest has a field that its kind does not have.
	ReasonUnknownField Reason = "UnknownField"
	// ReasonUndecodable: the manifest is not YAML or JSON of its kind.
	ReasonUndecodable Reason = "Undecodable"
	// ReasonDuplicateObject: two manifests are about the same object; the
	// later one counts.
	ReasonDuplicateObject Reason = "DuplicateObject"
	// ReasonUnknownAnnotation: the annotation has the prefix of the router's,
	// but the router does not read it.
	ReasonUnknownAnnotation Reason = "UnknownAnnotation"
	// ReasonServicePortMissing: the Service has no port that the route names.
	ReasonServicePortMissing Reason = "ServicePortMissing"
	// ReasonCertificateExpired: the certificate's time is over, or not begun.
	ReasonCertificateExpired Reason = "CertificateExpired"
	// ReasonCountedPerReplica: a limit of what is under way at the same time holds in each router
	// replica by itself.
	ReasonCountedPerReplica Reason = "CountedPerReplica"
	// ReasonOpenPath: the route is open to all clients around a path that another
	// route of the host protects.
	ReasonOpenPath Reason = "OpenPath"
	// ReasonHostOnTwoDoors: Routes or Ingresses have the host at the router's own addresses,
	// and routes of a Gateway have it at the Gateway's.
	ReasonHostOnTwoDoors Reason = "HostOnTwoDoors"
)

func manifestRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonUnknownField: {
			Severity: SeverityError,
			Cause:    "the kind has no such field; the API server would drop it",
			Remedy:   "correct the spelling or the indentation; kubectl explain lists the fields",
		},
		ReasonUndecodable: {
			Severity: SeverityError,
			Cause:    "the text is not a manifest of its kind",
			Remedy:   "correct it where the message points",
		},
		ReasonDuplicateObject: {
			Severity: SeverityWarning,
			Cause:    "two manifests are about the same object, and the later one counts",
			Remedy:   "remove one of the two, or give one another name",
		},
		ReasonUnknownAnnotation: {
			Severity: SeverityWarning,
			Cause:    "the annotation has the prefix of the router's, but is unknown",
			Remedy:   "correct the spelling, or remove the annotation; docs/routes lists all",
		},
		ReasonServicePortMissing: {
			Severity: SeverityWarning,
			Cause:    "the Service has no port of that name or number",
			Remedy:   "set spec.port.targetPort to the name of one of the Service's ports, or to its targetPort",
		},
		ReasonCertificateExpired: {
			Severity: SeverityWarning,
			Cause:    "the certificate is used outside of the time that it is made for",
			Remedy:   "renew the certificate",
		},
		ReasonCountedPerReplica: {
			Severity: SeverityInfo,
			Cause:    "a limit of requests or connections at the same time holds in each router replica by itself, so all replicas together admit its value times their number",
			Remedy:   "divide the value by the number of replicas if it is meant for all of them; docs/routes/limits.md has more",
		},
		ReasonOpenPath: {
			Severity: SeverityInfo,
			Cause:    "the route is open to all clients around a path that another route of its host protects",
			Remedy:   "make sure that the pods of the open route do not serve the protected path, or protect the open route as well",
		},
		ReasonHostOnTwoDoors: {
			Severity: SeverityInfo,
			Cause:    "a Route, an Ingress or a route of a Gateway has the host at the router's own addresses, and a route of a Gateway with an address of its own has it there",
			Remedy:   "let DNS lead the name to one of them, give external-dns one source for it, and remove the other object once no client comes that way",
		},
	}
}
