package aws

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func (r *run) group(ctx context.Context, a stack.Action) error {
	switch a := a.(type) {
	case stack.CreateTargetGroup:
		return r.createGroup(ctx, a.Group)
	case stack.ModifyTargetGroup:
		return r.modifyGroup(ctx, a)
	case stack.SetGroupAttributes:
		return r.setGroupAttributes(ctx, a)
	case stack.DeleteTargetGroup:
		return r.deleteGroup(ctx, a.Name)
	case stack.Register:
		return r.register(ctx, a.Name, a.Targets)
	case stack.Deregister:
		return r.deregister(ctx, a.Name, a.Targets)
	}
	return nil
}

func (r *run) createGroup(ctx context.Context, g stack.TargetGroup) error {
	in := &elb.CreateTargetGroupInput{
		Name: sdk.String(g.Name), Protocol: elbtypes.ProtocolEnum(g.Protocol), Port: sdk.Int32(g.Port), VpcId: sdk.String(g.VPC),
		TargetType: elbtypes.TargetTypeEnum(g.Type), IpAddressType: elbtypes.TargetGroupIpAddressTypeEnum(g.AddressType), Tags: elbTags(g.Tags), HealthCheckProtocol: elbtypes.ProtocolEnum(g.Check.Protocol),
		HealthCheckPort: sdk.String(g.Check.Port), HealthCheckIntervalSeconds: sdk.Int32(g.Check.Interval),
		HealthCheckTimeoutSeconds: sdk.Int32(g.Check.Timeout), HealthyThresholdCount: sdk.Int32(g.Check.Healthy),
		UnhealthyThresholdCount: sdk.Int32(g.Check.Unhealthy),
	}
	if g.Check.Path != "" {
		in.HealthCheckPath, in.Matcher = sdk.String(g.Check.Path), &elbtypes.Matcher{HttpCode: sdk.String(g.Check.Codes)}
	}
	out, err := r.hook.aws.elb.CreateTargetGroup(ctx, in)
	if err != nil {
		return r.retry(Classify("CreateTargetGroup", err))
	}
	for _, x := range out.TargetGroups {
		made := groupOf(x)
		made.Tags = g.Tags
		r.state.Groups = append(r.state.Groups, made)
		r.touch(partTargets, made.Name)
	}
	r.touch(partGroups, "")
	r.touch(partTags, "")
	r.hook.inventory.drop()
	return nil
}

func (r *run) modifyGroup(ctx context.Context, a stack.ModifyTargetGroup) error {
	arn, err := r.arnOf(a.Name)
	if err != nil {
		return err
	}
	c := a.Check
	in := &elb.ModifyTargetGroupInput{
		TargetGroupArn: sdk.String(arn), HealthCheckProtocol: elbtypes.ProtocolEnum(c.Protocol), HealthCheckPort: sdk.String(c.Port),
		HealthCheckIntervalSeconds: sdk.Int32(c.Interval), HealthCheckTimeoutSeconds: sdk.Int32(c.Timeout),
		HealthyThresholdCount: sdk.Int32(c.Healthy), UnhealthyThresholdCount: sdk.Int32(c.Unhealthy),
	}
	if c.Path != "" {
		in.HealthCheckPath, in.Matcher = sdk.String(c.Path), &elbtypes.Matcher{HttpCode: sdk.String(c.Codes)}
	}
	if _, err := r.hook.aws.elb.ModifyTargetGroup(ctx, in); err != nil {
		return r.retry(Classify("ModifyTargetGroup", err))
	}
	r.state.Group(a.Name).Check = c
	return nil
}

func (r *run) setGroupAttributes(ctx context.Context, a stack.SetGroupAttributes) error {
	arn, err := r.arnOf(a.Name)
	if err != nil {
		return err
	}
	in := &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: sdk.String(arn)}
	for _, k := range sortedKeys(a.Attributes) {
		in.Attributes = append(in.Attributes, elbtypes.TargetGroupAttribute{Key: sdk.String(k), Value: sdk.String(a.Attributes[k])})
	}
	out, err := r.hook.aws.elb.ModifyTargetGroupAttributes(ctx, in)
	if err != nil {
		return r.retry(Classify("ModifyTargetGroupAttributes", err))
	}
	g := r.state.Group(a.Name)
	for _, x := range out.Attributes {
		g.Attributes[sdk.ToString(x.Key)] = sdk.ToString(x.Value)
	}
	maps.Copy(g.Attributes, a.Attributes)
	r.touch(partGroupAttributes, a.Name)
	return nil
}

