package aws

import (
	"context"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
)

// read makes the call that reads one part of what exists.
func (c clients) read(ctx context.Context, have stack.State, part stack.Part) (stack.Reading, error) {
	r := stack.Reading{Part: part}
	var err error
	switch part.Kind {
	case stack.PartBalancer:
		r.Balancer, err = c.readBalancer(ctx, *have.Balancer)
	case stack.PartTags:
		r.Tags, err = c.readTagsOf(ctx, have)
	case stack.PartListeners:
		r.Listeners, err = c.readListeners(ctx, have.Balancer.ARN)
	case stack.PartGroups:
		r.Groups, err = c.readGroups(ctx, have.Groups)
	case stack.PartFrontend:
		r.SecurityGroups, err = c.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{have.FrontendID()}})
	case stack.PartNodes:
		r.SecurityGroups, err = c.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: strings.Fields(part.Key)})
	case stack.PartBalancerAttributes:
		r.Attributes, err = c.readBalancerAttributes(ctx, have.Balancer.ARN)
	case stack.PartGroupAttributes:
		r.Attributes, err = c.readGroupAttributes(ctx, arnOfGroup(have, part))
	case stack.PartListenerAttributes:
		r.Attributes, err = c.readListenerAttributes(ctx, arnOfListener(have, part))
	case stack.PartCertificates:
		r.Certificates, err = c.readCertificates(ctx, arnOfListener(have, part))
	case stack.PartTargets:
		r.Targets, r.Health, err = c.readTargets(ctx, arnOfGroup(have, part))
	case stack.PartACL:
		r.ACL, err = c.readACL(ctx, have.Balancer.ARN)
	}
	return r, err
}

// groupsLettingIn finds the security groups with rules whose source is one of some.
func (c clients) groupsLettingIn(ctx context.Context, sources []string) ([]stack.SecurityGroup, error) {
	return c.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: sdk.String("ip-permission.group-id"), Values: sources},
	}})
}

func arnOfGroup(have stack.State, part stack.Part) string {
	g, _ := have.Group(part.Key) // a part of what exists
	return g.ARN
}

func arnOfListener(have stack.State, part stack.Part) string {
	for _, l := range have.Listeners {
		if strconv.Itoa(int(l.Port)) == part.Key {
			return l.ARN
		}
	}
	return ""
}

func (c clients) readBalancer(ctx context.Context, b stack.Balancer) (stack.Balancer, error) {
	out, err := c.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{b.ARN}})
	if err != nil {
		return b, Classify("DescribeLoadBalancers", err)
	}
	for _, x := range out.LoadBalancers {
		b = balancerOf(x)
	}
	return b, nil
}

func (c clients) readTagsOf(ctx context.Context, have stack.State) (map[string]map[string]string, error) {
	var arns []string
	add := func(arn string) {
		if arn != "" {
			arns = append(arns, arn)
		}
	}
	if have.Balancer != nil {
		add(have.Balancer.ARN)
	}
	for _, g := range have.Groups {
		add(g.ARN)
	}
	for _, l := range have.Listeners {
		add(l.ARN)
	}
	return c.readTags(ctx, arns)
}

func (c clients) readListeners(ctx context.Context, balancer string) ([]stack.Listener, error) {
	var list []stack.Listener
	pages := elb.NewDescribeListenersPaginator(c.elb, &elb.DescribeListenersInput{LoadBalancerArn: sdk.String(balancer)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Classify("DescribeListeners", err)
		}
		for _, x := range page.Listeners {
			list = append(list, listenerOf(x))
		}
	}
	return list, nil
}

func (c clients) readGroups(ctx context.Context, groups []stack.TargetGroup) ([]stack.TargetGroup, error) {
	var arns []string
	for _, g := range groups {
		arns = append(arns, g.ARN)
	}
	out, err := c.elb.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: arns})
	if err != nil {
		return nil, Classify("DescribeTargetGroups", err)
	}
	var list []stack.TargetGroup
	for _, x := range out.TargetGroups {
		list = append(list, groupOf(x))
	}
	return list, nil
}

func (c clients) readBalancerAttributes(ctx context.Context, arn string) (map[string]string, error) {
	out, err := c.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: sdk.String(arn)})
	if err != nil {
		return nil, Classify("DescribeLoadBalancerAttributes", err)
	}
	all := map[string]string{}
	for _, a := range out.Attributes {
		all[sdk.ToString(a.Key)] = sdk.ToString(a.Value)
	}
	return all, nil
}

func (c clients) readGroupAttributes(ctx context.Context, arn string) (map[string]string, error) {
	out, err := c.elb.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: sdk.String(arn)})
	if err != nil {
		return nil, Classify("DescribeTargetGroupAttributes", err)
	}
	return groupAttributes(out.Attributes), nil
}

func (c clients) readListenerAttributes(ctx context.Context, arn string) (map[string]string, error) {
	out, err := c.elb.DescribeListenerAttributes(ctx, &elb.DescribeListenerAttributesInput{ListenerArn: sdk.String(arn)})
	if err != nil {
		return nil, Classify("DescribeListenerAttributes", err)
	}
	all := map[string]string{}
	for _, a := range out.Attributes {
		all[sdk.ToString(a.Key)] = sdk.ToString(a.Value)
	}
	return all, nil
}

// readCertificates reads the certificates of a listener besides its default.
func (c clients) readCertificates(ctx context.Context, arn string) ([]string, error) {
	var list []string
	pages := elb.NewDescribeListenerCertificatesPaginator(c.elb, &elb.DescribeListenerCertificatesInput{ListenerArn: sdk.String(arn)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Classify("DescribeListenerCertificates", err)
		}
		for _, x := range page.Certificates {
			if !sdk.ToBool(x.IsDefault) {
				list = append(list, sdk.ToString(x.CertificateArn))
			}
		}
	}
	return list, nil
}

func (c clients) readTargets(ctx context.Context, arn string) ([]stack.Target, map[stack.Target]stack.Health, error) {
	out, err := c.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: sdk.String(arn)})
	if err != nil {
		return nil, nil, Classify("DescribeTargetHealth", err)
	}
	var targets []stack.Target
	health := map[stack.Target]stack.Health{}
	for _, d := range out.TargetHealthDescriptions {
		t := stack.Target{ID: sdk.ToString(d.Target.Id), Port: sdk.ToInt32(d.Target.Port), Zone: sdk.ToString(d.Target.AvailabilityZone)}
		h := stack.Health{State: string(d.TargetHealth.State), Reason: string(d.TargetHealth.Reason)}
		health[t] = h
		if h.State != "draining" {
			targets = append(targets, t)
		}
	}
	return targets, health, nil
}

func (c clients) readACL(ctx context.Context, balancer string) (string, error) {
	out, err := c.waf.GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{ResourceArn: sdk.String(balancer)})
	if err != nil {
		return "", Classify("GetWebACLForResource", err)
	}
	if out.WebACL == nil {
		return "", nil
	}
	return sdk.ToString(out.WebACL.ARN), nil
}
