package api

// Reasons of findings about Routes and Ingresses that are converted to objects of the
// Gateway API.
const (
	// ReasonConversionClosed: something that the route must not be served without has no
	// form there.
	ReasonConversionClosed Reason = "ConversionClosed"
	// ReasonConversionLost: a setting that protects nothing has no form there.
	ReasonConversionLost Reason = "ConversionLost"
	// ReasonConversionDiffers: the converted route does something in another way.
	ReasonConversionDiffers Reason = "ConversionDiffers"
	// ReasonConversionNeeds: the converted route waits for an object that is not part of
	// the output.
	ReasonConversionNeeds Reason = "ConversionNeeds"
	// ReasonConversionSkipped: the router does not serve the route, so nothing is made of it.
	ReasonConversionSkipped Reason = "ConversionSkipped"
)

func conversionRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonConversionClosed: {
			Severity: SeverityError,
			Cause:    "something that the route must not be served without cannot be said by objects of the Gateway API, or is not known",
			Remedy:   "say it in the way that the message names, and convert again, or keep the Route",
		},
		ReasonConversionLost: {
			Severity: SeverityWarning,
			Cause:    "a setting has no form on Gateways",
			Remedy:   "do without it, or keep the Route; docs/gateway/convert.md lists what has a form",
		},
		ReasonConversionDiffers: {
			Severity: SeverityWarning,
			Cause:    "the converted route does something in another way than the Route",
			Remedy:   "make sure that clients and pods do not depend on it",
		},
		ReasonConversionNeeds: {
			Severity: SeverityWarning,
			Cause:    "the converted objects name another one that is not part of the output",
			Remedy:   "create it as the message says before clients are led to the Gateway",
		},
		ReasonConversionSkipped: {
			Severity: SeverityWarning,
			Cause:    "the router does not serve the Route, such as one whose host another one has",
			Remedy:   "see why with kubectl fairlead why; delete the Route if it is not needed any more",
		},
	}
}
