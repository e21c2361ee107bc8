package fakeaws

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ec2Operations are those of EC2 that load balancers need.
func ec2Operations() map[string]operation {
	return map[string]operation{
		"DescribeSubnets":               describeSubnets,
		"DescribeVpcs":                  describeVpcs,
		"DescribeRouteTables":           describeRouteTables,
		"DescribeAvailabilityZones":     describeZones,
		"DescribeInstances":             describeInstances,
		"DescribeAddresses":             describeAddresses,
		"DescribeNetworkInterfaces":     describeInterfaces,
		"DescribeInternetGateways":      describeGateways,
		"DescribeSecurityGroups":        describeSecurityGroups,
		"CreateSecurityGroup":           createSecurityGroup,
		"DeleteSecurityGroup":           deleteSecurityGroup,
		"AuthorizeSecurityGroupIngress": authorizeIngress,
		"RevokeSecurityGroupIngress":    revokeIngress,
		"CreateTags":                    ec2CreateTags,
		"DeleteTags":                    ec2DeleteTags,
	}
}

type tagXML struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func tagItems(t tags) []tagXML {
	var list []tagXML
	for _, p := range sortedPairs(t) {
		list = append(list, tagXML(p))
	}
	return list
}

// passes reports whether a resource meets all filters of a request. Fields are
// the resource's values by filter name.
func passes(f form, t tags, fields map[string][]string) (bool, error) {
	for _, filter := range f.elements("Filter") {
		name, wanted := filter.get("Name"), filter.list("Value")
		var have []string
		switch key, isTag := strings.CutPrefix(name, "tag:"); {
		case isTag:
			if v, ok := t[key]; ok {
				have = []string{v}
			}
		case name == "tag-key":
			have = slices.Collect(maps.Keys(t))
		default:
			var known bool
			if have, known = fields[name]; !known {
				return false, refuse("InvalidParameterValue", "The filter '%s' is invalid", name)
			}
		}
		if !slices.ContainsFunc(have, func(v string) bool { return matchesAny(wanted, v) }) {
			return false, nil
		}
	}
	return true, nil
}

func matchesAny(patterns []string, v string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		matched, err := path.Match(p, v)
		return p == v || err == nil && matched
	})
}

// selected returns the resources that a request asks for by id and filter.
func selected[T any](r *request, all map[string]T, ids []string, missing string, describe func(T) (tags, map[string][]string)) ([]T, error) {
	for _, id := range ids {
		if _, ok := all[id]; !ok {
			return nil, refuse(missing, "The ID '%s' does not exist", id)
		}
	}
	var found []T
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			continue
		}
		t, fields := describe(all[id])
		ok, err := passes(r.form, t, fields)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, all[id])
		}
	}
	return found, nil
}

type subnetXML struct {
	SubnetID  string   `xml:"subnetId"`
	VPC       string   `xml:"vpcId"`
	CIDR      string   `xml:"cidrBlock"`
	Free      int      `xml:"availableIpAddressCount"`
	Zone      string   `xml:"availabilityZone"`
	ZoneID    string   `xml:"availabilityZoneId"`
	State     string   `xml:"state"`
	Tags      []tagXML `xml:"tagSet>item"`
	IPv6Block []v6XML  `xml:"ipv6CidrBlockAssociationSet>item"`
}

type v6XML struct {
	CIDR  string `xml:"ipv6CidrBlock"`
	State struct {
		State string `xml:"state"`
	} `xml:"ipv6CidrBlockState"`
}

