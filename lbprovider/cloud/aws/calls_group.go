package aws

import (
	"context"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// group makes the calls of actions about target groups.
func (c *calls) group(ctx context.Context, a stack.Action) (stack.Outcome, error) {
	switch a := a.(type) {
	case stack.CreateTargetGroup:
		return c.createGroup(ctx, a.Group)
	case stack.DeleteTargetGroup:
		g, found := c.have.Group(a.Name)
		if !found {
			return stack.Outcome{}, nil
		}
		_, err := c.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: sdk.String(g.ARN)})
		return deleted(a, Classify("DeleteTargetGroup", err))
	case stack.ModifyTargetGroup:
		return c.modifyGroup(ctx, a)
	case stack.SetGroupAttributes:
		return c.setGroupAttributes(ctx, a)
	case stack.Register:
		return c.register(ctx, a)
	case stack.Deregister:
		return c.deregister(ctx, a)
	}
	return stack.Outcome{}, nil
}

func (c *calls) createGroup(ctx context.Context, g stack.TargetGroup) (stack.Outcome, error) {
	in := &elb.CreateTargetGroupInput{
		Name: sdk.String(g.Name), Protocol: elbtypes.ProtocolEnum(g.Protocol), Port: sdk.Int32(g.Port), VpcId: sdk.String(g.VPC),
		TargetType: elbtypes.TargetTypeEnum(g.Type), IpAddressType: elbtypes.TargetGroupIpAddressTypeEnum(g.AddressType), Tags: elbTags(g.Tags),
		HealthCheckProtocol: elbtypes.ProtocolEnum(g.Check.Protocol), HealthCheckPort: sdk.String(g.Check.Port),
		HealthCheckIntervalSeconds: sdk.Int32(g.Check.Interval), HealthCheckTimeoutSeconds: sdk.Int32(g.Check.Timeout),
		HealthyThresholdCount: sdk.Int32(g.Check.Healthy), UnhealthyThresholdCount: sdk.Int32(g.Check.Unhealthy),
	}
	if g.Check.Path != "" {
		in.HealthCheckPath, in.Matcher = sdk.String(g.Check.Path), &elbtypes.Matcher{HttpCode: sdk.String(g.Check.Codes)}
	}
	out, err := c.elb.CreateTargetGroup(ctx, in)
	if err != nil {
		return checked(nil, Classify("CreateTargetGroup", err))
	}
	var o stack.Outcome
	for _, x := range out.TargetGroups {
		created := groupOf(x)
		created.Tags = g.Tags
		o.Done = append(o.Done, stack.CreateTargetGroup{Group: created})
	}
	return o, nil
}

func (c *calls) modifyGroup(ctx context.Context, a stack.ModifyTargetGroup) (stack.Outcome, error) {
	g, err := c.groupNamed(a.Name)
	if err != nil {
		return stack.Outcome{}, err
	}
	in := &elb.ModifyTargetGroupInput{
		TargetGroupArn: sdk.String(g.ARN), HealthCheckProtocol: elbtypes.ProtocolEnum(a.Check.Protocol), HealthCheckPort: sdk.String(a.Check.Port),
		HealthCheckIntervalSeconds: sdk.Int32(a.Check.Interval), HealthCheckTimeoutSeconds: sdk.Int32(a.Check.Timeout),
		HealthyThresholdCount: sdk.Int32(a.Check.Healthy), UnhealthyThresholdCount: sdk.Int32(a.Check.Unhealthy),
	}
	if a.Check.Path != "" {
		in.HealthCheckPath, in.Matcher = sdk.String(a.Check.Path), &elbtypes.Matcher{HttpCode: sdk.String(a.Check.Codes)}
	}
	_, err = c.elb.ModifyTargetGroup(ctx, in)
	return checked(a, Classify("ModifyTargetGroup", err))
}

