package policy

import (
	"slices"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// Group is a part of a policy that is merged by itself.
type Group string

// The groups, named as the fields of spec.
const (
	GroupAccess         Group = "access"
	GroupAuthentication Group = "authentication"
	GroupAuthorization  Group = "authorization"
	GroupRedirects      Group = "redirects"
	GroupCORS           Group = "cors"
	GroupRewrite        Group = "rewrite"
	GroupHeaders        Group = "headers"
	GroupCookies        Group = "cookies"
	GroupLocation       Group = "location"
	GroupLimits         Group = "limits"
	GroupTimeouts       Group = "timeouts"
	GroupRetries        Group = "retries"
	GroupHealth         Group = "health"
	GroupLoadBalancing  Group = "loadBalancing"
	GroupAffinity       Group = "affinity"
	GroupCanary         Group = "canary"
	// These two are parts of the field upstream.
	GroupUpstreamTLS Group = "upstream.tls"
	GroupUpstream    Group = "upstream"
	GroupFirewall    Group = "firewall"
	GroupFault       Group = "fault"
	GroupMirror      Group = "mirror"
	GroupBandwidth   Group = "bandwidth"
	GroupPages       Group = "pages"
	GroupMaintenance Group = "maintenance"
	GroupLog         Group = "log"
	GroupTracing     Group = "tracing"
)

// row is how a group is merged. The table is never changed.
type row struct {
	group Group
	// combines is true for groups that protect: what all policies say holds. Of
	// other groups the one of the highest rank wins whole.
	combines bool
	// exclusive is true for groups that protect and of which only one can hold: that
	// of the highest rank, and none where two have the same.
	exclusive bool
	// has reports whether a source sets the group.
	has func(*Source) bool
	// take copies the group of a source that wins.
	take func(to *Effective, from *Source)
}

var groups = []row{
	{GroupAccess, true, false, func(s *Source) bool { return s.Access != nil }, (*Effective).combineAccess},
	{GroupAuthentication, false, true, func(s *Source) bool { return s.Spec.Authentication != nil }, (*Effective).takeAuthentication},
	{GroupAuthorization, false, true, func(s *Source) bool { return s.Spec.Authorization != nil }, func(e *Effective, s *Source) { e.Spec.Authorization = s.Spec.Authorization }},
	{GroupRedirects, false, false, func(s *Source) bool { return s.Spec.Redirects != nil }, func(e *Effective, s *Source) { e.Spec.Redirects = s.Spec.Redirects }},
	{GroupCORS, false, false, func(s *Source) bool { return s.Spec.CORS != nil }, func(e *Effective, s *Source) { e.Spec.CORS = s.Spec.CORS }},
	{GroupRewrite, false, false, func(s *Source) bool { return s.Spec.Rewrite != nil }, func(e *Effective, s *Source) { e.Spec.Rewrite = s.Spec.Rewrite }},
	{GroupHeaders, false, false, func(s *Source) bool { return s.Spec.Headers != nil }, func(e *Effective, s *Source) { e.Spec.Headers = s.Spec.Headers }},
	{GroupCookies, false, false, func(s *Source) bool { return s.Spec.Cookies != nil }, func(e *Effective, s *Source) { e.Spec.Cookies = s.Spec.Cookies }},
	{GroupLocation, false, false, func(s *Source) bool { return s.Spec.Location != nil }, func(e *Effective, s *Source) { e.Spec.Location = s.Spec.Location }},
	{GroupLimits, true, false, func(s *Source) bool { return s.Spec.Limits != nil }, (*Effective).combineLimits},
	{GroupTimeouts, false, false, func(s *Source) bool { return s.Spec.Timeouts != nil }, func(e *Effective, s *Source) { e.Spec.Timeouts = s.Spec.Timeouts }},
	{GroupRetries, false, false, func(s *Source) bool { return s.Spec.Retries != nil }, func(e *Effective, s *Source) { e.Spec.Retries = s.Spec.Retries }},
	{GroupHealth, false, false, func(s *Source) bool { return s.Spec.Health != nil }, func(e *Effective, s *Source) { e.Spec.Health = s.Spec.Health }},
	{GroupLoadBalancing, false, false, func(s *Source) bool { return s.Spec.LoadBalancing != nil }, func(e *Effective, s *Source) { e.Spec.LoadBalancing = s.Spec.LoadBalancing }},
	{GroupAffinity, false, false, func(s *Source) bool { return s.Spec.Affinity != nil }, func(e *Effective, s *Source) { e.Spec.Affinity = s.Spec.Affinity }},
	{GroupCanary, false, false, func(s *Source) bool { return s.Spec.Canary != nil }, func(e *Effective, s *Source) { e.Spec.Canary = s.Spec.Canary }},
	upstreamRows[0], upstreamRows[1],
	{GroupMirror, false, false, func(s *Source) bool { return s.Spec.Mirror != nil }, func(e *Effective, s *Source) { e.Spec.Mirror = s.Spec.Mirror }},
	{GroupBandwidth, false, false, func(s *Source) bool { return s.Spec.Bandwidth != nil }, func(e *Effective, s *Source) { e.Spec.Bandwidth = s.Spec.Bandwidth }},
	{GroupFirewall, true, false, func(s *Source) bool { return s.Spec.Firewall != nil }, (*Effective).combineFirewalls},
	{GroupFault, false, false, func(s *Source) bool { return s.Spec.Fault != nil }, func(e *Effective, s *Source) { e.Spec.Fault = s.Spec.Fault }},
	{GroupPages, false, false, func(s *Source) bool { return s.Spec.Pages != nil }, func(e *Effective, s *Source) { e.Spec.Pages = s.Spec.Pages }},
	{GroupMaintenance, false, false, func(s *Source) bool { return s.Spec.Maintenance != nil }, func(e *Effective, s *Source) { e.Spec.Maintenance = s.Spec.Maintenance }},
	{GroupLog, false, false, func(s *Source) bool { return s.Spec.Log != nil }, func(e *Effective, s *Source) { e.Spec.Log = s.Spec.Log }},
	{GroupTracing, false, false, func(s *Source) bool { return s.Spec.Tracing != nil }, func(e *Effective, s *Source) { e.Spec.Tracing = s.Spec.Tracing }},
}

// Protects reports whether the group keeps requests out: then it closes the paths
// where it cannot be applied.
func (g Group) Protects() bool {
	return slices.ContainsFunc(groups, func(r row) bool { return r.group == g && (r.combines || r.exclusive) })
}

// exclusive reports whether two sources of one rank close the paths.
func (g Group) exclusive() bool {
	return slices.ContainsFunc(groups, func(r row) bool { return r.group == g && r.exclusive })
}

// groups returns the groups that a source sets.
func (s *Source) groups() []Group {
	var out []Group
	for _, r := range groups {
		if r.has(s) {
			out = append(out, r.group)
		}
	}
	return out
}

// Limit is what one policy bounds. All of them hold.
type Limit struct {
	From *Source
	*v1alpha1.Limits
}
