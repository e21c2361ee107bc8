package api

// Reason is the machine-readable cause of a finding or condition. Reasons are
// part of the API: scripts and alerts match them, so they never change meaning.
//
// The reasons of one kind of object and the table of their causes and remedies are
// in one file: routereasons.go, ingressreasons.go, controllerreasons.go,
// addressreasons.go, manifestreasons.go, policyreasons.go, gatewayreasons.go, conversionreasons.go, cloud.go and dnsrecord.go. Conditions,
// events, the command line tools and the reference page read these tables.
type Reason string

// Remedy says what a reason means and what to do about it.
type Remedy struct {
	// Severity is the highest one of findings with the reason: the same cause may
	// cost one object more than another. It is empty for reasons that only
	// conditions and events have.
	Severity Severity
	// Cause completes the sentence "This happens because …".
	Cause string
	// Remedy is what to do next; empty where nothing is wrong.
	Remedy string
}

// RemedyOf returns what is known about a reason; ok is false for a reason that
// is not Fairlead's.
func RemedyOf(r Reason) (remedy Remedy, ok bool) {
	for _, table := range []map[Reason]Remedy{
		routeRemedies(), endpointRemedies(), admittedRemedies(), manifestRemedies(), ingressRemedies(), ingressRouteRemedies(),
		controllerRemedies(), canaryRemedies(), controllerSettingsRemedies(),
		addressRemedies(), announcementRemedies(), configurationRemedies(), referenceRemedies(), dnsRemedies(), cloudRemedies(),
		policyRemedies(), policyReferenceRemedies(), policyConditionRemedies(), gatewayRemedies(), gatewayObjectRemedies(), conversionRemedies(),
	} {
		if remedy, ok := table[r]; ok {
			return remedy, true
		}
	}
	return Remedy{}, false
}
