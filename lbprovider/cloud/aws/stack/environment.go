package stack

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Environment is what exists in the account beside the resources of Services.
type Environment struct {
	VPC     string
	Ranges  []netip.Prefix // of the VPC
	Subnets []Subnet       // of the VPC
	// Machines are the nodes' machines by instance id.
	Machines map[string]Machine
	// NodeGroups are the tags of the machines' security groups, by id.
	NodeGroups map[string]map[string]string
	// NamedGroups are the security groups that users name and that exist, by id:
	// their VPC.
	NamedGroups map[string]string
	// Certificates are those that ACM has issued, by ARN: their names.
	Certificates map[string][]string
}

// Subnet is a subnet of the VPC.
type Subnet struct {
	ID, Zone string
	// ZoneType is "availability-zone", "local-zone" or "wavelength-zone".
	ZoneType string
	Free     int32
	// CIDR is the range of its IPv4 addresses.
	CIDR netip.Prefix
	IPv6 bool
	// Public means that its route table leads to an internet gateway.
	Public bool
	Tags   map[string]string
}

// Machine is an instance of EC2.
type Machine struct {
	Running bool
	// Groups are the security groups of its first network card.
	Groups []string
}

// Tags of subnets that say what load balancers may use them.
const (
	tagPublicSubnet  = "kubernetes.io/role/elb"
	tagPrivateSubnet = "kubernetes.io/role/internal-elb"
)

// minFree is how many free addresses a load balancer needs in a subnet.
const minFree = 8

// subnetWish is what a load balancer needs of its subnets.
type subnetWish struct {
	cluster   string
	scheme    hook.Scheme
	dualStack bool
	least     int
	names     []string // ids or names, in order; none means: find some
}

// chooseSubnets returns the subnets for a load balancer: those that are named,
// or one in each zone.
func chooseSubnets(e Environment, w subnetWish) ([]Subnet, error) {
	if len(w.names) > 0 {
		return namedSubnets(e, w)
	}
	role := tagPublicSubnet
	if w.scheme == hook.SchemeInternal {
		role = tagPrivateSubnet
	}
	var dropped []string
	keep := func(list []Subnet, why func(Subnet) string) []Subnet {
		return slices.DeleteFunc(slices.Clone(list), func(s Subnet) bool {
			reason := why(s)
			if reason != "" {
				dropped = append(dropped, s.ID+" "+reason)
			}
			return reason != ""
		})
	}
	candidates := slices.DeleteFunc(slices.Clone(e.Subnets), func(s Subnet) bool {
		v, ok := s.Tags[role]
		return !ok || v != "" && v != "1"
	})
	if len(candidates) == 0 {
		// None is tagged: whether a subnet reaches the internet decides.
		candidates = keep(e.Subnets, func(s Subnet) string { return unreachable(s, w) })
	}
	candidates = keep(candidates, func(s Subnet) string { return unfit(s, w) })
	slices.SortFunc(candidates, func(a, b Subnet) int {
		return cmp.Or(-cmp.Compare(a.Tags[TagCluster+w.cluster], b.Tags[TagCluster+w.cluster]), cmp.Compare(a.ID, b.ID))
	})
	zones := map[string]string{}
	chosen := keep(candidates, func(s Subnet) string {
		if first := zones[s.Zone]; first != "" {
			return "is in the zone " + s.Zone + " as " + first + " is"
		}
		zones[s.Zone] = s.ID
		return ""
	})
	if len(chosen) < w.least {
		text := ""
		if len(dropped) > 0 {
			text = "; not usable: " + strings.Join(dropped, ", ")
		}
		return nil, fmt.Errorf("found %d of at least %d subnets in VPC %s: tag one in each zone with %s=1, or name them with %s%s",
			len(chosen), w.least, e.VPC, role, balancerPrefix+"subnets", text)
	}
	slices.SortFunc(chosen, func(a, b Subnet) int { return cmp.Compare(a.ID, b.ID) })
	return chosen, nil
}

