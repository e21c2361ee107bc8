package fakeaws

import (
	"fmt"
	"maps"
	"slices"
)

// Subnet describes a subnet to add.
type Subnet struct {
	ID, CIDR, IPv6, Zone string
	// Private subnets have no route to an internet gateway.
	Private bool
	// Free is how many addresses are free; 0 means 250, -1 none.
	Free int
	Tags map[string]string
}

// AddSubnet adds a subnet to the default VPC.
func (c *Cloud) AddSubnet(n Subnet) {
	if n.Free == 0 {
		n.Free = 250
	}
	c.change(func(s *state) {
		t := maps.Clone(n.Tags)
		if t == nil {
			t = map[string]string{}
		}
		s.Subnets[n.ID] = &subnet{ID: n.ID, VPC: DefaultVPC, CIDR: n.CIDR, IPv6: n.IPv6, Zone: n.Zone, Free: max(n.Free, 0), Tags: t}
		id, gateway := "rtb-public", "igw-1"
		if n.Private {
			id, gateway = "rtb-private", "nat-1"
		}
		table := s.RouteTables[id]
		if table == nil {
			table = &routeTable{ID: id, VPC: DefaultVPC, Gateway: gateway, Main: n.Private}
			s.RouteTables[id] = table
		}
		table.Subnets = append(table.Subnets, n.ID)
	})
}

// TagVPC tags a VPC, and adds it if there is none of the id.
func (c *Cloud) TagVPC(id string, with map[string]string) {
	c.change(func(s *state) {
		if s.VPCs[id] == nil {
			s.VPCs[id] = &vpc{ID: id, CIDR: "10.1.0.0/16"}
		}
		s.VPCs[id].Tags = maps.Clone(with)
	})
}

// AddInstance adds a running machine to the default VPC, in a subnet's zone,
// with the given security groups.
func (c *Cloud) AddInstance(id, subnetID, ip string, groups ...string) {
	c.change(func(s *state) {
		s.Instances[id] = &instance{
			ID: id, VPC: DefaultVPC, Subnet: subnetID, Zone: s.Subnets[subnetID].Zone, IP: ip, State: "running", Groups: groups, Tags: tags{},
		}
	})
}

// SetInstanceState sets the state of a machine, such as "terminated".
func (c *Cloud) SetInstanceState(id, to string) {
	c.change(func(s *state) {
		if i := s.Instances[id]; i != nil {
			i.State = to
		}
	})
}

// AddSecurityGroup adds a security group with tags, as a user would have one,
// and returns its id.
func (c *Cloud) AddSecurityGroup(name string, with map[string]string) string {
	var id string
	c.change(func(s *state) {
		id = s.id("sg-")
		t := tags{}
		maps.Copy(t, with)
		s.Groups[id] = &securityGroup{ID: id, Name: name, VPC: DefaultVPC, Description: name, Tags: t}
	})
	return id
}

// AddAddress adds an Elastic IP address and returns its allocation id.
func (c *Cloud) AddAddress(ip string) string {
	var id string
	c.change(func(s *state) {
		id = s.id("eipalloc-")
		s.Addresses[id] = &address{ID: id, IP: ip}
	})
	return id
}

// AddCertificate adds a certificate for some names and returns its ARN.
func (c *Cloud) AddCertificate(names ...string) string {
	var arn string
	c.change(func(s *state) {
		s.Number++
		arn = c.arn("acm", fmt.Sprintf("certificate/00000000-0000-4000-8000-%012x", s.Number))
		s.Certificates[arn] = &certificate{ARN: arn, Domain: names[0], Status: "ISSUED", Names: names}
	})
	return arn
}

// RefuseZone has load balancers refused in a zone, with a message.
func (c *Cloud) RefuseZone(zone, message string) {
	c.change(func(s *state) { s.Refused[zone] = message })
}

// StealTags replaces the tags of everything whose tags hold a key, as somebody
// with the right to do so may.
func (c *Cloud) StealTags(key string, with map[string]string) {
	c.change(func(s *state) {
		for _, b := range s.Balancers {
			if _, ok := b.Tags[key]; ok {
				b.Tags = maps.Clone(with)
			}
		}
	})
}

// FailBalancers makes all load balancers fail with a reason.
func (c *Cloud) FailBalancers(reason string) {
	c.change(func(s *state) {
		for _, b := range s.Balancers {
			b.Failed = reason
		}
	})
}

// ImpairBalancers makes all load balancers work, but not well, for a reason;
// empty makes them well again.
func (c *Cloud) ImpairBalancers(reason string) {
	c.change(func(s *state) {
		for _, b := range s.Balancers {
			b.Impaired = reason
		}
	})
}

// DeleteListenerByPort deletes a listener, as an administrator may.
func (c *Cloud) DeleteListenerByPort(port int) {
	c.change(func(s *state) {
		maps.DeleteFunc(s.Listeners, func(_ string, l *listener) bool { return l.Port == port })
		maps.DeleteFunc(s.Rules, func(_ string, ru *listenerRule) bool { return s.Listeners[ru.Listener] == nil })
	})
}

// Zones3 adds three subnets in three zones, each public, and returns their ids.
func (c *Cloud) Zones3() []string {
	var ids []string
	for n, zone := range []string{"a", "b", "c"} {
		id := fmt.Sprintf("subnet-%s", zone)
		c.AddSubnet(Subnet{
			ID: id, CIDR: fmt.Sprintf("10.0.%d.0/24", n+1), IPv6: fmt.Sprintf("2001:db8:0:%d::/64", n+1), Zone: c.options.Region + zone,
			Tags: map[string]string{"kubernetes.io/role/elb": "1"},
		})
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// SetBalancerAttribute sets an attribute of all load balancers, as an
// administrator may.
func (c *Cloud) SetBalancerAttribute(key, value string) {
	c.change(func(s *state) {
		for _, b := range s.Balancers {
			b.Attributes[key] = value
		}
	})
}
