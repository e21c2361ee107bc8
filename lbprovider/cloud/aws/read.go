package aws

import (
	"context"
	"slices"
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
)

func (v *view) readBalancer(ctx context.Context) error {
	b := v.state.Balancer
	out, err := v.hook.aws.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{b.ARN}})
	if err != nil {
		return Classify("DescribeLoadBalancers", err)
	}
	for _, x := range out.LoadBalancers {
		fresh := balancerOf(x)
		fresh.Tags, fresh.Attributes = b.Tags, b.Attributes
		*b = fresh
	}
	return nil
}

func (v *view) readTags(ctx context.Context) error {
	var arns []string
	add := func(arn string) {
		if arn != "" {
			arns = append(arns, arn)
		}
	}
	if v.state.Balancer != nil {
		add(v.state.Balancer.ARN)
	}
	for _, g := range v.state.Groups {
		add(g.ARN)
	}
	for _, l := range v.state.Listeners {
		add(l.ARN)
	}
	tags := map[string]map[string]string{}
	if err := v.hook.readTags(ctx, arns, tags); err != nil {
		return err
	}
	if b := v.state.Balancer; b != nil {
		b.Tags = tags[b.ARN]
	}
	for i := range v.state.Groups {
		v.state.Groups[i].Tags = tags[v.state.Groups[i].ARN]
	}
	for i := range v.state.Listeners {
		v.state.Listeners[i].Tags = tags[v.state.Listeners[i].ARN]
	}
	return nil
}

func (v *view) readListeners(ctx context.Context) error {
	arn := sdk.String(v.state.Balancer.ARN)
	var fresh []stack.Listener
	pages := elb.NewDescribeListenersPaginator(v.hook.aws.elb, &elb.DescribeListenersInput{LoadBalancerArn: arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Classify("DescribeListeners", err)
		}
		for _, x := range page.Listeners {
			fresh = append(fresh, v.listenerOf(x))
		}
	}
	var newARNs []string
	for i, l := range fresh {
		if old := v.state.Listener(l.Port); old != nil && old.ARN == l.ARN {
			fresh[i].Tags, fresh[i].Attributes = old.Tags, old.Attributes
			if len(l.Certificates) > 0 && len(old.Certificates) > 0 {
				fresh[i].Certificates = append(slices.Clone(l.Certificates), slices.DeleteFunc(slices.Clone(old.Certificates), func(c string) bool { return c == l.Certificates[0] })...)
			}
			continue
		}
		newARNs = append(newARNs, l.ARN)
	}
	v.state.Listeners = fresh
	// The first time, tags come with the other tags a moment later.
	if _, read := v.read[part{kind: partTags}]; !read || len(newARNs) == 0 {
		return nil
	}
	delete(v.read, part{kind: partTags})
	return nil
}

func (v *view) listenerOf(x elbtypes.Listener) stack.Listener {
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
		arn := sdk.ToString(a.TargetGroupArn)
		if f := a.ForwardConfig; f != nil && len(f.TargetGroups) > 0 {
			arn = sdk.ToString(f.TargetGroups[0].TargetGroupArn)
		}
		l.Group = arn // where it is none of ours, it differs from any name
		for _, g := range v.state.Groups {
			if g.ARN == arn {
				l.Group = g.Name
			}
		}
	}
	return l
}

func (v *view) readGroups(ctx context.Context) error {
	var arns []string
	for _, g := range v.state.Groups {
		arns = append(arns, g.ARN)
	}
	out, err := v.hook.aws.elb.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: arns})
	if err != nil {
		return Classify("DescribeTargetGroups", err)
	}
	for _, x := range out.TargetGroups {
		fresh := groupOf(x)
		if g := v.state.Group(fresh.Name); g != nil {
			g.Check, g.UsedBy = fresh.Check, fresh.UsedBy
		}
	}
	return nil
}

func (v *view) readFrontend(ctx context.Context) error {
	list, err := v.hook.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{v.state.Frontend.ID}})
	if err != nil {
		return err
	}
	for _, g := range list {
		v.state.Frontend = &g
	}
	return nil
}

