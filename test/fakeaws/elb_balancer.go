package fakeaws

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

var validName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)

// createLoadBalancer makes one, or returns the one that is there already with
// the same settings.
func createLoadBalancer(r *request) (any, error) {
	f, s := r.form, r.state
	b := &loadBalancer{
		Name: f.get("Name"), Type: orElse(f.get("Type"), "application"), Scheme: orElse(f.get("Scheme"), "internet-facing"),
		AddressType: orElse(f.get("IpAddressType"), "ipv4"), Groups: f.list("SecurityGroups"), Created: r.now,
		Attributes: map[string]string{}, Tags: f.pairs("Tags"),
	}
	b.BornWithGroups = len(b.Groups) > 0
	switch {
	case !validName.MatchString(b.Name), strings.HasPrefix(b.Name, "internal-"):
		return nil, refuse("ValidationError", "The load balancer name '%s' is not valid", b.Name)
	case b.Type != "network" && b.Type != "application":
		return nil, refuse("ValidationError", "Type '%s'", b.Type)
	case b.Scheme != "internal" && b.Scheme != "internet-facing":
		return nil, refuse("InvalidScheme", "Scheme '%s' is not valid", b.Scheme)
	}
	if err := checkTags(b.Tags); err != nil {
		return nil, err
	}
	var err error
	if b.Mappings, err = mappings(r, b); err != nil {
		return nil, err
	}
	b.VPC = s.Subnets[b.Mappings[0].Subnet].VPC
	if err := checkGroups(r, b.Groups, b.VPC, b.Type); err != nil {
		return nil, err
	}
	for _, old := range s.Balancers {
		if old.Name != b.Name {
			continue
		}
		if old.Type != b.Type || old.Scheme != b.Scheme || !slices.Equal(old.Mappings, b.Mappings) || old.AddressType != b.AddressType ||
			!slices.Equal(old.Groups, b.Groups) || fmt.Sprint(old.Tags) != fmt.Sprint(b.Tags) {
			return nil, refuse("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", b.Name)
		}
		return balancers([]*loadBalancer{old}, r, ""), nil
	}
	if n := r.cloud.options.Limits.LoadBalancers; len(s.Balancers) >= n {
		return nil, refuse("TooManyLoadBalancers", "The maximum number of load balancers, %d, has been reached", max(n, 0))
	}
	hex := s.hex16()
	_, domain := r.cloud.partition()
	short, host := "net", fmt.Sprintf("%s-%s.elb.%s.%s", b.Name, hex, r.cloud.options.Region, domain)
	if b.Type == "application" {
		short, host = "app", fmt.Sprintf("%s-%d.%s.elb.%s", b.Name, 100000000+s.Number, r.cloud.options.Region, domain)
		if b.Scheme == "internal" {
			host = "internal-" + host
		}
	}
	b.DNSName = host
	b.ARN = r.cloud.arn("elasticloadbalancing", fmt.Sprintf("loadbalancer/%s/%s/%s", short, b.Name, hex))
	for _, m := range b.Mappings {
		if m.Allocation != "" {
			s.Addresses[m.Allocation].Association = b.ARN
		}
	}
	s.Balancers[b.ARN] = b
	return balancers([]*loadBalancer{b}, r, ""), nil
}

func orElse(v, fallback string) string {
	if v == "" {
		return fallback
	}
	return v
}

// mappings reads and checks the subnets of a request.
func mappings(r *request, b *loadBalancer) ([]mapping, error) {
	var list []mapping
	for _, id := range r.form.list("Subnets") {
		list = append(list, mapping{Subnet: id})
	}
	for _, e := range r.form.elements("SubnetMappings") {
		list = append(list, mapping{Subnet: e.get("SubnetId"), Allocation: e.get("AllocationId"), PrivateIP: e.get("PrivateIPv4Address"), IPv6: e.get("IPv6Address")})
	}
	least := map[string]int{"network": 1, "application": 2}[b.Type]
	if len(list) < least {
		return nil, refuse("ValidationError", "At least %d subnets in different Availability Zones must be specified", least)
	}
	zones := map[string]string{}
	for i, m := range list {
		sub := r.state.Subnets[m.Subnet]
		switch {
		case sub == nil:
			return nil, refuse("SubnetNotFound", "The subnet ID '%s' does not exist", m.Subnet)
		case r.state.Refused[sub.Zone] != "":
			return nil, refuse("AvailabilityZoneNotSupported", "%s", r.state.Refused[sub.Zone])
		case zones[sub.Zone] != "":
			return nil, refuse("InvalidConfigurationRequest", "A load balancer cannot be attached to multiple subnets in the same Availability Zone: %s, %s", zones[sub.Zone], sub.ID)
		case b.AddressType == "dualstack" && sub.IPv6 == "":
			return nil, refuse("InvalidSubnet", "You must specify subnets with an associated IPv6 CIDR block; %s has none", sub.ID)
		case b.Scheme == "internet-facing" && !r.state.public(sub):
			return nil, refuse("InvalidSubnet", "VPC %s has no internet gateway for subnet %s", sub.VPC, sub.ID)
		}
		zones[sub.Zone] = sub.ID
		list[i].Zone = sub.Zone
		if err := checkMapping(r, b, m, sub); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(x, y mapping) int { return strings.Compare(x.Subnet, y.Subnet) })
	return list, nil
}

