package aws

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// environment caches what AWS says of the network, the machines and the
// certificates. It asks only for what a Service needs, and all Services share it.
type environment struct {
	aws     clients
	cluster string
	now     func() time.Time

	mu        sync.Mutex // held while asking
	known     stack.Environment
	subnetsAt time.Time            // when the subnets were read
	certsAt   time.Time            // when the certificates were read
	groups    map[string]bool      // security groups whose tags are known
	absent    map[string]time.Time // security groups that users named and that did not exist, and when
}

func newEnvironment(c clients, o Options) *environment {
	return &environment{aws: c, cluster: o.Cluster, now: o.Now, groups: map[string]bool{}, absent: map[string]time.Time{}, known: stack.Environment{
		VPC: o.VPC, Machines: map[string]stack.Machine{}, NodeGroups: map[string]map[string]string{}, NamedGroups: map[string]string{},
	}}
}

// renew forgets the subnets if they are a minute old, and reports whether it did.
func (e *environment) renew() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.subnetsAt.IsZero() || e.now().Sub(e.subnetsAt) < time.Minute {
		return false
	}
	e.subnetsAt = time.Time{}
	return true
}

func (e *environment) forgetMachine(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	machines := maps.Clone(e.known.Machines)
	delete(machines, id)
	e.known.Machines = machines
}

// forSpec returns the environment that a Service needs, and how many calls it
// took to list certificates. Settled says that the Service has a load balancer.
func (e *environment) forSpec(ctx context.Context, spec *hook.Spec, s stack.Settings, settled bool) (known stack.Environment, calls int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.machines(ctx, spec); err != nil {
		return stack.Environment{}, 0, err
	}
	if err := e.network(ctx); err != nil {
		return stack.Environment{}, 0, err
	}
	if err := e.namedGroups(ctx, slices.Concat(s.SecurityGroups, s.ExtraGroups)); err != nil {
		return stack.Environment{}, 0, err
	}
	// Subnets that were found once stay, so they need not be known any more.
	needed := !settled || len(s.Subnets)+len(s.Allocations) > 0 || spec.Recreate
	if e.subnetsAt.IsZero() && needed {
		if err := e.subnets(ctx); err != nil {
			return stack.Environment{}, 0, err
		}
	}
	if s.Kind == hook.KindApplication && len(s.Certificates) == 0 && e.now().Sub(e.certsAt) > time.Hour {
		if calls, err = e.certificates(ctx); err != nil {
			return stack.Environment{}, calls, err
		}
	}
	return e.known, calls, nil
}

// maxFilterValues is how many values one filter takes.
const maxFilterValues = 200

// machines asks about instances that are not known yet.
func (e *environment) machines(ctx context.Context, spec *hook.Spec) error {
	var ids []string
	for _, n := range spec.Targets.Nodes {
		id, ok := stack.InstanceID(n.ProviderID)
		if !ok {
			continue
		}
		if _, known := e.known.Machines[id]; !known && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var groups []string
	for part := range slices.Chunk(ids, maxFilterValues) {
		more, err := e.describe(ctx, part)
		if err != nil {
			return err
		}
		groups = append(groups, more...)
	}
	return e.nodeGroups(ctx, groups)
}

// describe asks about instances, and returns their security groups. Those that
// do not run are asked about again next time.
func (e *environment) describe(ctx context.Context, ids []string) (groups []string, err error) {
	machines := maps.Clone(e.known.Machines)
	pages := ec2.NewDescribeInstancesPaginator(e.aws.ec2, &ec2.DescribeInstancesInput{
		Filters: []ec2types.Filter{{Name: sdk.String("instance-id"), Values: ids}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Classify("DescribeInstances", err)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				m := machineOf(i)
				if m.Running {
					machines[sdk.ToString(i.InstanceId)] = m
				}
				if e.known.VPC == "" {
					e.known.VPC = sdk.ToString(i.VpcId)
				}
				groups = append(groups, m.Groups...)
			}
		}
	}
	e.known.Machines = machines
	return groups, nil
}

func machineOf(i ec2types.Instance) stack.Machine {
	m := stack.Machine{Running: i.State != nil && i.State.Name == ec2types.InstanceStateNameRunning}
	for _, card := range i.NetworkInterfaces {
		if card.Attachment == nil || sdk.ToInt32(card.Attachment.DeviceIndex) != 0 {
			continue
		}
		for _, g := range card.Groups {
			m.Groups = append(m.Groups, sdk.ToString(g.GroupId))
		}
	}
	return m
}

// nodeGroups reads the tags of security groups, which matter where a machine
// has several.
func (e *environment) nodeGroups(ctx context.Context, ids []string) error {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return e.groups[id] })
	if len(ids) == 0 {
		return nil
	}
	list, err := e.aws.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: ids})
	if err != nil {
		return err
	}
	tags := maps.Clone(e.known.NodeGroups)
	for _, g := range list {
		tags[g.ID] = g.Tags
		e.groups[g.ID] = true
	}
	e.known.NodeGroups = tags
	return nil
}

