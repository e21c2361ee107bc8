package fakeaws

import (
	"maps"
	"slices"
	"strconv"
)

// Balancer is what a test wants to know of a load balancer.
type Balancer struct {
	ARN, Name, DNSName, Type, Scheme, AddressType string
	Subnets, SecurityGroups                       []string
	// Addresses are the Elastic IPs, by subnet.
	Addresses  map[string]string
	Attributes map[string]string
	Tags       map[string]string
	Listeners  []Listener
}

// Listener is one of its listeners.
type Listener struct {
	Port                   int
	Protocol, Policy, ALPN string
	Certificates           []string
	Attributes, Tags       map[string]string
	// Redirect is set where the action is a redirection: its status code.
	Redirect string
	// Group is where it leads.
	Group Group
}

// Group is a target group.
type Group struct {
	ARN, Name, Protocol, Type string
	Port                      int
	Check                     Check
	Attributes, Tags          map[string]string
	// Targets are those that are not draining, as "id:port", sorted.
	Targets []string
	// Draining are the others.
	Draining []string
}

// Check is a health check.
type Check struct {
	Protocol, Port, Path, Matcher         string
	Interval, Timeout, Healthy, Unhealthy int
}

// Balancers returns all load balancers, by name.
func (c *Cloud) Balancers() []Balancer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Balancer
	for _, b := range sortedValues(c.state.Balancers) {
		x := Balancer{
			ARN: b.ARN, Name: b.Name, DNSName: b.DNSName, Type: b.Type, Scheme: b.Scheme, AddressType: b.AddressType,
			SecurityGroups: slices.Clone(b.Groups), Attributes: merged(balancerDefaults(b.Type), b.Attributes), Tags: maps.Clone(b.Tags),
			Addresses: map[string]string{},
		}
		for _, m := range b.Mappings {
			x.Subnets = append(x.Subnets, m.Subnet)
			if eip := c.state.Addresses[m.Allocation]; eip != nil {
				x.Addresses[m.Subnet] = eip.IP
			}
		}
		for _, l := range c.state.listenersOf(b.ARN) {
			y := Listener{
				Port: l.Port, Protocol: l.Protocol, Policy: l.Policy, ALPN: l.ALPN, Certificates: slices.Clone(l.Certificates),
				Attributes: merged(listenerDefaults(l), l.Attributes), Tags: maps.Clone(l.Tags), Redirect: l.Action.RedirectTo["StatusCode"],
			}
			if g := c.state.TargetGroups[l.Action.TargetGroup]; g != nil {
				y.Group = c.group(g)
			}
			x.Listeners = append(x.Listeners, y)
		}
		list = append(list, x)
	}
	return list
}

func merged(defaults, own map[string]string) map[string]string {
	all := maps.Clone(defaults)
	maps.Copy(all, own)
	return all
}

func (c *Cloud) group(g *targetGroup) Group {
	x := Group{
		ARN: g.ARN, Name: g.Name, Protocol: g.Protocol, Type: g.Type, Port: g.Port, Attributes: merged(groupDefaults(g), g.Attributes), Tags: maps.Clone(g.Tags),
		Check: Check{g.Check.Protocol, g.Check.Port, g.Check.Path, g.Check.Matcher, g.Check.Interval, g.Check.Timeout, g.Check.Healthy, g.Check.Unhealthy},
	}
	for _, t := range g.Targets {
		name := t.ID + ":" + strconv.Itoa(t.Port)
		if t.Draining.IsZero() {
			x.Targets = append(x.Targets, name)
		} else {
			x.Draining = append(x.Draining, name)
		}
	}
	slices.Sort(x.Targets)
	slices.Sort(x.Draining)
	return x
}

// ACL returns the web ACL of a load balancer, or "".
func (c *Cloud) ACL(balancer string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.ACLs[balancer]
}

// Groups returns all target groups, also those without a listener.
func (c *Cloud) Groups() []Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Group
	for _, g := range sortedValues(c.state.TargetGroups) {
		list = append(list, c.group(g))
	}
	return list
}

// SecurityGroup is a security group with its rules as text, sorted.
type SecurityGroup struct {
	ID, Name string
	Tags     map[string]string
	Rules    []string
}

// SecurityGroups returns all of them.
func (c *Cloud) SecurityGroups() []SecurityGroup {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []SecurityGroup
	for _, g := range sortedValues(c.state.Groups) {
		x := SecurityGroup{ID: g.ID, Name: g.Name, Tags: maps.Clone(g.Tags)}
		for _, ru := range g.Rules {
			source := ru.CIDR + ru.IPv6 + ru.Group + ru.PrefixList
			x.Rules = append(x.Rules, ru.Protocol+" "+strconv.Itoa(ru.From)+"-"+strconv.Itoa(ru.To)+" "+source)
		}
		slices.Sort(x.Rules)
		list = append(list, x)
	}
	return list
}
