package stack

import (
	"slices"
	"time"
)

// Reading is what one call of AWS said of a Part. Which of the other fields
// belongs to it follows from Part.Kind.
type Reading struct {
	Part Part
	// Balancer has no tags and attributes.
	Balancer Balancer
	// Listeners have no tags and attributes, only their first certificate, and
	// ARNs instead of the names of target groups.
	Listeners []Listener
	// Groups are target groups.
	Groups []TargetGroup
	// Frontend and Nodes.
	SecurityGroups []SecurityGroup
	// Tags are by ARN.
	Tags map[string]map[string]string
	// Attributes are those of the load balancer, the target group or the listener.
	Attributes map[string]string
	// Certificates are the further ones of the listener.
	Certificates []string
	// Targets are those that do not drain, Health the states of all.
	Targets []Target
	Health  map[Target]Health
	ACL     string
}

// With returns what is known after a part was read.
func (o Observed) With(r Reading, at time.Time) Observed {
	n := o.draft()
	n.touch(at, r.Part)
	s := &n.State
	switch r.Part.Kind {
	case PartBalancer:
		if b := s.Balancer; b != nil {
			r.Balancer.Tags, r.Balancer.Attributes = b.Tags, b.Attributes
			s.Balancer = &r.Balancer
		}
	case PartTags:
		s.setTags(r.Tags)
	case PartListeners:
		n.setListeners(r.Listeners)
	case PartGroups:
		for _, g := range r.Groups {
			if have := s.group(g.Name); have != nil {
				have.Check, have.UsedBy = g.Check, g.UsedBy
			}
		}
	case PartFrontend:
		for _, g := range r.SecurityGroups {
			s.Frontend = &g
		}
	case PartNodes:
		s.Nodes = r.SecurityGroups
	case PartBalancerAttributes:
		if s.Balancer != nil {
			s.Balancer.Attributes = r.Attributes
		}
	case PartGroupAttributes:
		if g := s.group(r.Part.Key); g != nil {
			g.Attributes = r.Attributes
		}
	case PartListenerAttributes:
		if l := s.listenerOf(r.Part); l != nil {
			l.Attributes = r.Attributes
		}
	case PartCertificates:
		if l := s.listenerOf(r.Part); l != nil {
			l.Certificates = withFurther(first(l.Certificates), r.Certificates)
		}
	case PartTargets:
		if g := s.group(r.Part.Key); g != nil {
			g.Targets, g.Health = r.Targets, r.Health
		}
	case PartACL:
		s.ACL = r.ACL
	}
	return n
}

func (s *State) setTags(byARN map[string]map[string]string) {
	if s.Balancer != nil {
		s.Balancer.Tags = byARN[s.Balancer.ARN]
	}
	for i := range s.Groups {
		s.Groups[i].Tags = byARN[s.Groups[i].ARN]
	}
	for i := range s.Listeners {
		s.Listeners[i].Tags = byARN[s.Listeners[i].ARN]
	}
}

// setListeners keeps what was read of listeners that are still there. If there
// are others, the tags must be read again.
func (o *Observed) setListeners(list []Listener) {
	others := false
	for i, l := range list {
		list[i] = o.State.named(l)
		old, found := o.State.Listener(l.Port)
		if !found || old.ARN != l.ARN {
			others = true
			continue
		}
		list[i].Tags, list[i].Attributes = old.Tags, old.Attributes
		if len(l.Certificates) > 0 && len(old.Certificates) > 0 {
			list[i].Certificates = withFurther(l.Certificates, old.Certificates)
		}
	}
	o.State.Listeners = list
	if others {
		o.unread(PartTags)
	}
}

// withFurther returns certificates of which the first is the default.
func withFurther(list, further []string) []string {
	list = slices.Clone(list)
	for _, arn := range further {
		if !slices.Contains(list, arn) {
			list = append(list, arn)
		}
	}
	return list
}

// named returns a listener of AWS with the name of its target group. A group
// that is not the Service's keeps its ARN, which differs from any name.
func (s *State) named(l Listener) Listener {
	for _, g := range s.Groups {
		if l.Group != "" && g.ARN == l.Group {
			l.Group = g.Name
		}
	}
	return l
}

// group returns a target group of a draft, or nil.
func (s *State) group(name string) *TargetGroup {
	for i := range s.Groups {
		if s.Groups[i].Name == name {
			return &s.Groups[i]
		}
	}
	return nil
}

// listener returns a listener of a draft, or nil.
func (s *State) listener(port int32) *Listener {
	for i := range s.Listeners {
		if s.Listeners[i].Port == port {
			return &s.Listeners[i]
		}
	}
	return nil
}

// listenerOf returns the listener of a part of a draft, or nil.
func (s *State) listenerOf(p Part) *Listener {
	for i := range s.Listeners {
		if listenerPart(p.Kind, s.Listeners[i].Port) == p {
			return &s.Listeners[i]
		}
	}
	return nil
}
