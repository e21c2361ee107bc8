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
	// ReasonOpenPath: the route is open to everybody around a path that another
	// route of the host protects.
	ReasonOpenPath Reason = "OpenPath"
)
