package stack

import (
	"maps"
	"slices"
	"time"
)

// Outcome is what carrying out an Action came to.
type Outcome struct {
	// Done are the changes that AWS made: the Action, with what AWS added to it,
	// such as ARNs and ids, or the part of it that AWS accepted.
	Done []Action
	// Refused are targets that AWS refused.
	Refused []Target
	// LeftOut are the subnets that a load balancer was made without.
	LeftOut []Mapping
	// RulesOutdated says that rules of security groups are not what was read.
	RulesOutdated bool
	// Outdated says that more is not what was read, and must be looked up again.
	Outdated bool
}

// After returns what is known after an action was carried out. It is the only
// way in which an action changes what is known.
func (o Observed) After(out Outcome, at time.Time) Observed {
	n := o.draft()
	for _, a := range out.Done {
		switch {
		case n.afterSecurity(a, at), n.afterGroup(a, at), n.afterListener(a, at), n.afterBalancer(a, at):
		default:
			n.afterTag(a)
		}
	}
	for _, t := range out.Refused {
		n.refused[t.ID] = at
	}
	if len(out.LeftOut) > 0 {
		n.leftOut = out.LeftOut
	}
	if out.RulesOutdated {
		n.unread(PartFrontend, PartNodes)
	}
	if out.Outdated {
		return n.Forget()
	}
	return n
}

func (o *Observed) afterSecurity(a Action, at time.Time) bool {
	s := &o.State
	switch a := a.(type) {
	case CreateSecurityGroup:
		s.Frontend = &SecurityGroup{ID: a.Group.ID, Name: a.Group.Name, VPC: a.Group.VPC, Tags: a.Group.Tags}
		o.touch(at, Part{Kind: PartFrontend})
	case ChangeRules:
		change := func(g *SecurityGroup) {
			if g.ID == a.Group {
				g.Rules = append(slices.DeleteFunc(g.Rules, func(r Rule) bool { return slices.Contains(a.Revoke, r) }), a.Authorize...)
			}
		}
		if s.Frontend != nil {
			change(s.Frontend)
		}
		for i := range s.Nodes {
			change(&s.Nodes[i])
		}
	case DeleteSecurityGroup:
		s.Frontend = nil
	default:
		return false
	}
	return true
}

func (o *Observed) afterGroup(a Action, at time.Time) bool {
	s := &o.State
	switch a := a.(type) {
	case CreateTargetGroup:
		s.Groups = append(s.Groups, a.Group.clone())
		o.touch(at, Part{PartTargets, a.Group.Name}, Part{Kind: PartGroups}, Part{Kind: PartTags})
	case ModifyTargetGroup:
		if g := s.group(a.Name); g != nil {
			g.Check = a.Check
		}
	case SetGroupAttributes:
		if g := s.group(a.Name); g != nil {
			g.Attributes = merged(g.Attributes, a.Attributes)
		}
		o.touch(at, Part{PartGroupAttributes, a.Name})
	case DeleteTargetGroup:
		s.Groups = slices.DeleteFunc(s.Groups, func(g TargetGroup) bool { return g.Name == a.Name })
		// Its rules are closed by the next pass. Some may be older than this process.
		o.unread(PartFrontend, PartNodes)
	case Register:
		s.setHealth(a.Name, a.Targets, Health{State: "initial", Reason: "Elb.RegistrationInProgress"})
		if g := s.group(a.Name); g != nil {
			g.Targets = append(g.Targets, a.Targets...)
		}
	case Deregister:
		s.setHealth(a.Name, a.Targets, Health{State: "draining", Reason: "Target.DeregistrationInProgress"})
		if g := s.group(a.Name); g != nil {
			g.Targets = slices.DeleteFunc(g.Targets, func(t Target) bool { return slices.Contains(a.Targets, t) })
		}
	default:
		return false
	}
	return true
}

func (s *State) setHealth(group string, targets []Target, h Health) {
	g := s.group(group)
	if g == nil {
		return
	}
	if g.Health == nil {
		g.Health = map[Target]Health{}
	}
	for _, t := range targets {
		g.Health[t] = h
	}
}

