package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// FromAnnotations returns the groups that annotations of an object set, as they were
// read, or nil if they set none. Lists and limits of the annotations under our own
// prefix are not among them: those hold beside all others (Spec.Compile).
func FromAnnotations(o model.Object, annotations map[string]string, spec *Spec) *Source {
	groups := spec.Groups
	groups.Access, groups.Limits = nil, nil
	s := &Source{Rank: RankAnnotations, Key: o, Spec: &groups, Fields: map[Group]string{
		GroupAuthentication: "metadata.annotations",
		GroupRedirects:      "metadata.annotations", GroupCORS: "metadata.annotations", GroupTimeouts: "metadata.annotations", GroupRewrite: "metadata.annotations",
		GroupRetries: "metadata.annotations", GroupHealth: "metadata.annotations", GroupLoadBalancing: "metadata.annotations", GroupAffinity: "metadata.annotations", GroupCanary: "metadata.annotations", GroupMirror: "metadata.annotations", GroupFirewall: "metadata.annotations", GroupBandwidth: "metadata.annotations",
		GroupPages: "metadata.annotations", GroupMaintenance: "metadata.annotations", GroupLog: "metadata.annotations", GroupTracing: "metadata.annotations", GroupHeaders: "metadata.annotations",
		GroupCookies: "metadata.annotations", GroupLocation: "metadata.annotations", GroupUpstreamTLS: "metadata.annotations", GroupUpstream: "metadata.annotations",
	}}
	if len(spec.Allow) > 0 { // a list without any closes by itself
		key, _ := allowlistOf(annotations)
		s.Access, s.Fields[GroupAccess] = &Access{Restricted: true, Allow: normal(spec.Allow)}, field(key)
	}
	if len(s.groups()) == 0 {
		return nil
	}
	return s
}

func field(key string) string { return "metadata.annotations[" + key + "]" }

// check closes, or leaves out, what cannot be applied of the groups in force. Access
// was read with its source, and annotations when they were.
func (e *Effective) check() {
	for _, o := range e.Origins {
		if o.Group == GroupAccess || !IsKind(o.Source.Key.Kind) {
			continue // annotations
		}
		only := o.Source.Only(o.Group)
		for _, p := range Compile(only, &model.Policy{}) {
			c := Closing{Key: o.Source.Key, Field: "spec." + p.Key, Reason: p.Reason, Message: p.Message, Effect: p.Effect, Severity: p.Severity}
			if p.Closes {
				e.Closings = append(e.Closings, c)
			} else {
				e.Unapplied = append(e.Unapplied, c)
			}
		}
	}
	e.checkLimits()
	e.checkFirewalls()
}

// Only returns a spec with one group of the source; that of access is empty (Source.Access).
func (s *Source) Only(g Group) *v1alpha1.PolicySpec {
	out := &v1alpha1.PolicySpec{}
	switch from := s.Spec; g {
	case GroupAuthentication:
		out.Authentication = from.Authentication
	case GroupAuthorization:
		out.Authorization = from.Authorization
	case GroupRedirects:
		out.Redirects = from.Redirects
	case GroupCORS:
		out.CORS = from.CORS
	case GroupRewrite:
		out.Rewrite = from.Rewrite
	case GroupHeaders:
		out.Headers = from.Headers
	case GroupCookies:
		out.Cookies = from.Cookies
	case GroupLocation:
		out.Location = from.Location
	case GroupLimits:
		out.Limits = from.Limits
	case GroupTimeouts:
		out.Timeouts = from.Timeouts
	case GroupRetries:
		out.Retries = from.Retries
	case GroupHealth:
		out.Health = from.Health
	case GroupLoadBalancing:
		out.LoadBalancing = from.LoadBalancing
	case GroupAffinity:
		out.Affinity = from.Affinity
	case GroupCanary:
		out.Canary = from.Canary
	case GroupUpstreamTLS, GroupUpstream:
		out.Upstream = onlyUpstream(from.Upstream, g)
	case GroupFirewall:
		out.Firewall = from.Firewall
	case GroupFault:
		out.Fault = from.Fault
	case GroupMirror:
		out.Mirror = from.Mirror
	case GroupBandwidth:
		out.Bandwidth = from.Bandwidth
	case GroupPages:
		out.Pages = from.Pages
	case GroupMaintenance:
		out.Maintenance = from.Maintenance
	case GroupLog:
		out.Log = from.Log
	case GroupTracing:
		out.Tracing = from.Tracing
	case GroupAccess:
	}
	return out
}

// Passthrough closes what protects by looking at requests, and leaves out what else
// needs them: only the pod sees the requests of a passthrough Route.
func (e *Effective) Passthrough() {
	for _, o := range e.Origins {
		c := Closing{Key: o.Source.Key, Field: o.Source.Field(o.Group), Reason: api.ReasonPolicyNotApplicable, Message: "passthrough termination has no requests that the router sees"}
		parts := []string{""}
		switch {
		case o.Group == GroupAccess || o.Source.Own() || o.Group == GroupAuthentication && asksNothing(o.Source):
			continue
		case o.Group.Protects():
			e.Closings = append(e.Closings, c)
			continue
		case o.Group == GroupTimeouts:
			parts = withoutPassthroughTimeouts(o.Source.Spec.Timeouts)
		case o.Group == GroupHealth:
			parts = withoutPassthroughHealth(o.Source.Spec.Health)
		case o.Group == GroupLoadBalancing:
			parts = withoutPassthroughBalance(o.Source.Spec.LoadBalancing)
		case o.Group == GroupUpstream:
			parts = withoutPassthroughUpstream(o.Source.Spec.Upstream)
		case o.Group == GroupRedirects:
			parts = withoutPassthroughRedirects(o.Source.Spec.Redirects)
		}
		for _, part := range parts {
			unapplied := c
			if unapplied.Effect = "it has no effect"; IsKind(c.Key.Kind) {
				unapplied.Field = strings.TrimSuffix(c.Field+"."+part, ".")
			}
			e.Unapplied = append(e.Unapplied, unapplied)
		}
	}
}

