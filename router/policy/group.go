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
	GroupLimits         Group = "limits"
	GroupTimeouts       Group = "timeouts"
	GroupRetries        Group = "retries"
	GroupLoadBalancing  Group = "loadBalancing"
	GroupCanary         Group = "canary"
	GroupMaintenance    Group = "maintenance"
	GroupLog            Group = "log"
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
	{GroupAuthentication, false, true, func(s *Source) bool { return s.Spec.Authentication != nil }, func(e *Effective, s *Source) { e.Spec.Authentication = s.Spec.Authentication }},
	{GroupAuthorization, false, true, func(s *Source) bool { return s.Spec.Authorization != nil }, func(e *Effective, s *Source) { e.Spec.Authorization = s.Spec.Authorization }},
	{GroupRedirects, false, false, func(s *Source) bool { return s.Spec.Redirects != nil }, func(e *Effective, s *Source) { e.Spec.Redirects = s.Spec.Redirects }},
	{GroupCORS, false, false, func(s *Source) bool { return s.Spec.CORS != nil }, func(e *Effective, s *Source) { e.Spec.CORS = s.Spec.CORS }},
	{GroupRewrite, false, false, func(s *Source) bool { return s.Spec.Rewrite != nil }, func(e *Effective, s *Source) { e.Spec.Rewrite = s.Spec.Rewrite }},
	{GroupHeaders, false, false, func(s *Source) bool { return s.Spec.Headers != nil }, func(e *Effective, s *Source) { e.Spec.Headers = s.Spec.Headers }},
	{GroupLimits, true, false, func(s *Source) bool { return s.Spec.Limits != nil }, (*Effective).combineLimits},
	{GroupTimeouts, false, false, func(s *Source) bool { return s.Spec.Timeouts != nil }, func(e *Effective, s *Source) { e.Spec.Timeouts = s.Spec.Timeouts }},
	{GroupRetries, false, false, func(s *Source) bool { return s.Spec.Retries != nil }, func(e *Effective, s *Source) { e.Spec.Retries = s.Spec.Retries }},
	{GroupLoadBalancing, false, false, func(s *Source) bool { return s.Spec.LoadBalancing != nil }, func(e *Effective, s *Source) { e.Spec.LoadBalancing = s.Spec.LoadBalancing }},
	{GroupCanary, false, false, func(s *Source) bool { return s.Spec.Canary != nil }, func(e *Effective, s *Source) { e.Spec.Canary = s.Spec.Canary }},
	{GroupMaintenance, false, false, func(s *Source) bool { return s.Spec.Maintenance != nil }, func(e *Effective, s *Source) { e.Spec.Maintenance = s.Spec.Maintenance }},
	{GroupLog, false, false, func(s *Source) bool { return s.Spec.Log != nil }, func(e *Effective, s *Source) { e.Spec.Log = s.Spec.Log }},
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
