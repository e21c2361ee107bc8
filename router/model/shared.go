package model

// Ports are some of the router's own two.
type Ports uint8

// The router's own ports.
const (
	HTTPPort Ports = 1 << iota
	HTTPSPort
)

// Ports returns where a claim without a scope is: one with TLS is at the HTTP port, too, if
// only to redirect or to refuse.
func (c *Claim) Ports() Ports {
	switch {
	case c.Shared != nil && c.Shared.Only != 0:
		return c.Shared.Only
	case c.Termination == Plain:
		return HTTPPort
	}
	return HTTPPort | HTTPSPort
}

// Without returns what is left of a claim that another one takes some ports from, or nil.
func (c *Claim) Without(taken Ports) *Claim {
	left := c.Ports() &^ taken
	if left == 0 {
		return nil
	}
	rest, shared := *c, Shared{}
	if c.Shared != nil {
		shared = *c.Shared
	}
	shared.Only = left
	rest.Shared = &shared
	return &rest
}

// Shared is how a claim stands at the router's own ports where both Routes and Gateways'
// listeners have them.
type Shared struct {
	// Listener is the one that serves the claim, empty for that of a Route.
	Listener ScopeID
	// TakesOver says that it goes before Routes of its namespace for the same paths.
	TakesOver bool
	// Only are the ports that the claim is at, where these are not all that Termination means.
	Only Ports
}

// IsShared reports whether a Gateway's listener serves the claim at the router's own ports, where
// it meets those of Routes.
func (c *Claim) IsShared() bool { return c.Shared != nil && c.Shared.Listener != "" }

// Listener returns the listener of a Gateway that serves the claim, or nothing for one of a
// Route.
func (c *Claim) Listener() ScopeID {
	if c.IsShared() {
		return c.Shared.Listener
	}
	scope, _ := SplitHost(c.Host)
	return scope
}

// Equal reports whether two marks mean the same.
func (s *Shared) Equal(o *Shared) bool {
	return s == o || s != nil && o != nil && *s == *o
}
