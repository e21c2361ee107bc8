package policy

import (
	"fmt"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// KindGateway is that of Gateways, whose policies are for the routes that are attached to
// them.
const KindGateway model.Kind = "Gateway"

// KindListenerSet is that of ListenerSets, which no policy names.
const KindListenerSet model.Kind = "ListenerSet"

// addMisnamed takes in the policies that name a part which the object does not have. A rule
// that is renamed must not open what a policy of its former name kept shut, so one that
// protects closes all of the object.
func (s *Selection) addMisnamed(p *Place, in *Set) {
	if p.Part == nil {
		return
	}
	for _, o := range in.All() {
		for i := range o.refs {
			if r := &o.refs[i]; r.Kind == string(p.Object.Kind) && r.Name == p.Object.Name {
				s.misnamed(o, i, p.Part.All, "the "+r.Kind+" has no rule")
			}
		}
	}
}

// misnamed takes in a reference of a policy to a part, unless it is one of those that there
// are.
func (s *Selection) misnamed(o *Object, ref int, parts []string, lacks string) {
	section := o.refs[ref].SectionName
	if section == "" || slices.Contains(parts, section) {
		return
	}
	s.depend(o.Key)
	c := Closing{Key: o.Key, Field: fmt.Sprintf("spec.targetRefs[%d].sectionName", ref), Reason: api.ReasonTargetNotFound, Message: fmt.Sprintf("%s named %q", lacks, section)}
	if o.Protects() {
		s.closings = append(s.closings, c)
		return
	}
	c.Effect = "it has no effect there"
	s.unapplied = append(s.unapplied, c)
}

func (s *Selection) depend(key model.Object) {
	if !slices.Contains(s.Depends, key) {
		s.Depends = append(s.Depends, key)
	}
}

// AddGateway takes in the policies, of those of its namespace, that name a Gateway that the
// object is attached to, or the listener of it by which requests come in: empty for one that
// they cannot name. Listeners are the names of all.
func (s *Selection) AddGateway(gateway model.Object, listener string, listeners []string, in *Set) {
	for n, o := range in.All() {
		applies := false
		for i := range o.refs {
			r := &o.refs[i]
			if r.Kind != string(KindGateway) || r.Name != gateway.Name {
				continue
			}
			s.misnamed(o, i, listeners, "the Gateway has no listener")
			applies = applies || r.SectionName == "" || r.SectionName == listener
		}
		if applies {
			s.depend(o.Key)
			s.add(o, RankGateway, n)
		}
	}
}

// Gateways returns the Gateways that the policy names.
func (o *Object) Gateways() (all []model.Object) {
	for _, r := range o.refs {
		if r.Kind == string(KindGateway) {
			all = append(all, model.Object{Kind: KindGateway, Namespace: o.Key.Namespace, Name: r.Name})
		}
	}
	return all
}

// Same reports whether two selections mean the same.
func (s *Selection) Same(o *Selection) bool {
	return slices.Equal(s.Sources, o.Sources) && slices.Equal(s.closings, o.closings) && slices.Equal(s.unapplied, o.unapplied)
}

// Protects reports whether anything of what is selected keeps requests out.
func (s *Selection) Protects() bool {
	return len(s.closings) > 0 || slices.ContainsFunc(s.Sources, func(from *Source) bool { return slices.ContainsFunc(from.groups(), Group.Protects) })
}

// FromFields returns the groups that fields of an object itself set, by the name of the field.
// They rank as annotations do. What they say is the caller's to know: the groups of the source
// are empty, and Spec.LeaveOwn takes them out again. It returns nil if there are none.
func FromFields(o model.Object, fields map[Group]string) *Source {
	if len(fields) == 0 {
		return nil
	}
	spec := &v1alpha1.PolicySpec{}
	for g := range fields {
		switch g { //nolint:exhaustive // no other group is one of fields
		case GroupCORS:
			spec.CORS = &v1alpha1.CORS{}
		case GroupRedirects:
			spec.Redirects = &v1alpha1.Redirects{}
		case GroupRewrite:
			spec.Rewrite = &v1alpha1.Rewrite{}
		case GroupTimeouts:
			spec.Timeouts = &v1alpha1.Timeouts{}
		case GroupRetries:
			spec.Retries = &v1alpha1.Retries{}
		case GroupMirror:
			spec.Mirror = &v1alpha1.Mirror{}
		}
	}
	return &Source{Rank: RankAnnotations, Key: o, Spec: spec, Fields: fields}
}

// LeaveOwn takes out the groups that fields of the object itself set.
func (s *Spec) LeaveOwn(e *Effective) {
	g := &s.Groups
	if e.FromOwn(GroupCORS) {
		g.CORS = nil
	}
	if e.FromOwn(GroupRedirects) {
		g.Redirects = nil
	}
	if e.FromOwn(GroupRewrite) {
		g.Rewrite = nil
	}
	if e.FromOwn(GroupTimeouts) {
		g.Timeouts = nil
	}
	if e.FromOwn(GroupRetries) {
		g.Retries = nil
	}
	if e.FromOwn(GroupMirror) {
		g.Mirror = nil
	}
}

// FromOwn reports whether a group in force is from the object itself.
func (e *Effective) FromOwn(g Group) bool {
	o := e.Origin(g)
	return o != nil && o.Own()
}

// Join returns what holds for the parts of an object, each source and complaint once: what is
// to be said of the policies. It is nil if no policy is for any part.
func Join(parts []*Effective) *Effective {
	var all *Effective
	for _, p := range parts {
		switch {
		case p == nil:
			continue
		case all == nil:
			all = &Effective{Spec: p.Spec, Access: p.Access, Limits: p.Limits, Firewalls: p.Firewalls, Either: p.Either}
		}
		all.Origins = withNew(all.Origins, p.Origins)
		all.Losses = withNew(all.Losses, p.Losses)
		all.Closings = withNew(all.Closings, p.Closings)
		all.Unapplied = withNew(all.Unapplied, p.Unapplied)
		all.Outside = withNew(all.Outside, p.Outside)
	}
	return all
}

// withNew appends the items that a list does not have yet.
func withNew[T comparable](to, more []T) []T {
	for _, item := range more {
		if !slices.Contains(to, item) {
			to = append(to, item)
		}
	}
	return to
}