func (c *calls) setGroupAttributes(ctx context.Context, a stack.SetGroupAttributes) (stack.Outcome, error) {
	g, err := c.groupNamed(a.Name)
	if err != nil {
		return stack.Outcome{}, err
	}
	in := &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: sdk.String(g.ARN)}
	for _, k := range sortedKeys(a.Attributes) {
		in.Attributes = append(in.Attributes, elbtypes.TargetGroupAttribute{Key: sdk.String(k), Value: sdk.String(a.Attributes[k])})
	}
	out, err := c.elb.ModifyTargetGroupAttributes(ctx, in)
	if err != nil {
		return checked(nil, Classify("ModifyTargetGroupAttributes", err))
	}
	all := groupAttributes(out.Attributes) // AWS answers with those that were not set, too
	maps.Copy(all, a.Attributes)
	return did(stack.SetGroupAttributes{Name: a.Name, Attributes: all}), nil
}

func descriptions(targets []stack.Target) []elbtypes.TargetDescription {
	var list []elbtypes.TargetDescription
	for _, t := range targets {
		d := elbtypes.TargetDescription{Id: sdk.String(t.ID), Port: sdk.Int32(t.Port)}
		if t.Zone != "" {
			d.AvailabilityZone = sdk.String(t.Zone)
		}
		list = append(list, d)
	}
	return list
}

// register adds targets. AWS refuses all if it refuses one, so those that its
// message names are left out, or the half that holds them is looked for. If all
// are too many, as many as fit are looked for in the same way.
func (c *calls) register(ctx context.Context, a stack.Register) (stack.Outcome, error) {
	var out stack.Outcome
	g, err := c.groupNamed(a.Name)
	if err != nil {
		return out, err
	}
	for targets := a.Targets; len(targets) > 0; {
		_, err := c.elb.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: sdk.String(g.ARN), Targets: descriptions(targets)})
		if err = Classify("RegisterTargets", err); err == nil {
			out.Done = append(out.Done, stack.Register{Name: a.Name, Targets: targets})
			return out, nil
		}
		invalid, full := codeIs(err, "InvalidTarget"), hook.ClassOf(err) == hook.ClassQuota
		var refused []stack.Target
		if invalid {
			refused = slices.DeleteFunc(slices.Clone(targets), func(t stack.Target) bool { return !strings.Contains(hook.AsError(err).Message, "'"+t.ID+"'") })
		}
		switch {
		case len(refused) == 0 && len(targets) > 1 && (invalid || full):
			return c.registerHalves(ctx, a.Name, targets, out)
		case !invalid:
			out.Outdated, err = outdated(err)
			return out, err
		case len(refused) == 0:
			refused = targets
		}
		out.Refused = append(out.Refused, refused...)
		targets = slices.DeleteFunc(slices.Clone(targets), func(t stack.Target) bool { return slices.Contains(refused, t) })
	}
	return out, nil
}

// registerHalves registers the first half of targets, and then the other one if
// nothing but single targets were refused.
func (c *calls) registerHalves(ctx context.Context, name string, targets []stack.Target, out stack.Outcome) (stack.Outcome, error) {
	half := len(targets) / 2
	for _, part := range [][]stack.Target{targets[:half], targets[half:]} {
		more, err := c.register(ctx, stack.Register{Name: name, Targets: part})
		out.Done, out.Refused, out.Outdated = append(out.Done, more.Done...), append(out.Refused, more.Refused...), more.Outdated
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (c *calls) deregister(ctx context.Context, a stack.Deregister) (stack.Outcome, error) {
	g, err := c.groupNamed(a.Name)
	if err != nil {
		return stack.Outcome{}, err
	}
	_, err = c.elb.DeregisterTargets(ctx, &elb.DeregisterTargetsInput{TargetGroupArn: sdk.String(g.ARN), Targets: descriptions(a.Targets)})
	if err = Classify("DeregisterTargets", err); codeIs(err, "InvalidTarget") {
		err = nil // they are gone
	}
	return checked(a, err)
}
