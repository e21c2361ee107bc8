package route

import (
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// host determines and checks the effective host, and the termination, which
// the claim of a host depends on.
func (b *builder) host(c *model.Claim) bool {
	spec := &b.route.Spec
	term, ok := termination(spec.TLS)
	if !ok {
		return b.refuse("spec.tls.termination", api.ReasonExtendedValidationFailed, "must be edge, reencrypt or passthrough")
	}
	c.Termination = term
	if b.route.Annotations[api.AnnotationAnyHost] == "true" {
		return b.anyHost(c)
	}
	host, field := spec.Host, "spec.host"
	if host == "" && spec.Subdomain != "" && b.settings.Domain != "" {
		host, field = spec.Subdomain+"."+b.settings.Domain, "spec.subdomain"
	}
	b.result.Host = host
	if host == "" {
		return b.refuse("spec.host", api.ReasonNoHostValue, "no host value was defined for the route")
	}
	if problems := hostProblems(host); problems != "" {
		return b.refuse(field, api.ReasonInvalidHost, "host name validation errors: "+problems)
	}
	c.NamedHost, c.Host = host, host
	switch spec.WildcardPolicy {
	case routev1.WildcardPolicyNone, "":
	case routev1.WildcardPolicySubdomain:
		if !b.settings.WildcardsAllowed {
			return b.refuse("spec.wildcardPolicy", api.ReasonRouteNotAdmitted, "wildcard routes are not allowed")
		}
		if _, domain, ok := strings.Cut(host, "."); ok {
			c.Host = "*." + domain
		}
	default:
		return b.refuse("spec.wildcardPolicy", api.ReasonRouteNotAdmitted, "unknown wildcard policy "+string(spec.WildcardPolicy))
	}
	return true
}

// anyHost claims all hosts that no route names. As with wildcard hosts, the
// administrator decides whether that may be.
func (b *builder) anyHost(c *model.Claim) bool {
	const field = "metadata.annotations[" + api.AnnotationAnyHost + "]"
	b.result.Host = match.Any
	c.NamedHost, c.Host = match.Any, match.Any
	switch t := b.route.Spec.TLS; {
	case !b.settings.WildcardsAllowed:
		return b.refuse(field, api.ReasonRouteNotAdmitted,
			"routes for any host are not allowed; spec.routeAdmission.wildcardPolicy of the IngressController must be WildcardsAllowed")
	case c.Termination == model.Passthrough:
		return b.refuse(field, api.ReasonInvalidAnnotation, "passthrough goes by a host name")
	case t != nil && (t.Certificate != "" || t.Key != "" || t.ExternalCertificate != nil):
		return b.refuse("spec.tls", api.ReasonExtendedValidationFailed, "a route for any host has the router's default certificate, and none of its own")
	}
	return true
}

// hostProblems lists what is wrong with a host name (RFC 1123), or returns "".
func hostProblems(host string) string {
	problems := validation.IsDNS1123Subdomain(host)
	for label := range strings.SplitSeq(host, ".") {
		if len(label) > validation.DNS1123LabelMaxLength {
			problems = append(problems, "label "+label+": must be no more than 63 characters")
		}
	}
	return strings.Join(problems, "; ")
}