func checkMapping(r *request, b *loadBalancer, m mapping, sub *subnet) error {
	if m.Allocation != "" {
		eip := r.state.Addresses[m.Allocation]
		switch {
		case b.Type != "network" || b.Scheme != "internet-facing":
			return refuse("InvalidConfigurationRequest", "Elastic IP addresses need an internet-facing network load balancer")
		case eip == nil:
			return refuse("AllocationIdNotFound", "The allocation ID '%s' does not exist", m.Allocation)
		case eip.Association != "" && eip.Association != b.ARN && !r.sameName(eip.Association, b.Name):
			return refuse("ResourceInUse", "The allocation ID '%s' is in use", m.Allocation)
		}
	}
	if m.PrivateIP != "" {
		ip, err := netip.ParseAddr(m.PrivateIP)
		if err != nil || !netip.MustParsePrefix(sub.CIDR).Contains(ip) {
			return refuse("ValidationError", "%s is not in subnet %s (%s)", m.PrivateIP, sub.ID, sub.CIDR)
		}
	}
	return nil
}

func (r *request) sameName(arn, name string) bool {
	b := r.state.Balancers[arn]
	return b != nil && b.Name == name
}

func checkGroups(r *request, ids []string, vpc, balancer string) error {
	if n := r.cloud.options.Limits.SecurityGroupsPerInterface; len(ids) > n {
		return refuse("InvalidConfigurationRequest", "at most %d security groups", n)
	}
	if balancer == "application" && len(ids) == 0 {
		return refuse("InvalidConfigurationRequest", "an application load balancer needs a security group")
	}
	for _, id := range ids {
		if g := r.state.Groups[id]; g == nil || g.VPC != vpc {
			return refuse("InvalidSecurityGroup", "The security group '%s' does not exist in %s", id, vpc)
		}
	}
	return nil
}

type balancerList struct {
	LoadBalancers []balancerXML `xml:"LoadBalancers>member"`
	NextMarker    string        `xml:",omitempty"`
}

type balancerXML struct {
	LoadBalancerArn, LoadBalancerName, DNSName, CanonicalHostedZoneId string
	CreatedTime                                                       string
	Scheme, VpcId, Type, IpAddressType                                string
	State                                                             struct {
		Code   string
		Reason string `xml:",omitempty"`
	}
	SecurityGroups    []string  `xml:"SecurityGroups>member"`
	AvailabilityZones []zoneXML `xml:"AvailabilityZones>member"`
}

type zoneXML struct {
	ZoneName, SubnetId    string
	LoadBalancerAddresses []addressXML `xml:"LoadBalancerAddresses>member"`
}

type addressXML struct {
	AllocationId       string `xml:",omitempty"`
	IpAddress          string `xml:",omitempty"`
	PrivateIPv4Address string `xml:",omitempty"`
}

// HostedZone is the zone id of the names of all network load balancers here.
const HostedZone = "Z3F0SRJ5LGBH90"

// hostedZoneALB is that of application load balancers.
const hostedZoneALB = "Z215JYRZR1TBD5"

func balancers(list []*loadBalancer, r *request, next string) balancerList {
	out := balancerList{NextMarker: next}
	for _, b := range list {
		x := balancerXML{
			LoadBalancerArn: b.ARN, LoadBalancerName: b.Name, DNSName: b.DNSName, CanonicalHostedZoneId: HostedZone,
			CreatedTime: b.Created.UTC().Format(time.RFC3339), Scheme: b.Scheme, VpcId: b.VPC, Type: b.Type,
			IpAddressType: b.AddressType, SecurityGroups: b.Groups,
		}
		if b.Type == "application" {
			x.CanonicalHostedZoneId = hostedZoneALB
		}
		x.State.Code = "active"
		switch {
		case b.Failed != "":
			x.State.Code, x.State.Reason = "failed", b.Failed
		case b.Impaired != "":
			x.State.Code, x.State.Reason = "active_impaired", b.Impaired
		case r.now.Before(b.Created.Add(r.cloud.options.Delays.Activate)):
			x.State.Code = "provisioning"
		}
		for _, m := range b.Mappings {
			z := zoneXML{ZoneName: m.Zone, SubnetId: m.Subnet}
			if eip := r.state.Addresses[m.Allocation]; eip != nil {
				z.LoadBalancerAddresses = append(z.LoadBalancerAddresses, addressXML{AllocationId: m.Allocation, IpAddress: eip.IP})
			} else if m.PrivateIP != "" {
				z.LoadBalancerAddresses = append(z.LoadBalancerAddresses, addressXML{PrivateIPv4Address: m.PrivateIP})
			}
			x.AvailabilityZones = append(x.AvailabilityZones, z)
		}
		out.LoadBalancers = append(out.LoadBalancers, x)
	}
	return out
}