// readNodes reads the nodes' security groups.
func (v *view) readNodes(ctx context.Context, want stack.Stack) error {
	list, err := v.hook.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: want.NodeGroups})
	if err != nil {
		return err
	}
	v.state.Nodes = list
	return nil
}

func (v *view) readBalancerAttributes(ctx context.Context) error {
	out, err := v.hook.aws.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: sdk.String(v.state.Balancer.ARN)})
	if err != nil {
		return Classify("DescribeLoadBalancerAttributes", err)
	}
	v.state.Balancer.Attributes = map[string]string{}
	for _, a := range out.Attributes {
		v.state.Balancer.Attributes[sdk.ToString(a.Key)] = sdk.ToString(a.Value)
	}
	return nil
}

func (v *view) readGroupAttributes(ctx context.Context, name string) error {
	g := v.state.Group(name)
	out, err := v.hook.aws.elb.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: sdk.String(g.ARN)})
	if err != nil {
		return Classify("DescribeTargetGroupAttributes", err)
	}
	g.Attributes = map[string]string{}
	for _, a := range out.Attributes {
		g.Attributes[sdk.ToString(a.Key)] = sdk.ToString(a.Value)
	}
	return nil
}

// byPort returns the listener of a part's key.
func (v *view) byPort(key string) *stack.Listener {
	for i := range v.state.Listeners {
		if l := &v.state.Listeners[i]; strconv.Itoa(int(l.Port)) == key {
			return l
		}
	}
	return nil
}

func (v *view) readListenerAttributes(ctx context.Context, port string) error {
	l := v.byPort(port)
	out, err := v.hook.aws.elb.DescribeListenerAttributes(ctx, &elb.DescribeListenerAttributesInput{ListenerArn: sdk.String(l.ARN)})
	if err != nil {
		return Classify("DescribeListenerAttributes", err)
	}
	l.Attributes = map[string]string{}
	for _, a := range out.Attributes {
		l.Attributes[sdk.ToString(a.Key)] = sdk.ToString(a.Value)
	}
	return nil
}

func (v *view) readCertificates(ctx context.Context, port string) error {
	l := v.byPort(port)
	l.Certificates = l.Certificates[:min(len(l.Certificates), 1)]
	pages := elb.NewDescribeListenerCertificatesPaginator(v.hook.aws.elb, &elb.DescribeListenerCertificatesInput{ListenerArn: sdk.String(l.ARN)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Classify("DescribeListenerCertificates", err)
		}
		for _, c := range page.Certificates {
			if arn := sdk.ToString(c.CertificateArn); !sdk.ToBool(c.IsDefault) && !slices.Contains(l.Certificates, arn) {
				l.Certificates = append(l.Certificates, arn)
			}
		}
	}
	return nil
}

func (v *view) readTargets(ctx context.Context, name string) error {
	g := v.state.Group(name)
	out, err := v.hook.aws.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: sdk.String(g.ARN)})
	if err != nil {
		return Classify("DescribeTargetHealth", err)
	}
	g.Targets, g.Health = nil, map[stack.Target]stack.Health{}
	for _, d := range out.TargetHealthDescriptions {
		t := stack.Target{ID: sdk.ToString(d.Target.Id), Port: sdk.ToInt32(d.Target.Port), Zone: sdk.ToString(d.Target.AvailabilityZone)}
		h := stack.Health{State: string(d.TargetHealth.State), Reason: string(d.TargetHealth.Reason)}
		g.Health[t] = h
		if h.State != "draining" {
			g.Targets = append(g.Targets, t)
		}
	}
	return nil
}

func (v *view) readACL(ctx context.Context) error {
	out, err := v.hook.aws.waf.GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{ResourceArn: sdk.String(v.state.Balancer.ARN)})
	if err != nil {
		return Classify("GetWebACLForResource", err)
	}
	v.state.ACL = ""
	if out.WebACL != nil {
		v.state.ACL = sdk.ToString(out.WebACL.ARN)
	}
	return nil
}
