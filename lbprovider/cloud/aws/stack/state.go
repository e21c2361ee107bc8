package stack

import (
	"maps"
	"slices"
	"time"
)

// State is what exists in AWS for a Service. It is a value that does not
// change: reading and carrying out actions lead to another State (Observed).
type State struct {
	// Balancer is the load balancer of the wanted name; nil if there is none.
	Balancer *Balancer
	// Former are the other load balancers of the Service, which Balancer replaces.
	Former    []Balancer
	Frontend  *SecurityGroup
	Groups    []TargetGroup
	Listeners []Listener
	// Nodes are the security groups of the nodes.
	Nodes []SecurityGroup
	// Sharing is what other Services need of those.
	Sharing Sharing
	// ACL is the ARN of the web ACL, or empty.
	ACL string
	// PublishedAt is when the name of Balancer took the place of that of a former
	// load balancer; zero if it did not, or if that is not remembered.
	PublishedAt time.Time
}

// Sharing is what is known of the rules that Services share in the security
// groups of the nodes.
type Sharing struct {
	// Needed are rules that other Services need, by the nodes' group.
	Needed map[string][]Rule
	// Undetermined are security groups of load balancers whose Services did not
	// say yet which rules they need.
	Undetermined []string
	// Services are the UIDs of all Services; nil if it was not looked up.
	Services map[string]bool
}

// Group returns the target group of a name.
func (s State) Group(name string) (TargetGroup, bool) {
	i := slices.IndexFunc(s.Groups, func(g TargetGroup) bool { return g.Name == name })
	if i < 0 {
		return TargetGroup{}, false
	}
	return s.Groups[i], true
}

// Listener returns the listener of a port.
func (s State) Listener(port int32) (Listener, bool) {
	i := slices.IndexFunc(s.Listeners, func(l Listener) bool { return l.Port == port })
	if i < 0 {
		return Listener{}, false
	}
	return s.Listeners[i], true
}

// FrontendID is the id of the frontend, or empty.
func (s State) FrontendID() string {
	if s.Frontend == nil {
		return ""
	}
	return s.Frontend.ID
}

// InUse are the security groups that the Service's load balancers have now.
func (s State) InUse() []string {
	var ids []string
	if s.Balancer != nil {
		ids = append(ids, s.Balancer.SecurityGroups...)
	}
	for _, b := range s.Former {
		ids = append(ids, b.SecurityGroups...)
	}
	return ids
}

// Empty reports whether nothing of the Service exists.
func (s State) Empty() bool {
	return s.Balancer == nil && len(s.Former)+len(s.Groups) == 0 && s.Frontend == nil
}

// clone returns a State that can be changed without changing s.
func (s State) clone() State {
	if s.Balancer != nil {
		b := s.Balancer.clone()
		s.Balancer = &b
	}
	if s.Frontend != nil {
		g := s.Frontend.clone()
		s.Frontend = &g
	}
	s.Former = cloned(s.Former, Balancer.clone)
	s.Groups = cloned(s.Groups, TargetGroup.clone)
	s.Listeners = cloned(s.Listeners, Listener.clone)
	s.Nodes = cloned(s.Nodes, SecurityGroup.clone)
	return s // Sharing is only ever replaced as a whole
}

func cloned[T any](list []T, clone func(T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, 0, len(list))
	for _, v := range list {
		out = append(out, clone(v))
	}
	return out
}

func (b Balancer) clone() Balancer {
	b.Subnets, b.SecurityGroups = slices.Clone(b.Subnets), slices.Clone(b.SecurityGroups)
	b.Attributes, b.Tags = maps.Clone(b.Attributes), maps.Clone(b.Tags)
	return b
}

func (g SecurityGroup) clone() SecurityGroup {
	g.Rules, g.Tags = slices.Clone(g.Rules), maps.Clone(g.Tags)
	return g
}

func (g TargetGroup) clone() TargetGroup {
	g.Attributes, g.Tags, g.Health = maps.Clone(g.Attributes), maps.Clone(g.Tags), maps.Clone(g.Health)
	g.Targets, g.UsedBy = slices.Clone(g.Targets), slices.Clone(g.UsedBy)
	return g
}

func (l Listener) clone() Listener {
	l.Certificates, l.Attributes, l.Tags = slices.Clone(l.Certificates), maps.Clone(l.Attributes), maps.Clone(l.Tags)
	return l
}