func (r *run) deleteGroup(ctx context.Context, name string) error {
	g := r.state.Group(name)
	if g == nil {
		return nil
	}
	_, err := r.hook.aws.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: sdk.String(g.ARN)})
	if err = Classify("DeleteTargetGroup", err); err != nil && !gone(err) {
		return err
	}
	r.state.Groups = slices.DeleteFunc(r.state.Groups, func(o stack.TargetGroup) bool { return o.Name == name })
	r.rereadRules()
	r.hook.inventory.drop()
	return nil
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
func (r *run) register(ctx context.Context, name string, targets []stack.Target) error {
	arn, err := r.arnOf(name)
	if err != nil {
		return err
	}
	for len(targets) > 0 {
		_, err := r.hook.aws.elb.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: sdk.String(arn), Targets: descriptions(targets)})
		if err = Classify("RegisterTargets", err); err == nil {
			break
		}
		invalid, full := codeIs(err, "InvalidTarget"), hook.ClassOf(err) == hook.ClassQuota
		var refused []stack.Target
		if invalid {
			refused = slices.DeleteFunc(slices.Clone(targets), func(t stack.Target) bool { return !strings.Contains(hook.AsError(err).Message, "'"+t.ID+"'") })
		}
		switch {
		case len(refused) == 0 && len(targets) > 1 && (invalid || full):
			half := len(targets) / 2
			if err := r.register(ctx, name, targets[:half]); err != nil {
				return err
			}
			return r.register(ctx, name, targets[half:])
		case !invalid:
			return r.retry(err)
		case len(refused) == 0:
			refused = targets
		}
		for _, t := range refused {
			r.bad[t.ID] = r.hook.now()
			r.hook.facts.forgetMachine(t.ID)
		}
		targets = slices.DeleteFunc(slices.Clone(targets), func(t stack.Target) bool { return slices.Contains(refused, t) })
	}
	g := r.state.Group(name)
	for _, t := range targets {
		g.Targets = append(g.Targets, t)
		g.Health[t] = stack.Health{State: "initial", Reason: "Elb.RegistrationInProgress"}
	}
	return nil
}

func (r *run) deregister(ctx context.Context, name string, targets []stack.Target) error {
	arn, err := r.arnOf(name)
	if err != nil {
		return err
	}
	_, err = r.hook.aws.elb.DeregisterTargets(ctx, &elb.DeregisterTargetsInput{TargetGroupArn: sdk.String(arn), Targets: descriptions(targets)})
	if err = Classify("DeregisterTargets", err); err != nil && !codeIs(err, "InvalidTarget") {
		return r.retry(err)
	}
	g := r.state.Group(name)
	g.Targets = slices.DeleteFunc(slices.Clone(g.Targets), func(t stack.Target) bool { return slices.Contains(targets, t) })
	for _, t := range targets {
		g.Health[t] = stack.Health{State: "draining", Reason: "Target.DeregistrationInProgress"}
	}
	return nil
}

// tag sets and removes tags.
func (r *run) tag(ctx context.Context, a stack.Tag) error {
	if a.Resource.Frontend {
		return r.tagFrontend(ctx, a)
	}
	var arn string
	var tags *map[string]string
	switch g, l := r.state.Group(a.Resource.Group), r.state.Listener(a.Resource.Port); {
	case a.Resource.Balancer != "":
		arn, tags = r.state.Balancer.ARN, &r.state.Balancer.Tags
	case a.Resource.Group != "" && g != nil:
		arn, tags = g.ARN, &g.Tags
	case a.Resource.Port != 0 && l != nil:
		arn, tags = l.ARN, &l.Tags
	default:
		return hook.Errorf(hook.ClassBusy, "%s %s does not exist yet", a.Resource.Group, strconv.Itoa(int(a.Resource.Port)))
	}
	fresh := maps.Clone(*tags)
	if fresh == nil {
		fresh = map[string]string{}
	}
	if len(a.Set) > 0 {
		if _, err := r.hook.aws.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(a.Set)}); err != nil {
			return r.retry(Classify("AddTags", err))
		}
		maps.Copy(fresh, a.Set)
	}
	if len(a.Remove) > 0 {
		if _, err := r.hook.aws.elb.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: a.Remove}); err != nil {
			return r.retry(Classify("RemoveTags", err))
		}
		for _, k := range a.Remove {
			delete(fresh, k)
		}
	}
	*tags = fresh
	return nil
}

func (r *run) tagFrontend(ctx context.Context, a stack.Tag) error {
	id := []string{r.frontendID()}
	if len(a.Set) > 0 {
		if _, err := r.hook.aws.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: id, Tags: tagSpecification(a.Set)[0].Tags}); err != nil {
			return r.retry(Classify("CreateTags", err))
		}
	}
	if len(a.Remove) > 0 {
		in := &ec2.DeleteTagsInput{Resources: id}
		for _, k := range a.Remove {
			in.Tags = append(in.Tags, ec2types.Tag{Key: sdk.String(k)})
		}
		if _, err := r.hook.aws.ec2.DeleteTags(ctx, in); err != nil {
			return r.retry(Classify("DeleteTags", err))
		}
	}
	fresh := maps.Clone(r.state.Frontend.Tags)
	maps.Copy(fresh, a.Set)
	for _, k := range a.Remove {
		delete(fresh, k)
	}
	r.state.Frontend.Tags = fresh
	return nil
}
