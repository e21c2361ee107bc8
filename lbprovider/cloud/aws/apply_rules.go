package aws

import (
	"context"
	"maps"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// changeRules opens what is to be opened before it closes anything.
func (r *run) changeRules(ctx context.Context, a stack.ChangeRules) error {
	id, authorize := a.Group, slices.Clone(a.Authorize)
	if id == "" {
		id = r.frontendID()
	}
	for i := range authorize {
		if authorize[i].CIDR == "" && authorize[i].PrefixList == "" && authorize[i].Group == "" {
			authorize[i].Group = r.frontendID()
		}
	}
	err := r.authorize(ctx, id, authorize)
	if codeIs(err, "RulesPerSecurityGroupLimitExceeded") && len(a.Revoke) > 0 && len(authorize) > 0 {
		return r.reread(r.swapRules(ctx, id, authorize, a.Revoke, err))
	}
	if err == nil {
		err = r.revoke(ctx, id, a.Revoke)
	}
	return r.reread(err)
}

// reread has rules that are not what was read be read again next time.
func (r *run) reread(err error) error {
	if !codeIs(err, "InvalidPermission.Duplicate", "InvalidPermission.NotFound") {
		return err
	}
	r.rereadRules()
	return r.retry(err)
}

// rereadRules has rules be read again by the next pass: what they let in has
// changed, and some may be from before a start of ours.
func (v *view) rereadRules() {
	maps.DeleteFunc(v.read, func(p part, _ time.Time) bool { return p.kind == partFrontend || p.kind == partNodes })
}

// swapRules puts rules in the place of others where there is no room for both,
// which AWS said by an error: one of each port stays until another one is there.
func (r *run) swapRules(ctx context.Context, id string, open, shut []stack.Rule, full error) error {
	stay, rest := byPort(shut)
	free := len(rest)
	if err := r.revoke(ctx, id, rest); err != nil {
		return err
	}
	first, more := byPort(open)
	for open = slices.Concat(first, more); len(open) > 0 || len(stay) > 0; {
		now := open[:min(free, len(open))]
		if len(now) == 0 && len(open) > 0 {
			return full
		}
		if err := r.authorize(ctx, id, now); err != nil {
			return err
		}
		open = open[len(now):]
		// What is yet to be opened keeps the former rule of its port.
		next := slices.DeleteFunc(slices.Clone(stay), func(ru stack.Rule) bool {
			return slices.ContainsFunc(open, ru.SamePort) && !slices.ContainsFunc(now, ru.SamePort)
		})
		if err := r.revoke(ctx, id, next); err != nil {
			return err
		}
		stay, free = slices.DeleteFunc(stay, func(ru stack.Rule) bool { return slices.Contains(next, ru) }), len(next)
	}
	return nil
}

const icmp = "icmp"

// byPort divides rules into the first of each port, and the others; those of
// ICMP are always others, since no connection needs them.
func byPort(rules []stack.Rule) (first, others []stack.Rule) {
	for _, ru := range rules {
		if ru.Protocol == icmp || slices.ContainsFunc(first, ru.SamePort) {
			others = append(others, ru)
		} else {
			first = append(first, ru)
		}
	}
	return first, others
}

func (r *run) authorize(ctx context.Context, id string, rules []stack.Rule) error {
	if len(rules) == 0 {
		return nil
	}
	_, err := r.hook.aws.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: sdk.String(id), IpPermissions: permissions(rules)})
	err = Classify("AuthorizeSecurityGroupIngress", err)
	if codeIs(err, "InvalidGroup.NotFound") && slices.ContainsFunc(rules, func(ru stack.Rule) bool { return ru.Group != "" && ru.Group != r.frontendID() }) {
		return aboutGroups(err)
	}
	if err == nil {
		r.updateRules(id, rules, nil)
	}
	return err
}

func (r *run) revoke(ctx context.Context, id string, rules []stack.Rule) error {
	if id != r.frontendID() {
		r.hook.claims.closing.Lock()
		defer r.hook.claims.closing.Unlock()
		rules = r.hook.claims.unclaimed(r.ref.UID, id, rules)
	}
	if len(rules) == 0 {
		return nil
	}
	_, err := r.hook.aws.ec2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: sdk.String(id), IpPermissions: permissions(rules)})
	if err = Classify("RevokeSecurityGroupIngress", err); err != nil {
		return err
	}
	r.hook.claims.closed(r.ref.UID, id, r.hook.now())
	r.updateRules(id, nil, rules)
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

func (r *run) updateRules(id string, added, removed []stack.Rule) {
	change := func(g *stack.SecurityGroup) {
		g.Rules = append(slices.DeleteFunc(slices.Clone(g.Rules), func(o stack.Rule) bool { return slices.Contains(removed, o) }), added...)
	}
	if f := r.state.Frontend; f != nil && f.ID == id {
		change(f)
	}
	for i := range r.state.Nodes {
		if r.state.Nodes[i].ID == id {
			change(&r.state.Nodes[i])
		}
	}
}
