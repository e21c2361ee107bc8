package aws

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// balancerOf reads what AWS says of a load balancer.
func balancerOf(x elbtypes.LoadBalancer) stack.Balancer {
	b := stack.Balancer{
		Name: sdk.ToString(x.LoadBalancerName), Kind: hook.Kind(x.Type), Scheme: hook.Scheme(x.Scheme), AddressType: string(x.IpAddressType),
		VPC: sdk.ToString(x.VpcId), SecurityGroups: x.SecurityGroups, ARN: sdk.ToString(x.LoadBalancerArn), Created: sdk.ToTime(x.CreatedTime),
		DNSName: strings.ToLower(sdk.ToString(x.DNSName)), HostedZone: sdk.ToString(x.CanonicalHostedZoneId),
	}
	if x.State != nil {
		b.State, b.StateReason = string(x.State.Code), sdk.ToString(x.State.Reason)
	}
	for _, z := range x.AvailabilityZones {
		m := stack.Mapping{Subnet: sdk.ToString(z.SubnetId)}
		for _, a := range z.LoadBalancerAddresses {
			if m.Allocation == "" {
				m.Allocation = sdk.ToString(a.AllocationId)
			}
			if m.PrivateIP == "" {
				m.PrivateIP = sdk.ToString(a.PrivateIPv4Address)
			}
		}
		b.Subnets = append(b.Subnets, m)
	}
	slices.SortFunc(b.Subnets, func(p, q stack.Mapping) int { return strings.Compare(p.Subnet, q.Subnet) })
	return b
}

func groupOf(x elbtypes.TargetGroup) stack.TargetGroup {
	g := stack.TargetGroup{
		Name: sdk.ToString(x.TargetGroupName), ARN: sdk.ToString(x.TargetGroupArn), Protocol: string(x.Protocol), Port: sdk.ToInt32(x.Port),
		Type: string(x.TargetType), AddressType: string(x.IpAddressType), VPC: sdk.ToString(x.VpcId), UsedBy: x.LoadBalancerArns,
		Check: stack.HealthCheck{
			Protocol: string(x.HealthCheckProtocol), Port: sdk.ToString(x.HealthCheckPort), Path: sdk.ToString(x.HealthCheckPath),
			Interval: sdk.ToInt32(x.HealthCheckIntervalSeconds), Timeout: sdk.ToInt32(x.HealthCheckTimeoutSeconds),
			Healthy: sdk.ToInt32(x.HealthyThresholdCount), Unhealthy: sdk.ToInt32(x.UnhealthyThresholdCount),
		},
		Attributes: map[string]string{}, Health: map[stack.Target]stack.Health{},
	}
	if x.Matcher != nil {
		g.Check.Codes = sdk.ToString(x.Matcher.HttpCode)
	}
	return g
}

// listenerOf reads what AWS says of a listener. Its Group is the ARN of the
// target group, which stack replaces by the name.
func listenerOf(x elbtypes.Listener) stack.Listener {
	l := stack.Listener{
		ARN: sdk.ToString(x.ListenerArn), Port: sdk.ToInt32(x.Port), Protocol: string(x.Protocol), Policy: sdk.ToString(x.SslPolicy),
		Attributes: map[string]string{},
	}
	if len(x.AlpnPolicy) > 0 && x.AlpnPolicy[0] != "None" {
		l.ALPN = x.AlpnPolicy[0]
	}
	for _, c := range x.Certificates {
		l.Certificates = append(l.Certificates, sdk.ToString(c.CertificateArn))
	}
	for _, a := range x.DefaultActions {
		if a.Type == elbtypes.ActionTypeEnumRedirect {
			l.RedirectTLS = true
			continue
		}
		l.Group = sdk.ToString(a.TargetGroupArn)
		if f := a.ForwardConfig; f != nil && len(f.TargetGroups) > 0 {
			l.Group = sdk.ToString(f.TargetGroups[0].TargetGroupArn)
		}
	}
	return l
}

func groupAttributes(list []elbtypes.TargetGroupAttribute) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[sdk.ToString(a.Key)] = sdk.ToString(a.Value)
	}
	return all
}

