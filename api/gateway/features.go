package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// SupportedFeatures returns the names of the features of the Gateway API that work, as
// the status of a GatewayClass has them: sorted. The official suite tests what stands
// here, so a name is added together with what makes its tests pass. Some are about fields that
// only some CRDs have: bundle is their version, or empty if they do not say it, and channel their channel.
func SupportedFeatures(bundle, channel string) []gatewayv1.SupportedFeature {
	names := []features.FeatureName{
		features.SupportBackendTLSPolicy,
		features.SupportGateway,
		features.SupportGatewayAddressEmpty,
		features.SupportGatewayBackendClientCertificate,
		features.SupportGatewayFrontendClientCertificateValidation,
		features.SupportGatewayFrontendClientCertificateValidationInsecureFallback,
		features.SupportGatewayHTTPListenerIsolation,
		features.SupportGatewayHTTPSListenerDetectMisdirectedRequests,
		features.SupportGatewayInfrastructure,
		features.SupportGatewayPort8080,
		features.SupportGatewayStaticAddresses,
		features.SupportGRPCRoute,
		features.SupportGRPCRouteNamedRouteRule,
		features.SupportHTTPRoute,
		features.SupportHTTPRouteBackendProtocolH2C,
		features.SupportHTTPRouteBackendProtocolWebSocket,
		features.SupportHTTPRouteBackendRequestHeaderModification,
		features.SupportHTTPRouteBackendTimeout,
		features.SupportHTTPRouteCORS,
		features.SupportHTTPRouteDestinationPortMatching,
		features.SupportHTTPRouteHostRewrite,
		features.SupportHTTPRouteMethodMatching,
		features.SupportHTTPRouteNamedRouteRule,
		features.SupportHTTPRouteParentRefPort,
		features.SupportHTTPRoutePathRedirect,
		features.SupportHTTPRoutePathRewrite,
		features.SupportHTTPRoutePortRedirect,
		features.SupportHTTPRouteQueryParamMatching,
		features.SupportHTTPRouteRequestMirror,
		features.SupportHTTPRouteRequestMultipleMirrors,
		features.SupportHTTPRouteRequestPercentageMirror,
		features.SupportHTTPRouteRequestTimeout,
		features.SupportHTTPRouteResponseHeaderModification,
		features.SupportHTTPRouteSchemeRedirect,
		features.SupportHTTPRoute303RedirectStatusCode,
		features.SupportHTTPRoute307RedirectStatusCode,
		features.SupportHTTPRoute308RedirectStatusCode,
		features.SupportListenerSet,
		features.SupportReferenceGrant,
		features.SupportTCPRoute,
		features.SupportTLSRoute,
		features.SupportTLSRouteModeMixed,
		features.SupportTLSRouteModeTerminate,
		features.SupportUDPRoute,
	}
	names = append(names, byCRDs(bundle, channel)...)
	slices.Sort(names)
	list := make([]gatewayv1.SupportedFeature, 0, len(names))
	for _, n := range names {
		list = append(list, gatewayv1.SupportedFeature{Name: gatewayv1.FeatureName(n)})
	}
	return list
}

// byCRDs are features that only some CRDs have fields or names for. HTTPRoutes of version 1.7 have retries
// in the standard channel.
func byCRDs(bundle, channel string) []features.FeatureName {
	switch minor, _ := minorOf(bundle); {
	case minor >= 7:
		return []features.FeatureName{
			"GRPCRouteRequestHeaderModifier",
			"GatewayRouteHostnameIntersectionPrecedence",
			"HTTPRouteBackendURLRewrite",
			"HTTPRouteRetryCodes",
			features.SupportHTTPRouteRetryConnectionError,
		}
	case channel == "experimental":
		return []features.FeatureName{
			features.SupportHTTPRouteRetry,
			features.SupportHTTPRouteRetryBackendTimeout,
			features.SupportHTTPRouteRetryConnectionError,
		}
	}
	return nil
}