func (o *Observed) afterListener(a Action, at time.Time) bool {
	s := &o.State
	switch a := a.(type) {
	case CreateListener:
		l := s.named(a.Listener.clone())
		s.Listeners = append(s.Listeners, l)
		s.use(l.Group)
		o.touch(at, listenerPart(PartListenerAttributes, l.Port), listenerPart(PartCertificates, l.Port))
	case ModifyListener:
		s.modify(a.Listener)
	case ChangeCertificates:
		if l := s.listener(a.Port); l != nil {
			l.Certificates = append(slices.DeleteFunc(l.Certificates, func(c string) bool { return slices.Contains(a.Remove, c) }), a.Add...)
		}
	case SetListenerAttributes:
		if l := s.listener(a.Port); l != nil {
			l.Attributes = merged(l.Attributes, a.Attributes)
		}
	case DeleteListener:
		s.Listeners = slices.DeleteFunc(s.Listeners, func(l Listener) bool { return l.Port == a.Port })
	default:
		return false
	}
	return true
}

// modify changes a listener of a draft, except its further certificates.
func (s *State) modify(to Listener) {
	l := s.listener(to.Port)
	if l == nil {
		return
	}
	if old := s.group(l.Group); old != nil && l.Group != to.Group && s.Balancer != nil {
		old.UsedBy = slices.DeleteFunc(old.UsedBy, func(arn string) bool { return arn == s.Balancer.ARN })
	}
	l.Protocol, l.Policy, l.ALPN, l.Group, l.RedirectTLS = to.Protocol, to.Policy, to.ALPN, to.Group, to.RedirectTLS
	l.Certificates = append(first(to.Certificates), l.Certificates...)
	s.use(to.Group)
}

// use notes that the load balancer leads to a target group.
func (s *State) use(group string) {
	if g := s.group(group); g != nil && s.Balancer != nil && !slices.Contains(g.UsedBy, s.Balancer.ARN) {
		g.UsedBy = append(g.UsedBy, s.Balancer.ARN)
	}
}

func (o *Observed) afterBalancer(a Action, at time.Time) bool {
	s := &o.State
	switch a := a.(type) {
	case CreateBalancer:
		b := a.Balancer.clone()
		s.Balancer, s.Listeners = &b, nil
		o.touch(at, Part{Kind: PartBalancer}, Part{Kind: PartListeners}, Part{Kind: PartTags})
		// What its attributes are is read by the next pass.
	case DeleteBalancer:
		s.remove(a.Name)
	case SetACL:
		if s.ACL = a.ARN; a.ARN == "none" {
			s.ACL = ""
		}
	default:
		return s.Balancer != nil && s.Balancer.after(a)
	}
	return true
}

// after changes a load balancer by an action that is not about anything else.
func (b *Balancer) after(a Action) bool {
	switch a := a.(type) {
	case SetSecurityGroups:
		b.SecurityGroups = slices.Clone(a.Groups)
	case SetSubnets:
		b.Subnets = slices.Clone(a.Subnets)
	case SetAddressType:
		b.AddressType = a.AddressType
	case SetBalancerAttributes:
		if a.Name == b.Name {
			b.Attributes = merged(b.Attributes, a.Attributes)
		}
	default:
		return false
	}
	return true
}

// remove takes a load balancer out of a draft.
func (s *State) remove(name string) {
	var gone []string
	if b := s.Balancer; b != nil && b.Name == name {
		gone = append(gone, b.ARN)
		s.Balancer, s.Listeners = nil, nil
	}
	s.Former = slices.DeleteFunc(s.Former, func(b Balancer) bool {
		if b.Name == name {
			gone = append(gone, b.ARN)
		}
		return b.Name == name
	})
	for i := range s.Groups {
		s.Groups[i].UsedBy = slices.DeleteFunc(s.Groups[i].UsedBy, func(arn string) bool { return slices.Contains(gone, arn) })
	}
}

func (o *Observed) afterTag(a Action) {
	t, ok := a.(Tag)
	if !ok {
		return
	}
	change := func(tags *map[string]string) {
		*tags = merged(*tags, t.Set)
		for _, k := range t.Remove {
			delete(*tags, k)
		}
	}
	s := &o.State
	switch g, l := s.group(t.Resource.Group), s.listener(t.Resource.Port); {
	case t.Resource.Frontend && s.Frontend != nil:
		change(&s.Frontend.Tags)
	case t.Resource.Balancer != "" && s.Balancer != nil:
		change(&s.Balancer.Tags)
	case g != nil:
		change(&g.Tags)
	case l != nil:
		change(&l.Tags)
	}
}

// merged returns what a map has with what another one sets.
func merged(have, set map[string]string) map[string]string {
	all := maps.Clone(have)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, set)
	return all
}
