package fakeaws

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

type permissionXML struct {
	Protocol string      `xml:"ipProtocol"`
	From     int         `xml:"fromPort"`
	To       int         `xml:"toPort"`
	Ranges   []rangeXML  `xml:"ipRanges>item"`
	V6Ranges []range6XML `xml:"ipv6Ranges>item"`
	Groups   []pairXML   `xml:"groups>item"`
	Prefixes []prefixXML `xml:"prefixListIds>item"`
}

type rangeXML struct {
	CIDR        string `xml:"cidrIp"`
	Description string `xml:"description,omitempty"`
}

type range6XML struct {
	CIDR        string `xml:"cidrIpv6"`
	Description string `xml:"description,omitempty"`
}

type pairXML struct {
	ID          string `xml:"groupId"`
	Description string `xml:"description,omitempty"`
}

type prefixXML struct {
	ID          string `xml:"prefixListId"`
	Description string `xml:"description,omitempty"`
}

type securityGroupXML struct {
	ID          string          `xml:"groupId"`
	Name        string          `xml:"groupName"`
	VPC         string          `xml:"vpcId"`
	Description string          `xml:"groupDescription"`
	Tags        []tagXML        `xml:"tagSet>item"`
	Permissions []permissionXML `xml:"ipPermissions>item"`
}

