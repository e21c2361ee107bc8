package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
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

func (r *run) balancer(ctx context.Context, a stack.Action) error {
	if c, ok := a.(stack.CreateBalancer); ok {
		return r.createBalancer(ctx, c)
	}
	if d, ok := a.(stack.DeleteBalancer); ok {
		return r.deleteBalancer(ctx, d.Name)
	}
	b := r.state.Balancer
	arn := sdk.String(b.ARN)
	switch a := a.(type) {
	case stack.SetSecurityGroups:
		ids := r.groupIDs(a.Groups, a.Frontend)
		_, err := r.hook.aws.elb.SetSecurityGroups(ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: arn, SecurityGroups: ids})
		if err == nil {
			b.SecurityGroups = ids
		}
		return aboutGroups(Classify("SetSecurityGroups", err))
	case stack.SetSubnets:
		_, err := r.hook.aws.elb.SetSubnets(ctx, &elb.SetSubnetsInput{LoadBalancerArn: arn, SubnetMappings: subnetMappings(a.Subnets)})
		if err == nil {
			b.Subnets = a.Subnets
		}
		return addressInUse(Classify("SetSubnets", err), a.Subnets)
	case stack.SetAddressType:
		_, err := r.hook.aws.elb.SetIpAddressType(ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: arn, IpAddressType: elbtypes.IpAddressType(a.AddressType)})
		if err == nil {
			b.AddressType = a.AddressType
		}
		return Classify("SetIpAddressType", err)
	case stack.SetBalancerAttributes:
		return r.setBalancerAttributes(ctx, b, a.Attributes)
	case stack.SetACL:
		return r.setACL(ctx, b.ARN, a.ARN)
	}
	return nil
}

func (r *run) setBalancerAttributes(ctx context.Context, b *stack.Balancer, attributes map[string]string) error {
	in := &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: sdk.String(b.ARN)}
	for _, k := range sortedKeys(attributes) {
		in.Attributes = append(in.Attributes, elbtypes.LoadBalancerAttribute{Key: sdk.String(k), Value: sdk.String(attributes[k])})
	}
	if _, err := r.hook.aws.elb.ModifyLoadBalancerAttributes(ctx, in); err != nil {
		return Classify("ModifyLoadBalancerAttributes", err)
	}
	if b.Attributes == nil {
		b.Attributes = map[string]string{}
	}
	maps.Copy(b.Attributes, attributes)
	return nil
}

func (r *run) setACL(ctx context.Context, balancer, acl string) error {
	if acl == "none" {
		_, err := r.hook.aws.waf.DisassociateWebACL(ctx, &wafv2.DisassociateWebACLInput{ResourceArn: sdk.String(balancer)})
		if err == nil {
			r.state.ACL = ""
		}
		return Classify("DisassociateWebACL", err)
	}
	_, err := r.hook.aws.waf.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{ResourceArn: sdk.String(balancer), WebACLArn: sdk.String(acl)})
	if err == nil {
		r.state.ACL = acl
	}
	return Classify("AssociateWebACL", err)
}

// groupIDs puts the frontend's id before the others.
func (r *run) groupIDs(others []string, frontend bool) []string {
	if !frontend {
		return others
	}
	return append([]string{r.frontendID()}, others...)
}