// Apply replaces the groups that annotations ask for by what holds.
func (s *Spec) Apply(e *Effective) {
	s.Restricted, s.Allow, s.Deny = e.Access.Restricted, e.Access.Allow, e.Access.Deny
	s.Groups.Authentication, s.Groups.Authorization, s.NamedIn = e.Spec.Authentication, e.Spec.Authorization, ""
	if o := e.Origin(GroupAuthentication); o != nil && e.Spec.Authentication != nil && o.Key.Kind == KindClusterRoutePolicy {
		// What an administrator demands is not a tenant's to make up.
		s.NamedIn = api.OperandNamespace
	}
	s.applyEither(e)
	s.Groups.Redirects, s.Groups.CORS, s.Groups.Maintenance, s.Groups.Log = e.Spec.Redirects, e.Spec.CORS, e.Spec.Maintenance, e.Spec.Log
	s.Groups.Retries, s.Groups.LoadBalancing, s.Groups.Health, s.Groups.Affinity, s.Groups.Pages = e.Spec.Retries, e.Spec.LoadBalancing, e.Spec.Health, e.Spec.Affinity, e.Spec.Pages
	if o := e.Origin(GroupAffinity); o != nil && o.Rank != RankAnnotations {
		s.CookieSameSite = "" // that of an annotation, which is a part of the group
	}
	s.Groups.Upstream, s.UpstreamIn = e.Spec.Upstream, ""
	if o := e.Origin(GroupUpstreamTLS); o != nil && o.Key.Kind == KindClusterRoutePolicy {
		s.UpstreamIn = api.OperandNamespace
	}
	s.Groups.Cookies, s.Groups.Location = e.Spec.Cookies, e.Spec.Location
	s.Groups.Timeouts, s.Groups.Rewrite, s.Groups.Headers, s.Groups.Canary = e.Spec.Timeouts, e.Spec.Rewrite, e.Spec.Headers, e.Spec.Canary
	s.Groups.Bandwidth, s.Groups.Tracing = e.Spec.Bandwidth, e.Spec.Tracing
	s.Groups.Fault, s.Groups.Mirror, s.MirrorIn = e.Spec.Fault, e.Spec.Mirror, ""
	if o := e.Origin(GroupMirror); o != nil && o.Key.Kind == KindClusterRoutePolicy {
		s.MirrorIn = api.OperandNamespace
	}
	s.Groups.Firewall, s.Firewalls = nil, nil
	for _, f := range e.Firewalls {
		s.Firewalls = append(s.Firewalls, f.Firewall)
	}
	s.Sizes = nil
	for _, l := range e.Limits {
		s.Sizes = append(s.Sizes, l.Limits)
	}
}

// Findings are what the user of an object has to know. Closed is what clients get
// where the paths are closed.
func (e *Effective) Findings(closed string) []api.Finding {
	var out []api.Finding
	for _, c := range e.Closings {
		f := api.Finding{Reason: api.ReasonPolicyClosed, Severity: api.SeverityError, Field: c.Field, Message: c.Message, Effect: closed}
		if IsKind(c.Key.Kind) || slices.Contains([]model.Kind{KindNamespace, KindService, KindGateway, KindListenerSet}, c.Key.Kind) {
			f.Field, f.Message = "", strings.TrimSpace(Title(c.Key)+" "+c.Field)+": "+c.Message
		}
		out = append(out, f)
	}
	for _, c := range e.Unapplied {
		out = append(out, api.Finding{
			Reason: c.Reason, Severity: cmp.Or(c.Severity, api.SeverityWarning), Message: Title(c.Key) + " " + c.Field + ": " + c.Message, Effect: c.Effect,
		})
	}
	for _, l := range e.Losses {
		winner := l.Winner.Title()
		switch {
		case l.Conflict && l.Group.exclusive(): // which closes
		case l.Conflict:
			out = append(out, api.Finding{
				Reason: api.ReasonPolicyConflict, Severity: api.SeverityWarning,
				Message: fmt.Sprintf("%s and %s both set %s with the same rank", winner, l.Source.Title(), l.Group),
				Effect:  "that of " + winner + " is applied, because it is older",
			})
		case l.Source.Own():
			out = append(out, api.Finding{
				Reason: api.ReasonPolicyOverridden, Severity: api.SeverityInfo, Field: l.Source.Field(l.Group),
				Message: winner + " sets " + string(l.Group), Effect: "the " + ownNoun(l.Source.Field(l.Group)) + " has no effect",
			})
		}
	}
	return out
}

// ownNoun is what messages call what sets a group of an object itself.
func ownNoun(field string) string {
	if strings.HasPrefix(field, "metadata.annotations") {
		return "annotation"
	}
	return "field"
}
