package ingress

import (
	"encoding/json"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// What annotations of other controllers ask for becomes annotations of the Routes: a
// scalar of our own where there is one, and else a typed group of a policy, all of
// which are in one annotation (api.AnnotationIngressPolicy). The groups are judged here
// by the same functions as in the routers, so that the Ingress has the finding.

// finish reads what several annotations say together. It is called when all of them
// were read.
func (c *conversion) finish(into *carried) {
	c.finishRedirects(into)
	c.finishCORS(into)
	c.finishRequest(into)
	c.finishPages(into)
	c.finishMirror(into)
	c.finishTracing(into)
	c.finishFirewall(into)
	c.finishLimits(into)
	c.finishAuthentication(into)
	c.finishCookies(into)
	c.finishAnswers(into)
	c.finishUpstream(into)
	c.finishClients(into)
	c.groups = into.groups
	c.groupBytes = len(c.policyFor(strings.Repeat("x", maxHost)))
}

// maxHost is the length of the longest host name.
const maxHost = 253

// policyFor returns the groups for the Route of a host, or "" if there are none.
func (c *conversion) policyFor(host string) string {
	groups := c.groups
	if groups == (v1alpha1.PolicySpec{}) {
		return ""
	}
	if a := groups.Authentication; a != nil && a.External != nil && a.External.SignIn != nil {
		external := *a.External
		external.SignIn = c.signInFor(*external.SignIn, host)
		auth := *a
		auth.External = &external
		groups.Authentication = &auth
	}
	text, err := json.Marshal(&groups)
	if err != nil {
		return err.Error() // No router can read that, so the paths are closed.
	}
	return string(text)
}

// shape adds a group that protects nothing, if it can be used.
func (c *conversion) shape(into *carried, field string, add func(*v1alpha1.PolicySpec)) {
	var alone v1alpha1.PolicySpec
	add(&alone)
	switch err := policy.Usable(&alone); {
	case err != nil:
		c.invalid(field, err)
	case into.passthrough():
		c.warn(field, api.ReasonForeignAnnotation, "with passthrough the router sees no requests", effectNone)
	default:
		add(&into.groups)
	}
}

// guard adds a group that keeps clients away, or closes the Ingress.
func (c *conversion) guard(into *carried, field string, add func(*v1alpha1.PolicySpec)) {
	var alone v1alpha1.PolicySpec
	add(&alone)
	switch err := policy.Usable(&alone); {
	case err != nil:
		c.protect(field, err.Error(), false)
	case into.passthrough():
		c.protect(field, "with passthrough the router sees no requests", false)
	default:
		add(&into.groups)
	}
}

// words splits a list at commas and white space.
func words(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", \t\r\n\v\f", r) })
}
