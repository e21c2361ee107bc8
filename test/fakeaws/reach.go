package fakeaws

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Allow adds a rule to a security group, as a user may: a source is a CIDR or
// the id of a security group.
func (c *Cloud) Allow(group, protocol string, from, to int, source string) {
	c.change(func(s *state) {
		r := rule{Protocol: protocol, From: from, To: to, Description: "by hand"}
		if strings.HasPrefix(source, "sg-") {
			r.Group = source
		} else {
			r.CIDR = source
		}
		g := s.Groups[group]
		g.Rules = append(slices.Clone(g.Rules), r)
	})
}

// Shut says what leads nowhere: listeners that no security group of their load
// balancer lets clients reach, and targets of a listener that the machines'
// security groups do not let the load balancer reach or check.
func (c *Cloud) Shut() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var shut []string
	for _, b := range sortedValues(c.state.Balancers) {
		if !b.BornWithGroups {
			continue
		}
		for _, l := range c.state.listenersOf(b.ARN) {
			protocol := "tcp"
			if l.Protocol == "UDP" {
				protocol = "udp"
			}
			anybody := func(r rule) bool { return r.Group == "" }
			if !c.state.lets(b.Groups, protocol, l.Port, anybody) {
				shut = append(shut, fmt.Sprintf("%s:%d: %v let no client in", b.Name, l.Port, b.Groups))
			}
			if g := c.state.TargetGroups[l.Action.TargetGroup]; g != nil {
				shut = append(shut, c.state.shutTargets(b, g)...)
			}
		}
	}
	return shut
}

// shutTargets are the targets that the load balancer cannot reach.
func (s *state) shutTargets(b *loadBalancer, g *targetGroup) (shut []string) {
	from := func(r rule) bool { return slices.Contains(b.Groups, r.Group) }
	protocol := "tcp"
	if g.Protocol == "UDP" {
		protocol = "udp"
	}
	for _, t := range g.Targets {
		if !t.Draining.IsZero() {
			continue
		}
		groups := s.groupsOf(t)
		if !s.lets(groups, protocol, t.Port, from) {
			shut = append(shut, fmt.Sprintf("%s: target %s:%d of %s does not let %v in", b.Name, t.ID, t.Port, g.Name, b.Groups))
		}
		check, err := strconv.Atoi(g.Check.Port)
		if err == nil && !s.lets(groups, "tcp", check, from) {
			shut = append(shut, fmt.Sprintf("%s: target %s of %s lets %v not check port %d", b.Name, t.ID, g.Name, b.Groups, check))
		}
	}
	return shut
}

// groupsOf are the security groups of a target: those of its machine, or for a
// pod those of all machines.
func (s *state) groupsOf(t target) []string {
	var all []string
	for _, i := range sortedValues(s.Instances) {
		if i.ID == t.ID || i.IP == t.ID {
			return i.Groups
		}
		all = append(all, i.Groups...)
	}
	return all
}

// lets reports whether one of the groups lets a port in from a source.
func (s *state) lets(groups []string, protocol string, port int, source func(rule) bool) bool {
	return slices.ContainsFunc(groups, func(id string) bool {
		g := s.Groups[id]
		return g != nil && slices.ContainsFunc(g.Rules, func(r rule) bool {
			return r.Protocol == protocol && r.From <= port && port <= r.To && source(r)
		})
	})
}
