package router

import (
	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/ingest"
)

// SettingsOf returns what an IngressController, which may be nil, says about
// all routes of its router. The domain is that of the IngressController if
// empty. The router and kubectl-fairlead both ask here, so that they agree.
func SettingsOf(name, domain string, ic *operatorv1.IngressController) ingest.Settings {
	s := ingest.Settings{RouterName: name, Domain: domain}
	if ic == nil {
		return s
	}
	if s.Domain == "" {
		s.Domain = ic.Status.Domain
	}
	s.HTTP2 = ic.Annotations[api.AnnotationHTTP2] == "true"
	if a := ic.Spec.RouteAdmission; a != nil {
		s.InterNamespace = a.NamespaceOwnership == operatorv1.InterNamespaceAllowedOwnershipCheck
		s.WildcardsAllowed = a.WildcardPolicy == operatorv1.WildcardPolicyAllowed
	}
	return s
}