// securityGroups describes security groups.
func (c clients) securityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput) ([]stack.SecurityGroup, error) {
	var list []stack.SecurityGroup
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Classify("DescribeSecurityGroups", err)
		}
		for _, x := range page.SecurityGroups {
			g := stack.SecurityGroup{
				ID: sdk.ToString(x.GroupId), Name: sdk.ToString(x.GroupName), VPC: sdk.ToString(x.VpcId), Description: sdk.ToString(x.Description),
				Tags: ec2Tags(x.Tags),
			}
			for _, p := range x.IpPermissions {
				g.Rules = append(g.Rules, rulesOf(p)...)
			}
			list = append(list, g)
		}
	}
	return list, nil
}

func ec2Tags(list []ec2types.Tag) map[string]string {
	all := map[string]string{}
	for _, t := range list {
		all[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
	}
	return all
}

// rulesOf returns the rules of a permission: one for each source.
func rulesOf(p ec2types.IpPermission) []stack.Rule {
	base := stack.Rule{Protocol: sdk.ToString(p.IpProtocol), From: sdk.ToInt32(p.FromPort), To: sdk.ToInt32(p.ToPort)}
	var list []stack.Rule
	for _, s := range p.IpRanges {
		r := base
		r.CIDR, r.Description = sdk.ToString(s.CidrIp), sdk.ToString(s.Description)
		list = append(list, r)
	}
	for _, s := range p.Ipv6Ranges {
		r := base
		r.CIDR, r.Description = sdk.ToString(s.CidrIpv6), sdk.ToString(s.Description)
		if prefix, err := netip.ParsePrefix(r.CIDR); err == nil {
			r.CIDR = prefix.String()
		}
		list = append(list, r)
	}
	for _, s := range p.UserIdGroupPairs {
		r := base
		r.Group, r.Description = sdk.ToString(s.GroupId), sdk.ToString(s.Description)
		list = append(list, r)
	}
	for _, s := range p.PrefixListIds {
		r := base
		r.PrefixList, r.Description = sdk.ToString(s.PrefixListId), sdk.ToString(s.Description)
		list = append(list, r)
	}
	return list
}

// permissions is the reverse: sources of the same ports share a permission.
func permissions(rules []stack.Rule) []ec2types.IpPermission {
	var list []ec2types.IpPermission
	for _, r := range rules {
		i := slices.IndexFunc(list, func(p ec2types.IpPermission) bool {
			return *p.IpProtocol == r.Protocol && *p.FromPort == r.From && *p.ToPort == r.To
		})
		if i < 0 {
			list = append(list, ec2types.IpPermission{IpProtocol: sdk.String(r.Protocol), FromPort: sdk.Int32(r.From), ToPort: sdk.Int32(r.To)})
			i = len(list) - 1
		}
		p := &list[i]
		var description *string
		if r.Description != "" {
			description = sdk.String(r.Description)
		}
		switch {
		case r.Group != "":
			p.UserIdGroupPairs = append(p.UserIdGroupPairs, ec2types.UserIdGroupPair{GroupId: sdk.String(r.Group), Description: description})
		case r.PrefixList != "":
			p.PrefixListIds = append(p.PrefixListIds, ec2types.PrefixListId{PrefixListId: sdk.String(r.PrefixList), Description: description})
		case strings.Contains(r.CIDR, ":"):
			p.Ipv6Ranges = append(p.Ipv6Ranges, ec2types.Ipv6Range{CidrIpv6: sdk.String(r.CIDR), Description: description})
		default:
			p.IpRanges = append(p.IpRanges, ec2types.IpRange{CidrIp: sdk.String(r.CIDR), Description: description})
		}
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func elbTags(tags map[string]string) []elbtypes.Tag {
	list := make([]elbtypes.Tag, 0, len(tags))
	for _, k := range sortedKeys(tags) {
		list = append(list, elbtypes.Tag{Key: sdk.String(k), Value: sdk.String(tags[k])})
	}
	return list
}

func tagSpecification(tags map[string]string) []ec2types.TagSpecification {
	s := ec2types.TagSpecification{ResourceType: ec2types.ResourceTypeSecurityGroup}
	for _, k := range sortedKeys(tags) {
		s.Tags = append(s.Tags, ec2types.Tag{Key: sdk.String(k), Value: sdk.String(tags[k])})
	}
	return []ec2types.TagSpecification{s}
}
