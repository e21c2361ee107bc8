package explain

import (
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
)

// defaultWeight is what the API server gives a Service without weight.
const defaultWeight = 100

// placeholderCA is what old clients write where there is no destination CA.
const placeholderCA = "-----BEGIN COMMENT-----"

// stored returns a Route as the API server would store it: what is not there is
// filled in as by the defaults of the CRD and by config/policy. A host is made
// if the domain is known. What is not changed is shared with the Route that was given.
func stored(given *routev1.Route, domain string) *routev1.Route {
	own := *given
	r := &own
	r.Spec.AlternateBackends = slices.Clone(r.Spec.AlternateBackends)
	complete := func(t *routev1.RouteTargetReference) {
		if t.Kind == "" {
			t.Kind = "Service"
		}
		if t.Weight == nil {
			t.Weight = new(int32(defaultWeight))
		}
	}
	complete(&r.Spec.To)
	for i := range r.Spec.AlternateBackends {
		complete(&r.Spec.AlternateBackends[i])
	}
	if r.Spec.WildcardPolicy == "" {
		r.Spec.WildcardPolicy = routev1.WildcardPolicyNone
	}
	if r.Spec.Host == "" && r.Spec.Subdomain == "" && r.Spec.WildcardPolicy == routev1.WildcardPolicyNone && domain != "" {
		r.Spec.Host = strings.ReplaceAll(r.Name, ".", "-") + "-" + r.Namespace + "." + domain
	}
	if t := r.Spec.TLS; t != nil && strings.HasPrefix(strings.TrimSpace(t.DestinationCACertificate), placeholderCA) {
		without := *t
		without.DestinationCACertificate = ""
		r.Spec.TLS = &without
	}
	return r
}