// unreachable returns why a subnet without tags is not for this scheme, or "".
func unreachable(s Subnet, w subnetWish) string {
	switch public := w.scheme == hook.SchemeInternetFacing; {
	case public && !s.Public:
		return "has no route to an internet gateway"
	case !public && s.Public:
		return "has a route to an internet gateway"
	}
	return ""
}

// unfit returns why a subnet that was found cannot be used, or "".
func unfit(s Subnet, w subnetWish) string {
	_, own := s.Tags[TagCluster+w.cluster]
	other := false
	for key := range s.Tags {
		other = other || strings.HasPrefix(key, TagCluster) && key != TagCluster+w.cluster
	}
	switch {
	case other && !own:
		return "is tagged for another cluster"
	case s.Free < minFree:
		return fmt.Sprintf("has %d free addresses of at least %d", s.Free, minFree)
	case w.dualStack && !s.IPv6:
		return "has no IPv6 CIDR"
	case s.ZoneType != "" && s.ZoneType != "availability-zone":
		return "is in a " + s.ZoneType
	}
	return ""
}

func namedSubnets(e Environment, w subnetWish) ([]Subnet, error) {
	var chosen []Subnet
	for _, name := range w.names {
		i := slices.IndexFunc(e.Subnets, func(s Subnet) bool { return s.ID == name || s.Tags["Name"] == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is no subnet of VPC %s, neither by id nor by the tag Name", name, e.VPC)
		}
		s := e.Subnets[i]
		if j := slices.IndexFunc(chosen, func(c Subnet) bool { return c.Zone == s.Zone }); j >= 0 {
			return nil, fmt.Errorf("%s and %s are in the same zone %s; a load balancer has one subnet in a zone", chosen[j].ID, s.ID, s.Zone)
		}
		if len(chosen) > 0 && chosen[0].ZoneType != s.ZoneType {
			return nil, fmt.Errorf("%s is in a %s and %s in a %s; a load balancer has one kind of zones", chosen[0].ID, chosen[0].ZoneType, s.ID, s.ZoneType)
		}
		if w.dualStack && !s.IPv6 {
			return nil, fmt.Errorf("%s has no IPv6 CIDR, which dualstack needs", s.ID)
		}
		chosen = append(chosen, s)
	}
	if len(chosen) < w.least {
		return nil, fmt.Errorf("names %d subnets; at least %d are needed, in different zones", len(chosen), w.least)
	}
	return chosen, nil
}

// nodeGroups returns the security group of each machine that the load balancer
// must be let into: its only one, or the one that is tagged for the cluster.
func nodeGroups(e Environment, cluster string, machines []string) ([]string, []hook.Problem) {
	found := map[string]bool{}
	var problems []hook.Problem
	for _, id := range machines {
		m, ok := e.Machines[id]
		if !ok || len(m.Groups) == 0 {
			continue
		}
		groups := m.Groups
		if len(groups) > 1 {
			groups = slices.DeleteFunc(slices.Clone(groups), func(g string) bool {
				_, tagged := e.NodeGroups[g][TagCluster+cluster]
				return !tagged
			})
		}
		if len(groups) != 1 {
			problems = append(problems, hook.Problem{
				Reason: "InvalidConfiguration",
				Message: fmt.Sprintf("%s has the security groups %s, of which exactly one must have the tag %s: the load balancer may not reach it",
					id, strings.Join(m.Groups, ", "), TagCluster+cluster),
			})
			continue
		}
		found[groups[0]] = true
	}
	return slices.Sorted(maps.Keys(found)), problems
}

// inside reports whether an address is in the VPC.
func (e Environment) inside(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(e.Ranges, func(p netip.Prefix) bool { return p.Contains(a) })
}

// InstanceID returns the id in a node's providerID: "aws:///zone/i-…",
// "aws://account/zone/i-…" or "i-…".
func InstanceID(providerID string) (string, bool) {
	id := providerID
	if rest, ok := strings.CutPrefix(providerID, "aws://"); ok {
		id = rest[strings.LastIndexByte(rest, '/')+1:]
	}
	return id, strings.HasPrefix(id, "i-") && len(id) > 2
}