// absentTime is how long a security group that does not exist is not asked about
// again.
const absentTime = 30 * time.Second

// namedGroups asks about security groups that users name. Those that exist stay
// known: a group that a load balancer has cannot be deleted.
func (e *environment) namedGroups(ctx context.Context, ids []string) error {
	ask := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		at, absent := e.absent[id]
		return e.known.NamedGroups[id] != "" || absent && e.now().Sub(at) < absentTime
	})
	if len(ask) == 0 {
		return nil
	}
	// A filter, since an id that does not exist would be an error about all.
	list, err := e.aws.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{{Name: sdk.String("group-id"), Values: ask}}})
	if err != nil {
		return err
	}
	named := maps.Clone(e.known.NamedGroups)
	maps.DeleteFunc(e.absent, func(_ string, at time.Time) bool { return e.now().Sub(at) >= absentTime })
	for _, id := range ask {
		e.absent[id] = e.now()
	}
	for _, g := range list {
		named[g.ID] = g.VPC
		delete(e.absent, g.ID)
	}
	e.known.NamedGroups = named
	return nil
}

// network finds the VPC and its ranges.
func (e *environment) network(ctx context.Context) error {
	if e.known.VPC == "" {
		if err := e.findVPC(ctx); err != nil {
			return err
		}
	}
	if e.known.Ranges != nil {
		return nil
	}
	out, err := e.aws.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{e.known.VPC}})
	if err != nil {
		return Classify("DescribeVpcs", err)
	}
	ranges := []netip.Prefix{}
	add := func(cidr *string) {
		if p, err := netip.ParsePrefix(sdk.ToString(cidr)); err == nil && !slices.Contains(ranges, p) {
			ranges = append(ranges, p)
		}
	}
	for _, v := range out.Vpcs {
		add(v.CidrBlock)
		for _, a := range v.CidrBlockAssociationSet {
			add(a.CidrBlock)
		}
		for _, a := range v.Ipv6CidrBlockAssociationSet {
			add(a.Ipv6CidrBlock)
		}
	}
	e.known.Ranges = ranges
	return nil
}

// findVPC looks for the VPC if no flag and no machine of a node names it: it is
// the one that is tagged for the cluster, or that of our own machine.
func (e *environment) findVPC(ctx context.Context) error {
	tag := stack.TagCluster + e.cluster
	out, err := e.aws.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: []ec2types.Filter{{Name: sdk.String("tag-key"), Values: []string{tag}}}})
	if err != nil {
		return Classify("DescribeVpcs", err)
	}
	var ids []string
	for _, v := range out.Vpcs {
		ids = append(ids, sdk.ToString(v.VpcId))
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		if id := metadataVPC(ctx, e.aws.cfg); id != "" {
			ids = []string{id}
		}
	}
	switch len(ids) {
	case 1:
		e.known.VPC = ids[0]
		return nil
	case 0:
		return &hook.Error{
			Class: hook.ClassInvalidConfig, Code: "VPCUnknown",
			Message: "the VPC is not known: no node has a providerID of a running instance, no VPC has the tag " + tag + ", and the machine's metadata service has none; set --aws-vpc",
		}
	}
	return &hook.Error{
		Class: hook.ClassInvalidConfig, Code: "VPCUnknown",
		Message: "the VPC is not known: " + strings.Join(ids, " and ") + " have the tag " + tag + "; set --aws-vpc",
	}
}

