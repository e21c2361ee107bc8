package fakeaws

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"strconv"
	"strings"
)

// networkInterface is an interface of a machine or a load balancer. None is
// kept: they follow from what has them.
type networkInterface struct {
	ID, Description, Kind, Requester, Instance string
	VPC, Subnet, Zone, IP                      string
	Groups                                     []string
	Allocation, PublicIP                       string
}

// interfaceID is the same for the same owner.
func interfaceID(owner string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(owner)) // cannot fail
	return fmt.Sprintf("eni-%017x", h.Sum64()>>4)
}

// interfaces returns all interfaces by id, also those that deleted load
// balancers leave behind for a while.
func (r *request) interfaces() map[string]*networkInterface {
	all := map[string]*networkInterface{}
	add := func(owner string, n *networkInterface) {
		n.ID = interfaceID(owner)
		if sub := r.state.Subnets[n.Subnet]; sub != nil {
			n.VPC, n.Zone = sub.VPC, sub.Zone
		}
		all[n.ID] = n
	}
	for _, i := range r.state.Instances {
		if i.State != "terminated" {
			add(i.ID, &networkInterface{Kind: "interface", Instance: i.ID, Subnet: i.Subnet, IP: i.IP, Groups: i.Groups})
		}
	}
	for _, b := range r.state.Balancers {
		for _, m := range b.Mappings {
			add(b.ARN+" "+m.Subnet, r.state.interfaceOf(b, m))
		}
	}
	for group, until := range r.state.Interfaces {
		if g := r.state.Groups[group]; g != nil && r.now.Before(until) {
			add("left by "+group, &networkInterface{Description: "ELB of a deleted load balancer", Kind: "interface", Requester: "amazon-elb", VPC: g.VPC, Groups: []string{group}})
		}
	}
	return all
}

// interfaceOf returns what a load balancer has in a subnet.
func (s *state) interfaceOf(b *loadBalancer, m mapping) *networkInterface {
	_, path, _ := strings.Cut(b.ARN, ":loadbalancer/")
	n := &networkInterface{Description: "ELB " + path, Kind: "interface", Requester: "amazon-elb", Subnet: m.Subnet, IP: m.PrivateIP, Groups: b.Groups}
	if b.Type == "network" {
		n.Kind = "network_load_balancer"
	}
	if eip := s.Addresses[m.Allocation]; eip != nil {
		n.Allocation, n.PublicIP = eip.ID, eip.IP
	}
	if n.IP == "" {
		n.IP = addressIn(s.Subnets[m.Subnet], b.ARN)
	}
	return n
}

// addressIn returns an address of a subnet that is the same for the same owner.
func addressIn(sub *subnet, owner string) string {
	block, err := netip.ParsePrefix(sub.CIDR)
	if err != nil || !block.Addr().Is4() {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(owner)) // cannot fail
	// The end of the block, where tests put no machines.
	host := byte(1)<<(32-max(block.Bits(), 24)) - 1
	bytes := block.Masked().Addr().As4()
	bytes[3] |= host - byte(1+h.Sum32()%uint32(max(host/4, 1)))
	return netip.AddrFrom4(bytes).String()
}

type networkInterfaceXML struct {
	ID          string         `xml:"networkInterfaceId"`
	Subnet      string         `xml:"subnetId,omitempty"`
	VPC         string         `xml:"vpcId"`
	Zone        string         `xml:"availabilityZone,omitempty"`
	Description string         `xml:"description"`
	Requester   string         `xml:"requesterId,omitempty"`
	Managed     bool           `xml:"requesterManaged"`
	Status      string         `xml:"status"`
	Kind        string         `xml:"interfaceType"`
	IP          string         `xml:"privateIpAddress,omitempty"`
	Groups      []groupItem    `xml:"groupSet>item"`
	Attachment  attachmentXML  `xml:"attachment"`
	Association *associatedXML `xml:"association"`
}

type attachmentXML struct {
	Instance string `xml:"instanceId,omitempty"`
	Owner    string `xml:"instanceOwnerId"`
	Index    int    `xml:"deviceIndex"`
	Status   string `xml:"status"`
}

type associatedXML struct {
	Allocation string `xml:"allocationId"`
	PublicIP   string `xml:"publicIp"`
}

