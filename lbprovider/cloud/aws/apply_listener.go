package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func (r *run) listener(ctx context.Context, a stack.Action) error {
	switch a := a.(type) {
	case stack.CreateListener:
		return r.createListener(ctx, a.Listener)
	case stack.ModifyListener:
		return r.modifyListener(ctx, a.Listener)
	case stack.DeleteListener:
		l := r.state.Listener(a.Port)
		if l == nil {
			return nil
		}
		_, err := r.hook.aws.elb.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: sdk.String(l.ARN)})
		if err = Classify("DeleteListener", err); err != nil && !gone(err) {
			return err
		}
		r.state.Listeners = slices.DeleteFunc(r.state.Listeners, func(o stack.Listener) bool { return o.Port == a.Port })
	case stack.ChangeCertificates:
		return r.changeCertificates(ctx, a)
	case stack.SetListenerAttributes:
		l := r.state.Listener(a.Port)
		if l == nil {
			return hook.Errorf(hook.ClassBusy, "the listener of port %d does not exist yet", a.Port)
		}
		in := &elb.ModifyListenerAttributesInput{ListenerArn: sdk.String(l.ARN)}
		for _, k := range sortedKeys(a.Attributes) {
			in.Attributes = append(in.Attributes, elbtypes.ListenerAttribute{Key: sdk.String(k), Value: sdk.String(a.Attributes[k])})
		}
		if _, err := r.hook.aws.elb.ModifyListenerAttributes(ctx, in); err != nil {
			return r.retry(Classify("ModifyListenerAttributes", err))
		}
		maps.Copy(l.Attributes, a.Attributes)
	}
	return nil
}

// actionOf is what a listener does with a connection.
func (r *run) actionOf(l stack.Listener) ([]elbtypes.Action, error) {
	if l.RedirectTLS {
		return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumRedirect, RedirectConfig: &elbtypes.RedirectActionConfig{
			Protocol: sdk.String("HTTPS"), Port: sdk.String("443"), StatusCode: elbtypes.RedirectActionStatusCodeEnumHttp301,
			Host: sdk.String("#{host}"), Path: sdk.String("/#{path}"), Query: sdk.String("#{query}"),
		}}}, nil
	}
	arn, err := r.arnOf(l.Group)
	if err != nil {
		return nil, err
	}
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: &elbtypes.ForwardActionConfig{
		TargetGroups: []elbtypes.TargetGroupTuple{{TargetGroupArn: sdk.String(arn)}},
	}}}, nil
}

func defaultCertificate(l stack.Listener) []elbtypes.Certificate {
	if len(l.Certificates) == 0 {
		return nil
	}
	return []elbtypes.Certificate{{CertificateArn: sdk.String(l.Certificates[0])}}
}

func policyOf(l stack.Listener) *string {
	if l.Policy == "" {
		return nil
	}
	return sdk.String(l.Policy)
}

func alpnOf(l stack.Listener) []string {
	switch {
	case l.ALPN != "":
		return []string{l.ALPN}
	case l.Protocol == "TLS":
		return []string{"None"}
	}
	return nil
}

func (r *run) createListener(ctx context.Context, l stack.Listener) error {
	action, err := r.actionOf(l)
	if err != nil {
		return err
	}
	out, err := r.hook.aws.elb.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: sdk.String(r.state.Balancer.ARN), Port: sdk.Int32(l.Port), Protocol: elbtypes.ProtocolEnum(l.Protocol),
		SslPolicy: policyOf(l), AlpnPolicy: alpnOf(l), Certificates: defaultCertificate(l), DefaultActions: action, Tags: elbTags(l.Tags),
	})
	if err != nil {
		return r.retry(r.aboutPort(Classify("CreateListener", err), l.Port))
	}
	for _, x := range out.Listeners {
		made := r.listenerOf(x)
		made.Tags = l.Tags
		r.state.Listeners = append(r.state.Listeners, made)
		r.touch(partListenerAttributes, fmt.Sprint(l.Port))
		r.touch(partCertificates, fmt.Sprint(l.Port))
	}
	r.used(l.Group)
	return nil
}

// aboutPort says in a message which port could not be had.
func (r *run) aboutPort(err error, port int32) error {
	e := hook.AsError(err)
	e.Message = fmt.Sprintf("port %d: %s", port, e.Message)
	return e
}

// used notes that our load balancer leads to a group.
func (r *run) used(group string) {
	if g := r.state.Group(group); g != nil && !slices.Contains(g.UsedBy, r.state.Balancer.ARN) {
		g.UsedBy = append(g.UsedBy, r.state.Balancer.ARN)
	}
}

func (r *run) modifyListener(ctx context.Context, l stack.Listener) error {
	have := r.state.Listener(l.Port)
	if have == nil {
		return hook.Errorf(hook.ClassBusy, "the listener of port %d is gone", l.Port)
	}
	action, err := r.actionOf(l)
	if err != nil {
		return err
	}
	_, err = r.hook.aws.elb.ModifyListener(ctx, &elb.ModifyListenerInput{
		ListenerArn: sdk.String(have.ARN), Port: sdk.Int32(l.Port), Protocol: elbtypes.ProtocolEnum(l.Protocol),
		SslPolicy: policyOf(l), AlpnPolicy: alpnOf(l), Certificates: defaultCertificate(l), DefaultActions: action,
	})
	if err != nil {
		return r.retry(r.aboutPort(Classify("ModifyListener", err), l.Port))
	}
	if old := r.state.Group(have.Group); old != nil && have.Group != l.Group {
		old.UsedBy = slices.DeleteFunc(old.UsedBy, func(arn string) bool { return arn == r.state.Balancer.ARN })
	}
	have.Protocol, have.Policy, have.ALPN, have.Group, have.RedirectTLS = l.Protocol, l.Policy, l.ALPN, l.Group, l.RedirectTLS
	have.Certificates = append(slices.Clone(l.Certificates[:min(1, len(l.Certificates))]), have.Certificates...)
	r.used(l.Group)
	return nil
}

func (r *run) changeCertificates(ctx context.Context, a stack.ChangeCertificates) error {
	l := r.state.Listener(a.Port)
	if l == nil {
		return hook.Errorf(hook.ClassBusy, "the listener of port %d does not exist yet", a.Port)
	}
	list := func(arns []string) []elbtypes.Certificate {
		var out []elbtypes.Certificate
		for _, arn := range arns {
			out = append(out, elbtypes.Certificate{CertificateArn: sdk.String(arn)})
		}
		return out
	}
	if len(a.Add) > 0 {
		if _, err := r.hook.aws.elb.AddListenerCertificates(ctx, &elb.AddListenerCertificatesInput{ListenerArn: sdk.String(l.ARN), Certificates: list(a.Add)}); err != nil {
			return r.retry(r.aboutPort(Classify("AddListenerCertificates", err), a.Port))
		}
	}
	if len(a.Remove) > 0 {
		if _, err := r.hook.aws.elb.RemoveListenerCertificates(ctx, &elb.RemoveListenerCertificatesInput{ListenerArn: sdk.String(l.ARN), Certificates: list(a.Remove)}); err != nil {
			return r.retry(r.aboutPort(Classify("RemoveListenerCertificates", err), a.Port))
		}
	}
	l.Certificates = append(slices.DeleteFunc(l.Certificates, func(c string) bool { return slices.Contains(a.Remove, c) }), a.Add...)
	return nil
}