func describeLoadBalancers(r *request) (any, error) {
	arns, names := r.form.list("LoadBalancerArns"), r.form.list("Names")
	if len(arns) > maxTagArns || len(names) > maxTagArns {
		return nil, refuse("ValidationError", "at most %d load balancers", maxTagArns)
	}
	all := sortedValues(r.state.Balancers)
	if len(arns)+len(names) == 0 {
		part, next := page(r, all)
		return balancers(part, r, next), nil
	}
	found := slices.DeleteFunc(all, func(b *loadBalancer) bool {
		return !slices.Contains(arns, b.ARN) && !slices.Contains(names, b.Name)
	})
	if len(found) < len(arns)+len(names) {
		return nil, refuse("LoadBalancerNotFound", "One or more load balancers not found: %v", append(arns, names...))
	}
	return balancers(found, r, ""), nil
}

func (r *request) balancer() (*loadBalancer, error) {
	b := r.state.Balancers[r.form.get("LoadBalancerArn")]
	if b == nil {
		return nil, refuse("LoadBalancerNotFound", "Load balancer '%s' not found", r.form.get("LoadBalancerArn"))
	}
	return b, nil
}

// deleteLoadBalancer succeeds for one that is not there.
func deleteLoadBalancer(r *request) (any, error) {
	s := r.state
	b := s.Balancers[r.form.get("LoadBalancerArn")]
	if b == nil {
		return nil, nil
	}
	if b.Attributes["deletion_protection.enabled"] == "true" {
		return nil, refuse("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", b.ARN)
	}
	for _, l := range s.listenersOf(b.ARN) {
		r.removeListener(l)
	}
	for _, id := range b.Groups {
		s.Interfaces[id] = r.now.Add(r.cloud.options.Delays.Interfaces)
	}
	for _, m := range b.Mappings {
		if eip := s.Addresses[m.Allocation]; eip != nil {
			eip.Association = ""
		}
	}
	delete(s.Balancers, b.ARN)
	return nil, nil
}

// release keeps target groups in use for a little longer.
func (r *request) release(groups []string) {
	for _, arn := range groups {
		r.state.Releases[arn] = r.now.Add(r.cloud.options.Delays.Release)
	}
}

func setSubnets(r *request) (any, error) {
	b, err := r.balancer()
	if err != nil {
		return nil, err
	}
	list, err := mappings(r, b)
	if err != nil {
		return nil, err
	}
	for _, old := range b.Mappings {
		for _, m := range list {
			if m.Subnet == old.Subnet && m.Allocation != old.Allocation {
				return nil, refuse("InvalidConfigurationRequest", "The addresses of subnet %s cannot be changed", m.Subnet)
			}
		}
	}
	for _, m := range b.Mappings {
		if eip := r.state.Addresses[m.Allocation]; eip != nil {
			eip.Association = ""
		}
	}
	b.Mappings = list
	for _, m := range list {
		if eip := r.state.Addresses[m.Allocation]; eip != nil {
			eip.Association = b.ARN
		}
	}
	return nil, nil
}

func setSecurityGroups(r *request) (any, error) {
	b, err := r.balancer()
	if err != nil {
		return nil, err
	}
	ids := r.form.list("SecurityGroups")
	if !b.BornWithGroups || len(ids) == 0 {
		return nil, refuse("InvalidConfigurationRequest", "Security groups cannot be added to or removed from a load balancer that was created without or with them")
	}
	if err := checkGroups(r, ids, b.VPC, b.Type); err != nil {
		return nil, err
	}
	b.Groups = ids
	return nil, nil
}

func setAddressType(r *request) (any, error) {
	b, err := r.balancer()
	if err != nil {
		return nil, err
	}
	wanted := r.form.get("IpAddressType")
	for _, m := range b.Mappings {
		if sub := r.state.Subnets[m.Subnet]; wanted == "dualstack" && sub.IPv6 == "" {
			return nil, refuse("InvalidSubnet", "subnet %s has no IPv6 CIDR block", sub.ID)
		}
	}
	for _, l := range r.state.listenersOf(b.ARN) {
		if g := r.state.TargetGroups[l.Action.TargetGroup]; wanted != "dualstack" && g != nil && g.AddressType == "ipv6" {
			return nil, refuse("InvalidConfigurationRequest", "The target group '%s' has targets by IPv6", g.ARN)
		}
	}
	b.AddressType = wanted
	return nil, nil
}