func (r *run) createBalancer(ctx context.Context, a stack.CreateBalancer) error {
	b := a.Balancer
	create := func(subnets []stack.Mapping) (*elb.CreateLoadBalancerOutput, error) {
		out, err := r.hook.aws.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
			Name: sdk.String(b.Name), Type: elbtypes.LoadBalancerTypeEnum(b.Kind), Scheme: elbtypes.LoadBalancerSchemeEnum(b.Scheme),
			IpAddressType: elbtypes.IpAddressType(b.AddressType), SubnetMappings: subnetMappings(subnets),
			SecurityGroups: r.groupIDs(b.SecurityGroups, a.Frontend), Tags: elbTags(b.Tags),
		})
		return out, Classify("CreateLoadBalancer", err)
	}
	out, err := create(b.Subnets)
	if codeIs(err, zoneNotSupported) && b.Found {
		// Some zones have no load balancers. Which one it is, AWS's message may
		// say or not.
		for _, fewer := range r.hook.facts.without(b, hook.AsError(err).Message) {
			r.hook.log.Info("a zone has no load balancers; trying without it", "service", r.ref.String(), "subnets", fmt.Sprint(fewer), "err", err)
			if out, err = create(fewer); !codeIs(err, zoneNotSupported) {
				r.leftOut = leftOut(b.Subnets, fewer)
				break
			}
		}
	}
	if err != nil {
		return r.retry(addressInUse(err, b.Subnets))
	}
	for _, x := range out.LoadBalancers {
		made := balancerOf(x)
		made.Tags, made.Attributes = b.Tags, map[string]string{}
		r.state.Balancer, r.state.Listeners = &made, nil
	}
	r.touch(partBalancer, "")
	r.touch(partListeners, "")
	r.touch(partTags, "")
	// What the attributes are is read at the next pass.
	r.hook.inventory.drop()
	return nil
}

// leftOut names the subnets that AWS makes no load balancer in.
func leftOut(wanted, used []stack.Mapping) string {
	var ids []string
	for _, m := range wanted {
		if !slices.Contains(used, m) {
			ids = append(ids, m.Subnet)
		}
	}
	return "AWS has no load balancers in the zone of " + strings.Join(ids, " and ") + ", so the load balancer was made without"
}

// addressInUse makes an error for users of the one that says that an Elastic IP
// address is in use: it may be that of a load balancer that is just going, or
// of something that never will.
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

// deleteBalancer deletes a load balancer. One that is not there is no error.
func (r *run) deleteBalancer(ctx context.Context, name string) error {
	all := slices.Clone(r.state.Others)
	if r.state.Balancer != nil {
		all = append(all, *r.state.Balancer)
	}
	for _, b := range all {
		if b.Name != name {
			continue
		}
		remove := func() error {
			_, err := r.hook.aws.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: sdk.String(b.ARN)})
			return Classify("DeleteLoadBalancer", err)
		}
		err := remove()
		if codeIs(err, "OperationNotPermitted") {
			// Protected by somebody, and not by an annotation of the Service,
			// which Delete looks at first; or by one of a Service that allows
			// to replace its load balancer.
			if err = r.setBalancerAttributes(ctx, &b, map[string]string{"deletion_protection.enabled": "false"}); err == nil {
				err = remove()
			}
		}
		if err != nil && !gone(err) {
			return err
		}
		if r.state.Balancer != nil && r.state.Balancer.Name == name {
			r.state.Balancer, r.state.Listeners = nil, nil
		}
		for i := range r.state.Groups {
			r.state.Groups[i].UsedBy = slices.DeleteFunc(r.state.Groups[i].UsedBy, func(arn string) bool { return arn == b.ARN })
		}
		r.state.Others = slices.DeleteFunc(r.state.Others, func(o stack.Balancer) bool { return o.Name == name })
	}
	r.hook.inventory.drop()
	return nil
}

func (r *run) security(ctx context.Context, a stack.Action) error {
	switch a := a.(type) {
	case stack.CreateSecurityGroup:
		out, err := r.hook.aws.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
			GroupName: sdk.String(a.Group.Name), VpcId: sdk.String(a.Group.VPC), Description: sdk.String(short(a.Group.Description, 255)),
			TagSpecifications: tagSpecification(a.Group.Tags),
		})
		if err != nil {
			return r.retry(Classify("CreateSecurityGroup", err))
		}
		r.state.Frontend = &stack.SecurityGroup{ID: sdk.ToString(out.GroupId), Name: a.Group.Name, VPC: a.Group.VPC, Tags: a.Group.Tags}
		r.touch(partFrontend, "")
		r.hook.inventory.drop()
	case stack.ChangeRules:
		return r.changeRules(ctx, a)
	case stack.DeleteSecurityGroup:
		_, err := r.hook.aws.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: sdk.String(a.ID)})
		if err = Classify("DeleteSecurityGroup", err); err != nil && !gone(err) {
			return err
		}
		r.state.Frontend = nil
		r.hook.inventory.drop()
	}
	return nil
}