func (e *environment) subnets(ctx context.Context) error {
	filter := []ec2types.Filter{{Name: sdk.String("vpc-id"), Values: []string{e.known.VPC}}}
	zones, err := e.aws.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return Classify("DescribeAvailabilityZones", err)
	}
	kinds := map[string]string{}
	for _, z := range zones.AvailabilityZones {
		kinds[sdk.ToString(z.ZoneName)] = sdk.ToString(z.ZoneType)
	}
	var tables []ec2types.RouteTable
	routes := ec2.NewDescribeRouteTablesPaginator(e.aws.ec2, &ec2.DescribeRouteTablesInput{Filters: filter})
	for routes.HasMorePages() {
		page, err := routes.NextPage(ctx)
		if err != nil {
			return Classify("DescribeRouteTables", err)
		}
		tables = append(tables, page.RouteTables...)
	}
	var list []stack.Subnet
	pages := ec2.NewDescribeSubnetsPaginator(e.aws.ec2, &ec2.DescribeSubnetsInput{Filters: filter})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Classify("DescribeSubnets", err)
		}
		for _, s := range page.Subnets {
			sub := stack.Subnet{
				ID: sdk.ToString(s.SubnetId), Zone: sdk.ToString(s.AvailabilityZone), Free: sdk.ToInt32(s.AvailableIpAddressCount),
				Tags: ec2Tags(s.Tags), Public: public(tables, sdk.ToString(s.SubnetId)), IPv6: len(s.Ipv6CidrBlockAssociationSet) > 0,
			}
			sub.ZoneType = kinds[sub.Zone]
			sub.CIDR, _ = netip.ParsePrefix(sdk.ToString(s.CidrBlock)) // one without IPv4 has none
			list = append(list, sub)
		}
	}
	e.known.Subnets, e.subnetsAt = list, e.now()
	return nil
}

// fewerSubnets returns what to try if AWS refuses a zone: the subnets that its
// message does not name, by id or zone; if it names none, all but one, in turn.
func (e *environment) fewerSubnets(b stack.Balancer, message string) [][]stack.Mapping {
	e.mu.Lock()
	defer e.mu.Unlock()
	least := 1
	if b.Kind == hook.KindApplication {
		least = 2
	}
	named := slices.DeleteFunc(slices.Clone(b.Subnets), func(m stack.Mapping) bool {
		i := slices.IndexFunc(e.known.Subnets, func(s stack.Subnet) bool { return s.ID == m.Subnet })
		return strings.Contains(message, m.Subnet) || i >= 0 && strings.Contains(message, e.known.Subnets[i].Zone)
	})
	var tries [][]stack.Mapping
	if len(named) < len(b.Subnets) {
		tries = [][]stack.Mapping{named}
	} else {
		for i := range b.Subnets {
			tries = append(tries, slices.Delete(slices.Clone(b.Subnets), i, i+1))
		}
	}
	return slices.DeleteFunc(tries, func(try []stack.Mapping) bool { return len(try) < least })
}

// public reports whether a subnet's route table, its own or the main one, has
// a route to an internet gateway.
func public(tables []ec2types.RouteTable, subnet string) bool {
	var mine *ec2types.RouteTable
	for i, t := range tables {
		for _, a := range t.Associations {
			switch {
			case sdk.ToString(a.SubnetId) == subnet:
				mine = &tables[i]
			case sdk.ToBool(a.Main) && mine == nil:
				mine = &tables[i]
			}
		}
		if mine != nil && slices.ContainsFunc(mine.Associations, func(a ec2types.RouteTableAssociation) bool { return sdk.ToString(a.SubnetId) == subnet }) {
			break
		}
	}
	return mine != nil && slices.ContainsFunc(mine.Routes, func(r ec2types.Route) bool { return strings.HasPrefix(sdk.ToString(r.GatewayId), "igw-") })
}

// certificates lists what ACM has issued.
func (e *environment) certificates(ctx context.Context) (calls int, err error) {
	all := map[string][]string{}
	pages := acm.NewListCertificatesPaginator(e.aws.acm, &acm.ListCertificatesInput{CertificateStatuses: []acmtypes.CertificateStatus{acmtypes.CertificateStatusIssued}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return calls, Classify("ListCertificates", err)
		}
		calls++
		for _, c := range page.CertificateSummaryList {
			names := append([]string{sdk.ToString(c.DomainName)}, c.SubjectAlternativeNameSummaries...)
			if sdk.ToBool(c.HasAdditionalSubjectAlternativeNames) {
				out, err := e.aws.acm.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: c.CertificateArn})
				if err != nil {
					return calls, Classify("DescribeCertificate", err)
				}
				names = out.Certificate.SubjectAlternativeNames
			}
			all[sdk.ToString(c.CertificateArn)] = names
		}
	}
	e.known.Certificates, e.certsAt = all, e.now()
	return calls, nil
}
