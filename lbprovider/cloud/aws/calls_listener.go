package aws

import (
	"context"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// listener makes the calls of actions about listeners.
func (c *calls) listener(ctx context.Context, a stack.Action) (stack.Outcome, error) {
	switch a := a.(type) {
	case stack.CreateListener:
		return c.createListener(ctx, a.Listener)
	case stack.ModifyListener:
		return c.modifyListener(ctx, a)
	case stack.DeleteListener:
		l, found := c.have.Listener(a.Port)
		if !found {
			return stack.Outcome{}, nil
		}
		_, err := c.elb.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: sdk.String(l.ARN)})
		return deleted(a, Classify("DeleteListener", err))
	case stack.ChangeCertificates:
		return c.changeCertificates(ctx, a)
	case stack.SetListenerAttributes:
		l, err := c.listenerAt(a.Port)
		if err != nil {
			return stack.Outcome{}, err
		}
		in := &elb.ModifyListenerAttributesInput{ListenerArn: sdk.String(l.ARN)}
		for _, k := range sortedKeys(a.Attributes) {
			in.Attributes = append(in.Attributes, elbtypes.ListenerAttribute{Key: sdk.String(k), Value: sdk.String(a.Attributes[k])})
		}
		_, err = c.elb.ModifyListenerAttributes(ctx, in)
		return checked(a, Classify("ModifyListenerAttributes", err))
	}
	return stack.Outcome{}, nil
}

// defaultActions are what a listener does.
func (c *calls) defaultActions(l stack.Listener) ([]elbtypes.Action, error) {
	if l.RedirectTLS {
		return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumRedirect, RedirectConfig: &elbtypes.RedirectActionConfig{
			Protocol: sdk.String("HTTPS"), Port: sdk.String("443"), StatusCode: elbtypes.RedirectActionStatusCodeEnumHttp301,
			Host: sdk.String("#{host}"), Path: sdk.String("/#{path}"), Query: sdk.String("#{query}"),
		}}}, nil
	}
	g, err := c.groupNamed(l.Group)
	if err != nil {
		return nil, err
	}
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: &elbtypes.ForwardActionConfig{
		TargetGroups: []elbtypes.TargetGroupTuple{{TargetGroupArn: sdk.String(g.ARN)}},
	}}}, nil
}

func certificates(arns []string) []elbtypes.Certificate {
	var list []elbtypes.Certificate
	for _, arn := range arns {
		list = append(list, elbtypes.Certificate{CertificateArn: sdk.String(arn)})
	}
	return list
}

func defaultCertificate(l stack.Listener) []elbtypes.Certificate {
	return certificates(l.Certificates[:min(len(l.Certificates), 1)])
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

func (c *calls) createListener(ctx context.Context, l stack.Listener) (stack.Outcome, error) {
	actions, err := c.defaultActions(l)
	if err != nil {
		return stack.Outcome{}, err
	}
	out, err := c.elb.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: sdk.String(c.have.Balancer.ARN), Port: sdk.Int32(l.Port), Protocol: elbtypes.ProtocolEnum(l.Protocol),
		SslPolicy: policyOf(l), AlpnPolicy: alpnOf(l), Certificates: defaultCertificate(l), DefaultActions: actions, Tags: elbTags(l.Tags),
	})
	if err != nil {
		return checked(nil, aboutPort(Classify("CreateListener", err), l.Port))
	}
	var o stack.Outcome
	for _, x := range out.Listeners {
		created := listenerOf(x)
		created.Tags = l.Tags
		o.Done = append(o.Done, stack.CreateListener{Listener: created})
	}
	return o, nil
}

// aboutPort says in a message which port it is about.
func aboutPort(err error, port int32) error {
	if err == nil {
		return nil
	}
	e := *hook.AsError(err)
	e.Message = fmt.Sprintf("port %d: %s", port, e.Message)
	return &e
}

func (c *calls) modifyListener(ctx context.Context, a stack.ModifyListener) (stack.Outcome, error) {
	l := a.Listener
	have, err := c.listenerAt(l.Port)
	if err != nil {
		return stack.Outcome{}, err
	}
	actions, err := c.defaultActions(l)
	if err != nil {
		return stack.Outcome{}, err
	}
	_, err = c.elb.ModifyListener(ctx, &elb.ModifyListenerInput{
		ListenerArn: sdk.String(have.ARN), Port: sdk.Int32(l.Port), Protocol: elbtypes.ProtocolEnum(l.Protocol),
		SslPolicy: policyOf(l), AlpnPolicy: alpnOf(l), Certificates: defaultCertificate(l), DefaultActions: actions,
	})
	return checked(a, aboutPort(Classify("ModifyListener", err), l.Port))
}

func (c *calls) changeCertificates(ctx context.Context, a stack.ChangeCertificates) (stack.Outcome, error) {
	var out stack.Outcome
	l, err := c.listenerAt(a.Port)
	if err != nil {
		return out, err
	}
	if len(a.Add) > 0 {
		_, err := c.elb.AddListenerCertificates(ctx, &elb.AddListenerCertificatesInput{ListenerArn: sdk.String(l.ARN), Certificates: certificates(a.Add)})
		if err != nil {
			return checked(nil, aboutPort(Classify("AddListenerCertificates", err), a.Port))
		}
		out = did(stack.ChangeCertificates{Port: a.Port, Add: a.Add})
	}
	if len(a.Remove) > 0 {
		_, err := c.elb.RemoveListenerCertificates(ctx, &elb.RemoveListenerCertificatesInput{ListenerArn: sdk.String(l.ARN), Certificates: certificates(a.Remove)})
		if err != nil {
			out.Outdated, err = outdated(aboutPort(Classify("RemoveListenerCertificates", err), a.Port))
			return out, err
		}
		out.Done = append(out.Done, stack.ChangeCertificates{Port: a.Port, Remove: a.Remove})
	}
	return out, nil
}
