package policy

import (
	"slices"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// Group is a part of a policy that is merged by itself.
type Group string

// The groups, named as the fields of spec.
const (
	GroupAccess      Group = "access"
	GroupRedirects   Group = "redirects"
	GroupCORS        Group = "cors"
	GroupLimits      Group = "limits"
	GroupTimeouts    Group = "timeouts"
	GroupMaintenance Group = "maintenance"
	GroupLog         Group = "log"
)

// row is how a group is merged. The table is never changed.
type row struct {
	group Group
	// combines is true for groups that protect: what all policies say holds. Of
	// other groups the one of the highest rank wins whole.
	combines bool
	// has reports whether a source sets the group.
	has func(*Source) bool
	// take copies the group of a source that wins.
	take func(to *Effective, from *Source)
}

var groups = []row{
	{GroupAccess, true, func(s *Source) bool { return s.Access != nil }, (*Effective).combineAccess},
	{GroupRedirects, false, func(s *Source) bool { return s.Spec.Redirects != nil }, func(e *Effective, s *Source) { e.Spec.Redirects = s.Spec.Redirects }},
	{GroupCORS, false, func(s *Source) bool { return s.Spec.CORS != nil }, func(e *Effective, s *Source) { e.Spec.CORS = s.Spec.CORS }},
	{GroupLimits, true, func(s *Source) bool { return s.Spec.Limits != nil }, (*Effective).combineLimits},
	{GroupTimeouts, false, func(s *Source) bool { return s.Spec.Timeouts != nil }, func(e *Effective, s *Source) { e.Spec.Timeouts = s.Spec.Timeouts }},
	{GroupMaintenance, false, func(s *Source) bool { return s.Spec.Maintenance != nil }, func(e *Effective, s *Source) { e.Spec.Maintenance = s.Spec.Maintenance }},
	{GroupLog, false, func(s *Source) bool { return s.Spec.Log != nil }, func(e *Effective, s *Source) { e.Spec.Log = s.Spec.Log }},
}

// Protects reports whether the group keeps requests out: then it closes the paths
// where it cannot be applied.
func (g Group) Protects() bool {
	return slices.ContainsFunc(groups, func(r row) bool { return r.group == g && r.combines })
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