func describeSubnets(r *request) (any, error) {
	found, err := selected(r, r.state.Subnets, r.form.list("SubnetId"), "InvalidSubnetID.NotFound", func(s *subnet) (tags, map[string][]string) {
		return s.Tags, map[string][]string{"vpc-id": {s.VPC}, "subnet-id": {s.ID}, "availability-zone": {s.Zone}}
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Set []subnetXML `xml:"subnetSet>item"`
	}
	for _, s := range found {
		x := subnetXML{SubnetID: s.ID, VPC: s.VPC, CIDR: s.CIDR, Free: s.Free, Zone: s.Zone, ZoneID: "id-" + s.Zone, State: "available", Tags: tagItems(s.Tags)}
		if s.IPv6 != "" {
			v6 := v6XML{CIDR: s.IPv6}
			v6.State.State = "associated"
			x.IPv6Block = []v6XML{v6}
		}
		out.Set = append(out.Set, x)
	}
	return out, nil
}

func describeVpcs(r *request) (any, error) {
	type association struct {
		CIDR string `xml:"cidrBlock"`
	}
	type vpcXML struct {
		ID     string        `xml:"vpcId"`
		CIDR   string        `xml:"cidrBlock"`
		Blocks []association `xml:"cidrBlockAssociationSet>item"`
		V6     []v6XML       `xml:"ipv6CidrBlockAssociationSet>item"`
		Tags   []tagXML      `xml:"tagSet>item"`
	}
	found, err := selected(r, r.state.VPCs, r.form.list("VpcId"), "InvalidVpcID.NotFound", func(v *vpc) (tags, map[string][]string) {
		return v.Tags, map[string][]string{"vpc-id": {v.ID}}
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Set []vpcXML `xml:"vpcSet>item"`
	}
	for _, v := range found {
		x := vpcXML{ID: v.ID, CIDR: v.CIDR, Blocks: []association{{v.CIDR}}, Tags: tagItems(v.Tags)}
		if v.IPv6 != "" {
			x.V6 = []v6XML{{CIDR: v.IPv6}}
		}
		out.Set = append(out.Set, x)
	}
	return out, nil
}

// tableOf returns the route table of a subnet: its own, else the VPC's main one.
func (s *state) tableOf(sub *subnet) *routeTable {
	var main *routeTable
	for _, t := range sortedValues(s.RouteTables) {
		switch {
		case slices.Contains(t.Subnets, sub.ID):
			return t
		case t.Main && t.VPC == sub.VPC:
			main = t
		}
	}
	return main
}

func (s *state) public(sub *subnet) bool {
	t := s.tableOf(sub)
	return t != nil && strings.HasPrefix(t.Gateway, "igw-")
}

func describeRouteTables(r *request) (any, error) {
	type route struct {
		Destination string `xml:"destinationCidrBlock"`
		Gateway     string `xml:"gatewayId,omitempty"`
	}
	type association struct {
		Main   bool   `xml:"main"`
		Subnet string `xml:"subnetId,omitempty"`
	}
	type tableXML struct {
		ID           string        `xml:"routeTableId"`
		VPC          string        `xml:"vpcId"`
		Routes       []route       `xml:"routeSet>item"`
		Associations []association `xml:"associationSet>item"`
	}
	found, err := selected(r, r.state.RouteTables, r.form.list("RouteTableId"), "InvalidRouteTableID.NotFound", func(t *routeTable) (tags, map[string][]string) {
		return nil, map[string][]string{"vpc-id": {t.VPC}}
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Set []tableXML `xml:"routeTableSet>item"`
	}
	for _, t := range found {
		x := tableXML{ID: t.ID, VPC: t.VPC, Routes: []route{{"10.0.0.0/16", "local"}}}
		if t.Gateway != "" {
			x.Routes = append(x.Routes, route{"0.0.0.0/0", t.Gateway})
		}
		if t.Main {
			x.Associations = append(x.Associations, association{Main: true})
		}
		for _, id := range t.Subnets {
			x.Associations = append(x.Associations, association{Subnet: id})
		}
		out.Set = append(out.Set, x)
	}
	return out, nil
}

func describeZones(r *request) (any, error) {
	type zoneItem struct {
		Name string `xml:"zoneName"`
		ID   string `xml:"zoneId"`
		Type string `xml:"zoneType"`
	}
	var out struct {
		Set []zoneItem `xml:"availabilityZoneInfo>item"`
	}
	seen := map[string]bool{}
	for _, s := range sortedValues(r.state.Subnets) {
		if !seen[s.Zone] {
			seen[s.Zone] = true
			out.Set = append(out.Set, zoneItem{s.Zone, "id-" + s.Zone, zoneType(s.Zone)})
		}
	}
	return out, nil
}

// within is where the name of a region, with its number, goes on.
var within = regexp.MustCompile(`-[0-9]+-`)

// zoneType tells local and wavelength zones by their longer names, such as
// "us-west-2-lax-1a".
func zoneType(name string) string {
	switch {
	case strings.Contains(name, "-wlz-") || strings.Contains(name, "-wl"):
		return "wavelength-zone"
	case within.MatchString(name):
		return "local-zone"
	}
	return "availability-zone"
}

func describeAddresses(r *request) (any, error) {
	type addressItem struct {
		Allocation string `xml:"allocationId"`
		IP         string `xml:"publicIp"`
	}
	found, err := selected(r, r.state.Addresses, r.form.list("AllocationId"), "InvalidAllocationID.NotFound", func(a *address) (tags, map[string][]string) {
		return nil, map[string][]string{"allocation-id": {a.ID}}
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Set []addressItem `xml:"addressesSet>item"`
	}
	for _, a := range found {
		out.Set = append(out.Set, addressItem{a.ID, a.IP})
	}
	return out, nil
}