func describeSecurityGroups(r *request) (any, error) {
	found, err := selected(r, r.state.Groups, r.form.list("GroupId"), "InvalidGroup.NotFound", func(g *securityGroup) (tags, map[string][]string) {
		var sources []string
		for _, ru := range g.Rules {
			sources = append(sources, ru.Group)
		}
		return g.Tags, map[string][]string{"vpc-id": {g.VPC}, "group-name": {g.Name}, "group-id": {g.ID}, "ip-permission.group-id": sources}
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Set []securityGroupXML `xml:"securityGroupInfo>item"`
	}
	for _, g := range found {
		x := securityGroupXML{ID: g.ID, Name: g.Name, VPC: g.VPC, Description: g.Description, Tags: tagItems(g.Tags)}
		for _, ru := range g.Rules {
			x.Permissions = withPermission(x.Permissions, permission(ru))
		}
		out.Set = append(out.Set, x)
	}
	return out, nil
}

// withPermission adds a permission as AWS shows them: all sources of the same
// ports in one.
func withPermission(list []permissionXML, p permissionXML) []permissionXML {
	for i := range list {
		if o := &list[i]; o.Protocol == p.Protocol && o.From == p.From && o.To == p.To {
			o.Ranges, o.V6Ranges = append(o.Ranges, p.Ranges...), append(o.V6Ranges, p.V6Ranges...)
			o.Groups, o.Prefixes = append(o.Groups, p.Groups...), append(o.Prefixes, p.Prefixes...)
			return list
		}
	}
	return append(list, p)
}

func permission(ru rule) permissionXML {
	p := permissionXML{Protocol: ru.Protocol, From: ru.From, To: ru.To}
	switch {
	case ru.CIDR != "":
		p.Ranges = []rangeXML{{ru.CIDR, ru.Description}}
	case ru.IPv6 != "":
		p.V6Ranges = []range6XML{{ru.IPv6, ru.Description}}
	case ru.Group != "":
		p.Groups = []pairXML{{ru.Group, ru.Description}}
	case ru.PrefixList != "":
		p.Prefixes = []prefixXML{{ru.PrefixList, ru.Description}}
	}
	return p
}

func createSecurityGroup(r *request) (any, error) {
	f := r.form
	g := &securityGroup{Name: f.get("GroupName"), VPC: f.get("VpcId"), Description: f.get("GroupDescription"), Tags: tags{}}
	for _, spec := range f.elements("TagSpecification") {
		if spec.get("ResourceType") == "security-group" {
			maps.Copy(g.Tags, tagsOf(spec))
		}
	}
	switch {
	case g.Name == "" || len(g.Name) > 255 || strings.HasPrefix(g.Name, "sg-"):
		return nil, refuse("InvalidParameterValue", "Value (%s) for parameter groupName is invalid", g.Name)
	case g.Description == "" || len(g.Description) > 255:
		return nil, refuse("InvalidParameterValue", "Value (%s) for parameter groupDescription is invalid", g.Description)
	case r.state.VPCs[g.VPC] == nil:
		return nil, refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", g.VPC)
	case len(r.state.Groups) >= r.cloud.options.Limits.SecurityGroups:
		return nil, refuse("SecurityGroupLimitExceeded", "The maximum number of security groups for VPC '%s' has been reached.", g.VPC)
	}
	for _, old := range r.state.Groups {
		if old.Name == g.Name && old.VPC == g.VPC {
			return nil, refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", g.Name, g.VPC)
		}
	}
	g.ID = r.state.id("sg-")
	r.state.Groups[g.ID] = g
	return struct {
		ID string `xml:"groupId"`
	}{g.ID}, nil
}

func tagsOf(f form) map[string]string { return f.pairs("Tag") }

func (r *request) securityGroup() (*securityGroup, error) {
	g := r.state.Groups[r.form.get("GroupId")]
	if g == nil {
		return nil, refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", r.form.get("GroupId"))
	}
	return g, nil
}

type done struct {
	Return bool `xml:"return"`
}

func deleteSecurityGroup(r *request) (any, error) {
	g, err := r.securityGroup()
	if err != nil {
		return nil, err
	}
	used := r.now.Before(r.state.Interfaces[g.ID])
	for _, b := range r.state.Balancers {
		used = used || slices.Contains(b.Groups, g.ID)
	}
	for _, i := range r.state.Instances {
		used = used || slices.Contains(i.Groups, g.ID)
	}
	for _, other := range r.state.Groups {
		used = used || other.ID != g.ID && slices.ContainsFunc(other.Rules, func(ru rule) bool { return ru.Group == g.ID })
	}
	if used {
		return nil, refuse("DependencyViolation", "resource %s has a dependent object", g.ID)
	}
	delete(r.state.Groups, g.ID)
	return done{true}, nil
}

// rules reads the rules of a request, one for each source.
func rules(r *request) ([]rule, error) {
	var list []rule
	for _, p := range r.form.elements("IpPermissions") {
		base := rule{Protocol: p.get("IpProtocol"), From: p.number("FromPort"), To: p.number("ToPort")}
		if !slices.Contains([]string{"tcp", "udp", "icmp", "icmpv6", "-1"}, base.Protocol) {
			return nil, refuse("InvalidParameterValue", "Invalid value '%s' for IP protocol", base.Protocol)
		}
		for key, field := range map[string]string{"IpRanges": "CidrIp", "Ipv6Ranges": "CidrIpv6", "Groups": "GroupId", "PrefixListIds": "PrefixListId"} {
			for _, e := range p.elements(key) {
				ru := base
				ru.Description = e.get("Description")
				if err := r.source(&ru, key, e.get(field)); err != nil {
					return nil, err
				}
				list = append(list, ru)
			}
		}
	}
	if len(list) == 0 {
		return nil, refuse("InvalidParameterCombination", "no rule has a source")
	}
	return list, nil
}

// source puts a source into a rule, if it is a true one.
func (r *request) source(ru *rule, key, value string) error {
	prefix, err := netip.ParsePrefix(value)
	switch key {
	case "IpRanges":
		ru.CIDR = value
		if err != nil || !prefix.Addr().Is4() || prefix.Masked() != prefix {
			return refuse("InvalidParameterValue", "CIDR block %s is malformed", value)
		}
	case "Ipv6Ranges":
		ru.IPv6 = value
		if err != nil || !prefix.Addr().Is6() {
			return refuse("InvalidParameterValue", "CIDR block %s is malformed", value)
		}
	case "Groups":
		ru.Group = value
		if r.state.Groups[value] == nil {
			return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", value)
		}
	default:
		ru.PrefixList = value
	}
	return nil
}

func same(a, b rule) bool {
	a.Description, b.Description = "", ""
	return a == b
}

func authorizeIngress(r *request) (any, error) {
	g, err := r.securityGroup()
	if err != nil {
		return nil, err
	}
	list, err := rules(r)
	if err != nil {
		return nil, err
	}
	for i, ru := range list {
		if slices.ContainsFunc(list[:i], func(o rule) bool { return same(o, ru) }) {
			return nil, refuse("InvalidParameterValue", "The same permission must not appear multiple times")
		}
		if slices.ContainsFunc(g.Rules, func(o rule) bool { return same(o, ru) }) {
			return nil, refuse("InvalidPermission.Duplicate", "the specified rule already exists in %s", g.ID)
		}
	}
	if n := r.cloud.options.Limits.RulesPerSecurityGroup; len(g.Rules)+len(list) > n {
		return nil, refuse("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group, %d, has been reached.", n)
	}
	g.Rules = append(slices.Clone(g.Rules), list...)
	return done{true}, nil
}

func revokeIngress(r *request) (any, error) {
	g, err := r.securityGroup()
	if err != nil {
		return nil, err
	}
	list, err := rules(r)
	if err != nil {
		return nil, err
	}
	left := slices.Clone(g.Rules)
	for _, ru := range list {
		i := slices.IndexFunc(left, func(o rule) bool { return same(o, ru) })
		if i < 0 {
			return nil, refuse("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
		left = slices.Delete(left, i, i+1)
	}
	g.Rules = left
	return done{true}, nil
}

func (s *state) ec2Tags(id string) tags {
	switch {
	case s.Groups[id] != nil:
		return s.Groups[id].Tags
	case s.Subnets[id] != nil:
		return s.Subnets[id].Tags
	}
	return nil
}

func ec2CreateTags(r *request) (any, error) {
	for _, id := range r.form.list("ResourceId") {
		t := r.state.ec2Tags(id)
		if t == nil {
			return nil, refuse("InvalidID", "The ID '%s' is not valid", id)
		}
		maps.Copy(t, tagsOf(r.form))
	}
	return done{true}, nil
}

func ec2DeleteTags(r *request) (any, error) {
	for _, id := range r.form.list("ResourceId") {
		t := r.state.ec2Tags(id)
		for _, e := range r.form.elements("Tag") {
			delete(t, e.get("Key"))
		}
	}
	return done{true}, nil
}
