package convert

import (
	"cmp"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// draft is what becomes of one Route.
type draft struct {
	*Source
	// claim is the Route's own.
	claim *model.Claim
	// host is that of the routes, empty for any.
	host string
	// closed has the routes of the Route no backends.
	closed bool
	match  pathMatch
	// backends are the Services that get its requests.
	backends []backendRef
	// port is that of the first Service, also of a closed route.
	port int32
	// grpc has it become a GRPCRoute.
	grpc bool
	// spec is what its annotations say, groups those of them that are in force and that no
	// field says, and fields what fields say.
	spec   policy.Spec
	groups v1alpha1.PolicySpec
	fields fields
	// policies are what RoutePolicies are to say.
	policies []policyPart
	// alias is its second host, nil for none.
	alias *model.Claim
}

// draft returns what becomes of a Route, or nil if it is not served.
func (c *conversion) draft(s *Source) *draft {
	if len(s.Claims) == 0 {
		c.skip(s, "the router does not serve "+s.title()+": "+s.Refused)
		return nil
	}
	d := &draft{Source: s, claim: s.Claims[0]}
	for _, claim := range s.Claims[1:] {
		if claim.Alias {
			d.alias = claim
		}
	}
	if d.host = d.claim.Host; d.host == match.Any {
		d.host = ""
	}
	d.match = matchOf(d)
	switch {
	case s.Closed != "":
		c.close(d, "", s.Closed)
	case d.claim.Closed:
		c.close(d, "", s.title()+" is closed in the router, too: "+cmp.Or(s.Refused, "something that protects it cannot be applied"))
	}
	if d.match.problem != "" {
		c.close(d, "spec.path", d.match.problem)
	}
	if d.closed {
		return d
	}
	c.readBackends(d)
	if d.claim.Termination == model.Passthrough {
		c.readPassthrough(d)
		return d
	}
	c.readPolicy(d)
	c.noteLost(d)
	c.readFields(d)
	c.planPolicies(d)
	c.noteWildcard(d)
	return d
}

// skip leaves a Route out.
func (c *conversion) skip(s *Source, message string) {
	c.out.Skipped++
	c.find(s, api.SeverityWarning, "", api.ReasonConversionSkipped, message, effectSkipped)
}

// asked are the requests of a host and path that come in by listeners of a protocol.
type asked struct {
	namespace, host string
	protocol        gatewayv1.ProtocolType
	kind            gatewayv1.PathMatchType
	path            string
}

// first reports whether no older Route has these requests of a draft. Of routes of Gateways
// with the same age the name decides, and converted ones have the same age.
func (c *conversion) first(d *draft, host string, protocol gatewayv1.ProtocolType) bool {
	key := asked{d.Route.Namespace, host, protocol, d.match.kind, d.match.value}
	if c.owned[key] == nil {
		c.owned[key] = d
	}
	return c.owned[key] == d
}

// title names the Route in messages about an Ingress.
func (s *Source) title() string {
	if s.Object.Kind == "Route" {
		return "it"
	}
	return "the part of it that is Route " + s.Route.Name
}

// close has a Route become one without backends.
func (c *conversion) close(d *draft, field, message string) {
	d.closed, d.backends, d.policies, d.grpc = true, nil, nil, false
	c.out.Shut[d.key()] = true
	c.find(d.Source, api.SeverityError, field, api.ReasonConversionClosed, message, effectClosed)
}

// lose reports a setting that has no form.
func (c *conversion) lose(d *draft, field, message string) {
	c.find(d.Source, api.SeverityWarning, field, api.ReasonConversionLost, message, effectNone)
}

// noteWildcard says what a wildcard of the Gateway API has beyond that of a Route.
func (c *conversion) noteWildcard(d *draft) {
	if domain, wildcard := strings.CutPrefix(d.host, "*."); wildcard {
		c.find(d.Source, api.SeverityWarning, "spec.wildcardPolicy", api.ReasonConversionDiffers,
			"on a Gateway "+d.host+" is for any number of labels, and not for one alone", "the converted route also answers for hosts such as a.b."+domain)
	}
}

// secure and plain say by which ports requests come in for pods.
func (d *draft) secure() bool { return d.claim.Termination != model.Plain }

func (d *draft) plain() bool {
	return d.claim.Termination == model.Plain || d.claim.Insecure == model.InsecureAllow
}

// redirects reports whether plain HTTP is redirected to https.
func (d *draft) redirects() bool {
	return d.secure() && d.claim.Insecure == model.InsecureRedirect
}

func (d *draft) hostnames(host string) []gatewayv1.Hostname {
	if host == "" {
		return nil
	}
	return []gatewayv1.Hostname{gatewayv1.Hostname(host)}
}

// annotation is the field of an annotation.
func annotation(key string) string { return "metadata.annotations[" + key + "]" }
