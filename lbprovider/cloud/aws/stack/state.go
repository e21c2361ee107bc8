package stack

// Arrange puts the load balancer of a name into Balancer, and all others of
// the Service into Others.
func (s *State) Arrange(name string) {
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
