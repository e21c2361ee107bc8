package aws

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// security makes the calls of actions about security groups.
func (c *calls) security(ctx context.Context, a stack.Action) (stack.Outcome, error) {
	switch a := a.(type) {
	case stack.CreateSecurityGroup:
		out, err := c.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
			GroupName: sdk.String(a.Group.Name), VpcId: sdk.String(a.Group.VPC), Description: sdk.String(short(a.Group.Description, 255)),
			TagSpecifications: tagSpecification(a.Group.Tags),
		})
		if err == nil {
			a.Group.ID = sdk.ToString(out.GroupId)
		}
		return checked(a, Classify("CreateSecurityGroup", err))
	case stack.ChangeRules:
		return c.changeRules(ctx, a)
	case stack.DeleteSecurityGroup:
		_, err := c.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: sdk.String(a.ID)})
		return deleted(a, Classify("DeleteSecurityGroup", err))
	}
	return stack.Outcome{}, nil
}

// rules makes the calls that change the rules of one security group, and
// collects what they changed.
type rules struct {
	*calls
	id   string
	done []stack.Action
}

// changeRules opens what is to be opened before it closes anything.
func (c *calls) changeRules(ctx context.Context, a stack.ChangeRules) (stack.Outcome, error) {
	r := &rules{calls: c, id: a.Group}
	if r.id == "" {
		r.id = c.have.FrontendID()
	}
	authorize := slices.Clone(a.Authorize)
	for i := range authorize {
		if authorize[i].CIDR == "" && authorize[i].PrefixList == "" && authorize[i].Group == "" {
			authorize[i].Group = c.have.FrontendID()
		}
	}
	err := r.authorize(ctx, authorize)
	switch {
	case codeIs(err, "RulesPerSecurityGroupLimitExceeded") && len(a.Revoke) > 0 && len(authorize) > 0:
		err = r.swap(ctx, authorize, a.Revoke, err)
	case err == nil:
		err = r.revoke(ctx, a.Revoke)
	}
	out := stack.Outcome{Done: r.done}
	if codeIs(err, "InvalidPermission.Duplicate", "InvalidPermission.NotFound") {
		// The rules are not what was read: they are read again by the next pass.
		out.RulesOutdated = true
		out.Outdated, err = outdated(err)
	}
	return out, err
}

// swap puts rules in the place of others if there is no room for both, which
// AWS said by an error: one of each port stays until another one exists.
func (r *rules) swap(ctx context.Context, open, closing []stack.Rule, full error) error {
	stay, rest := firstOfPorts(closing)
	free := len(rest)
	if err := r.revoke(ctx, rest); err != nil {
		return err
	}
	first, more := firstOfPorts(open)
	for open = slices.Concat(first, more); len(open) > 0 || len(stay) > 0; {
		now := open[:min(free, len(open))]
		if len(now) == 0 && len(open) > 0 {
			return full
		}
		if err := r.authorize(ctx, now); err != nil {
			return err
		}
		open = open[len(now):]
		// What is yet to be opened keeps the former rule of its port.
		next := slices.DeleteFunc(slices.Clone(stay), func(ru stack.Rule) bool {
			return slices.ContainsFunc(open, ru.SamePort) && !slices.ContainsFunc(now, ru.SamePort)
		})
		if err := r.revoke(ctx, next); err != nil {
			return err
		}
		stay, free = slices.DeleteFunc(stay, func(ru stack.Rule) bool { return slices.Contains(next, ru) }), len(next)
	}
	return nil
}

const icmp = "icmp"

// firstOfPorts divides rules into the first of each port, and the others. Those
// of ICMP are always others, since no connection needs them.
func firstOfPorts(list []stack.Rule) (first, others []stack.Rule) {
	for _, ru := range list {
		if ru.Protocol == icmp || slices.ContainsFunc(first, ru.SamePort) {
			others = append(others, ru)
		} else {
			first = append(first, ru)
		}
	}
	return first, others
}

func (r *rules) authorize(ctx context.Context, list []stack.Rule) error {
	if len(list) == 0 {
		return nil
	}
	_, err := r.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: sdk.String(r.id), IpPermissions: permissions(list)})
	err = Classify("AuthorizeSecurityGroupIngress", err)
	if codeIs(err, "InvalidGroup.NotFound") && slices.ContainsFunc(list, func(ru stack.Rule) bool { return ru.Group != "" && ru.Group != r.have.FrontendID() }) {
		return aboutGroups(err)
	}
	if err == nil {
		r.done = append(r.done, stack.ChangeRules{Group: r.id, Authorize: list})
	}
	return err
}

func (r *rules) revoke(ctx context.Context, list []stack.Rule) error {
	if r.id != r.have.FrontendID() {
		r.nodeRules.closing.Lock()
		defer r.nodeRules.closing.Unlock()
		list = r.nodeRules.unneeded(r.ref.UID, r.id, list)
	}
	if len(list) == 0 {
		return nil
	}
	_, err := r.ec2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: sdk.String(r.id), IpPermissions: permissions(list)})
	if err = Classify("RevokeSecurityGroupIngress", err); err != nil {
		return err
	}
	r.nodeRules.closed(r.ref.UID, r.id, r.now())
	r.done = append(r.done, stack.ChangeRules{Group: r.id, Revoke: list})
	return nil
}

// aboutGroups makes an error for users of one about security groups that they
// named.
func aboutGroups(err error) error {
	if !codeIs(err, "InvalidSecurityGroup", "InvalidGroup.NotFound", "InvalidConfigurationRequest", "SecurityGroupsPerInterfaceLimitExceeded") {
		return err
	}
	e := *hook.AsError(err)
	e.Class, e.Field = hook.ClassInvalidConfig, stack.AnnotationPrefix+"aws-load-balancer-security-groups"
	return &e
}

// short makes a text fit into a field of AWS.
func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