func describeInterfaces(r *request) (any, error) {
	all, ids := r.interfaces(), r.form.list("NetworkInterfaceId")
	found, err := selected(r, all, ids, "InvalidNetworkInterfaceID.NotFound", func(n *networkInterface) (tags, map[string][]string) {
		return nil, map[string][]string{
			"network-interface-id": {n.ID}, "subnet-id": {n.Subnet}, "vpc-id": {n.VPC}, "availability-zone": {n.Zone}, "group-id": n.Groups,
			"description": {n.Description}, "interface-type": {n.Kind}, "requester-id": {n.Requester}, "status": {"in-use"},
			"private-ip-address": {n.IP}, "addresses.private-ip-address": {n.IP}, "attachment.instance-id": {n.Instance},
			"association.allocation-id": {n.Allocation}, "association.public-ip": {n.PublicIP},
		}
	})
	if err != nil {
		return nil, err
	}
	found, next, err := ec2Page(r, found, ids)
	if err != nil {
		return nil, err
	}
	var out struct {
		Set  []networkInterfaceXML `xml:"networkInterfaceSet>item"`
		Next string                `xml:"nextToken,omitempty"`
	}
	out.Next = next
	for _, n := range found {
		x := networkInterfaceXML{
			ID: n.ID, Subnet: n.Subnet, VPC: n.VPC, Zone: n.Zone, Description: n.Description, Requester: n.Requester, Managed: n.Requester != "",
			Status: "in-use", Kind: n.Kind, IP: n.IP, Attachment: attachmentXML{Instance: n.Instance, Owner: n.Requester, Status: "attached"},
		}
		if n.Instance != "" {
			x.Attachment.Owner = r.cloud.options.Account
		}
		for _, id := range n.Groups {
			x.Groups = append(x.Groups, groupItem{id, r.state.groupName(id)})
		}
		if n.Allocation != "" {
			x.Association = &associatedXML{n.Allocation, n.PublicIP}
		}
		out.Set = append(out.Set, x)
	}
	return out, nil
}

// groupName returns the name of a security group, or "".
func (s *state) groupName(id string) string {
	if g := s.Groups[id]; g != nil {
		return g.Name
	}
	return ""
}

// ec2Page cuts a list down to MaxResults, which is 5 to 1,000 and does not go
// together with ids.
func ec2Page[T any](r *request, list []T, ids []string) (part []T, next string, err error) {
	if !r.form.has("MaxResults") {
		return list, "", nil
	}
	size, start := r.form.number("MaxResults"), 0
	if token := r.form.get("NextToken"); token != "" {
		if start, err = strconv.Atoi(token); err != nil || start < 0 || start > len(list) {
			return nil, "", refuse("InvalidNextToken", "The token '%s' is invalid", token)
		}
	}
	switch {
	case len(ids) > 0:
		return nil, "", refuse("InvalidParameterCombination", "The parameter MaxResults cannot be used with ids")
	case size < 5 || size > 1000:
		return nil, "", refuse("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value of 5 to 1000", size)
	}
	end := min(start+size, len(list))
	if end < len(list) {
		next = strconv.Itoa(end)
	}
	return list[start:end], next, nil
}

// gateways returns the internet gateways, which the route tables name, with the
// VPC of each.
func (s *state) gateways() map[string]string {
	all := map[string]string{}
	for _, t := range s.RouteTables {
		if strings.HasPrefix(t.Gateway, "igw-") {
			all[t.Gateway] = t.VPC
		}
	}
	return all
}

func describeGateways(r *request) (any, error) {
	type attached struct {
		State string `xml:"state"`
		VPC   string `xml:"vpcId"`
	}
	type gatewayXML struct {
		ID          string     `xml:"internetGatewayId"`
		Attachments []attached `xml:"attachmentSet>item"`
		Owner       string     `xml:"ownerId"`
	}
	all, ids := map[string]gatewayXML{}, r.form.list("InternetGatewayId")
	for id, vpc := range r.state.gateways() {
		all[id] = gatewayXML{id, []attached{{"available", vpc}}, r.cloud.options.Account}
	}
	found, err := selected(r, all, ids, "InvalidInternetGatewayID.NotFound", func(g gatewayXML) (tags, map[string][]string) {
		return nil, map[string][]string{
			"internet-gateway-id": {g.ID}, "attachment.vpc-id": {g.Attachments[0].VPC}, "attachment.state": {g.Attachments[0].State}, "owner-id": {g.Owner},
		}
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Set  []gatewayXML `xml:"internetGatewaySet>item"`
		Next string       `xml:"nextToken,omitempty"`
	}
	found, out.Next, err = ec2Page(r, found, ids)
	out.Set = found
	return out, err
}
