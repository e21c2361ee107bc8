package stack

import "time"

// Arrange puts the load balancer of a name into Balancer, and all others of
// the Service into Others. It reports whether Balancer is another one than
// before: what was known of that one, such as its listeners, is then gone, for
// a listener of one load balancer must never be taken for that of another.
func (s *State) Arrange(name string) (turned bool) {
	turned = s.Balancer == nil || s.Balancer.Name != name
	all := s.Others
	if s.Balancer != nil {
		all = append(all, *s.Balancer)
	}
	s.Balancer, s.Others = nil, nil
	for _, b := range all {
		if b.Name == name && s.Balancer == nil {
			s.Balancer = &b
		} else {
			s.Others = append(s.Others, b)
		}
	}
	if turned {
		s.Listeners, s.ACL, s.Serving = nil, "", time.Time{}
	}
	return turned
}

// Group returns the target group of a name, or nil.
func (s *State) Group(name string) *TargetGroup {
	for i := range s.Groups {
		if s.Groups[i].Name == name {
			return &s.Groups[i]
		}
	}
	return nil
}

// Listener returns the listener of a port, or nil.
func (s *State) Listener(port int32) *Listener {
	for i := range s.Listeners {
		if s.Listeners[i].Port == port {
			return &s.Listeners[i]
		}
	}
	return nil
}
