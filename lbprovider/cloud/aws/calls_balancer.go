package aws

import (
	"context"
	"fmt"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func subnetMappings(list []stack.Mapping) []elbtypes.SubnetMapping {
	var out []elbtypes.SubnetMapping
	for _, m := range list {
		x := elbtypes.SubnetMapping{SubnetId: sdk.String(m.Subnet)}
		if m.Allocation != "" {
			x.AllocationId = sdk.String(m.Allocation)
		}
		if m.PrivateIP != "" {
			x.PrivateIPv4Address = sdk.String(m.PrivateIP)
		}
		out = append(out, x)
	}
	return out
}

// balancer makes the calls of actions about load balancers.
func (c *calls) balancer(ctx context.Context, a stack.Action) (stack.Outcome, error) {
	switch a := a.(type) {
	case stack.CreateBalancer:
		return c.createBalancer(ctx, a)
	case stack.DeleteBalancer:
		return c.deleteBalancer(ctx, a)
	}
	if c.have.Balancer == nil {
		return stack.Outcome{}, hook.Errorf(hook.ClassBusy, "%s: the load balancer does not exist yet", a)
	}
	arn := sdk.String(c.have.Balancer.ARN)
	switch a := a.(type) {
	case stack.SetSecurityGroups:
		done := stack.SetSecurityGroups{Groups: c.withFrontend(a.Groups, a.Frontend)}
		_, err := c.elb.SetSecurityGroups(ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: arn, SecurityGroups: done.Groups})
		return either(done, aboutGroups(Classify("SetSecurityGroups", err)))
	case stack.SetSubnets:
		_, err := c.elb.SetSubnets(ctx, &elb.SetSubnetsInput{LoadBalancerArn: arn, SubnetMappings: subnetMappings(a.Subnets)})
		return either(a, addressInUse(Classify("SetSubnets", err), a.Subnets))
	case stack.SetAddressType:
		_, err := c.elb.SetIpAddressType(ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: arn, IpAddressType: elbtypes.IpAddressType(a.AddressType)})
		return either(a, Classify("SetIpAddressType", err))
	case stack.SetBalancerAttributes:
		return either(a, c.setBalancerAttributes(ctx, *arn, a.Attributes))
	case stack.SetACL:
		return either(a, c.setACL(ctx, *arn, a.ARN))
	}
	return stack.Outcome{}, nil
}

func (c *calls) setBalancerAttributes(ctx context.Context, arn string, attributes map[string]string) error {
	in := &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: sdk.String(arn)}
	for _, k := range sortedKeys(attributes) {
		in.Attributes = append(in.Attributes, elbtypes.LoadBalancerAttribute{Key: sdk.String(k), Value: sdk.String(attributes[k])})
	}
	_, err := c.elb.ModifyLoadBalancerAttributes(ctx, in)
	return Classify("ModifyLoadBalancerAttributes", err)
}

func (c *calls) setACL(ctx context.Context, balancer, acl string) error {
	if acl == "none" {
		_, err := c.waf.DisassociateWebACL(ctx, &wafv2.DisassociateWebACLInput{ResourceArn: sdk.String(balancer)})
		return Classify("DisassociateWebACL", err)
	}
	_, err := c.waf.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{ResourceArn: sdk.String(balancer), WebACLArn: sdk.String(acl)})
	return Classify("AssociateWebACL", err)
}

// withFrontend puts the frontend's id before other ids.
func (c *calls) withFrontend(others []string, frontend bool) []string {
	if !frontend {
		return others
	}
	return append([]string{c.have.FrontendID()}, others...)
}

func (c *calls) createBalancer(ctx context.Context, a stack.CreateBalancer) (stack.Outcome, error) {
	b := a.Balancer
	create := func(subnets []stack.Mapping) (*elb.CreateLoadBalancerOutput, error) {
		out, err := c.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
			Name: sdk.String(b.Name), Type: elbtypes.LoadBalancerTypeEnum(b.Kind), Scheme: elbtypes.LoadBalancerSchemeEnum(b.Scheme),
			IpAddressType: elbtypes.IpAddressType(b.AddressType), SubnetMappings: subnetMappings(subnets),
			SecurityGroups: c.withFrontend(b.SecurityGroups, a.Frontend), Tags: elbTags(b.Tags),
		})
		return out, Classify("CreateLoadBalancer", err)
	}
	var o stack.Outcome
	out, err := create(b.Subnets)
	if codeIs(err, zoneNotSupported) && b.Found {
		// Some zones have no load balancers. AWS's message may say which one it is.
		for _, fewer := range c.fewer(b, hook.AsError(err).Message) {
			c.log.Info("a zone has no load balancers; trying without it", "service", c.ref.String(), "subnets", fmt.Sprint(fewer), "err", err)
			if out, err = create(fewer); !codeIs(err, zoneNotSupported) {
				o.LeftOut = slices.DeleteFunc(slices.Clone(b.Subnets), func(m stack.Mapping) bool { return slices.Contains(fewer, m) })
				break
			}
		}
	}
	if err != nil {
		o.Outdated, err = outdated(addressInUse(err, b.Subnets))
		return o, err
	}
	for _, x := range out.LoadBalancers {
		created := balancerOf(x)
		created.Tags, created.Attributes = b.Tags, map[string]string{}
		o.Done = append(o.Done, stack.CreateBalancer{Balancer: created})
	}
	return o, nil
}

// addressInUse makes an error for users of the one that says that an Elastic IP
// address is in use: it may be that of a load balancer that is being deleted, or
// of something that stays.
func addressInUse(err error, subnets []stack.Mapping) error {
	if !codeIs(err, "ResourceInUse") || !slices.ContainsFunc(subnets, func(m stack.Mapping) bool { return m.Allocation != "" }) {
		return err
	}
	e := *hook.AsError(err)
	e.Class, e.Field, e.RetryAfter = hook.ClassInvalidConfig, stack.AnnotationPrefix+"aws-load-balancer-eip-allocations", 30*time.Second
	return &e
}

// zoneNotSupported is AWS's code for a subnet in a zone without load balancers.
const zoneNotSupported = "AvailabilityZoneNotSupported"

// deleteBalancer deletes a load balancer. One that does not exist is no error.
func (c *calls) deleteBalancer(ctx context.Context, a stack.DeleteBalancer) (stack.Outcome, error) {
	var out stack.Outcome
	all := slices.Clone(c.have.Former)
	if c.have.Balancer != nil {
		all = append(all, *c.have.Balancer)
	}
	for _, b := range all {
		if b.Name != a.Name {
			continue
		}
		remove := func() error {
			_, err := c.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: sdk.String(b.ARN)})
			return Classify("DeleteLoadBalancer", err)
		}
		err := remove()
		if codeIs(err, "OperationNotPermitted") {
			// It is protected, and not by an annotation of the Service, which Delete
			// looks at first; or by one of a Service that allows to replace its load
			// balancer.
			off := map[string]string{"deletion_protection.enabled": "false"}
			if err = c.setBalancerAttributes(ctx, b.ARN, off); err == nil {
				out.Done = append(out.Done, stack.SetBalancerAttributes{Name: b.Name, Attributes: off})
				err = remove()
			}
		}
		if err != nil && !gone(err) {
			return out, err
		}
	}
	out.Done = append(out.Done, a)
	return out, nil
}
