package fakeaws_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/test/fakeaws"
)

// account is a cloud with the clients of the SDK.
type account struct {
	*fakeaws.Cloud
	t   *testing.T
	elb *elb.Client
	ec2 *ec2.Client
}

func newAccount(t *testing.T, o fakeaws.Options) *account {
	t.Helper()
	cloud := fakeaws.New(o)
	cloud.Zones3()
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	cfg := aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	return &account{cloud, t, elb.NewFromConfig(cfg), ec2.NewFromConfig(cfg)}
}

// refused checks the code of a refusal.
func (a *account) refused(what, code string, err error) {
	a.t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code {
		a.t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// done returns an answer that must be there.
func done[T any](t *testing.T, what string) func(out T, err error) T {
	t.Helper()
	return func(out T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return out
	}
}

// balancer makes a load balancer and returns its ARN.
func (a *account) balancer(kind types.LoadBalancerTypeEnum, name string, groups ...string) string {
	a.t.Helper()
	out := done[*elb.CreateLoadBalancerOutput](a.t, name)(a.elb.CreateLoadBalancer(a.t.Context(), &elb.CreateLoadBalancerInput{
		Name: &name, Type: kind, Subnets: []string{"subnet-a", "subnet-b"}, SecurityGroups: groups,
	}))
	return *out.LoadBalancers[0].LoadBalancerArn
}

// group makes a target group and returns its ARN.
func (a *account) group(name string, protocol types.ProtocolEnum) string {
	a.t.Helper()
	out := done[*elb.CreateTargetGroupOutput](a.t, name)(a.elb.CreateTargetGroup(a.t.Context(), &elb.CreateTargetGroupInput{
		Name: &name, Protocol: protocol, Port: aws.Int32(30080), VpcId: aws.String(fakeaws.DefaultVPC), TargetType: types.TargetTypeEnumInstance,
	}))
	return *out.TargetGroups[0].TargetGroupArn
}

func forward(group string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &group}}
}

// listener makes a listener that leads to a group and returns its ARN.
func (a *account) listener(balancer, group string, protocol types.ProtocolEnum) string {
	a.t.Helper()
	out := done[*elb.CreateListenerOutput](a.t, "listener")(a.elb.CreateListener(a.t.Context(), &elb.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: aws.Int32(80), Protocol: protocol, DefaultActions: forward(group),
	}))
	return *out.Listeners[0].ListenerArn
}

func hostIs(hosts ...string) types.RuleCondition {
	return types.RuleCondition{Field: aws.String("host-header"), HostHeaderConfig: &types.HostHeaderConditionConfig{Values: hosts}}
}

func (a *account) rule(listener string, priority int32, actions []types.Action, conditions ...types.RuleCondition) (string, error) {
	out, err := a.elb.CreateRule(a.t.Context(), &elb.CreateRuleInput{ListenerArn: &listener, Priority: &priority, Actions: actions, Conditions: conditions})
	if err != nil {
		return "", err
	}
	return *out.Rules[0].RuleArn, nil
}

// rules returns the rules of a listener as "priority field=values > action".
func (a *account) rules(listener string) []string {
	a.t.Helper()
	var list []string
	pages := elb.NewDescribeRulesPaginator(a.elb, &elb.DescribeRulesInput{ListenerArn: &listener, PageSize: aws.Int32(2)})
	for pages.HasMorePages() {
		page := done[*elb.DescribeRulesOutput](a.t, "rules")(pages.NextPage(a.t.Context()))
		for _, r := range page.Rules {
			text := *r.Priority
			for _, c := range r.Conditions {
				text += " " + *c.Field + "="
				switch {
				case c.HostHeaderConfig != nil:
					text += strings.Join(c.HostHeaderConfig.Values, ",")
				case c.HttpHeaderConfig != nil:
					text += *c.HttpHeaderConfig.HttpHeaderName + ":" + strings.Join(c.HttpHeaderConfig.Values, ",")
				case c.QueryStringConfig != nil:
					text += *c.QueryStringConfig.Values[0].Key + "=" + *c.QueryStringConfig.Values[0].Value
				case c.SourceIpConfig != nil:
					text += strings.Join(c.SourceIpConfig.Values, ",")
				}
			}
			text += " > " + string(r.Actions[0].Type)
			switch {
			case r.Actions[0].FixedResponseConfig != nil:
				text += " " + *r.Actions[0].FixedResponseConfig.StatusCode
			case r.Actions[0].RedirectConfig != nil:
				text += " " + string(r.Actions[0].RedirectConfig.StatusCode)
			}
			list = append(list, text)
		}
	}
	return list
}

// TestRules: the life of the rules of an application load balancer's listener.
func TestRules(t *testing.T) {
	a := newAccount(t, fakeaws.Options{})
	alb := a.balancer(types.LoadBalancerTypeEnumApplication, "alb", a.AddSecurityGroup("alb", nil))
	one, two := a.group("one", types.ProtocolEnumHttp), a.group("two", types.ProtocolEnumHttp)
	on := a.listener(alb, one, types.ProtocolEnumHttp)
	blue := done[string](t, "by host")(a.rule(on, 20, forward(two), hostIs("blue.example.com", "*.blue.example.com")))
	gone := done[string](t, "fixed")(a.rule(on, 30,
		[]types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("410")}}},
		types.RuleCondition{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String("X-Old"), Values: []string{"1"}}},
		types.RuleCondition{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{Values: []string{"10.0.0.0/8"}}}))
	done[string](t, "redirect")(a.rule(on, 10,
		[]types.Action{{Type: types.ActionTypeEnumRedirect, RedirectConfig: &types.RedirectActionConfig{Protocol: aws.String("HTTPS"), Port: aws.String("443"), StatusCode: types.RedirectActionStatusCodeEnumHttp301}}},
		types.RuleCondition{Field: aws.String("query-string"), QueryStringConfig: &types.QueryStringConditionConfig{Values: []types.QueryStringKeyValuePair{{Key: aws.String("secure"), Value: aws.String("yes")}}}}))
	want := []string{
		"10 query-string=secure=yes > redirect HTTP_301", "20 host-header=blue.example.com,*.blue.example.com > forward",
		"30 http-header=X-Old:1 source-ip=10.0.0.0/8 > fixed-response 410", "default > forward",
	}
	if diff := cmp.Diff(want, a.rules(on)); diff != "" {
		t.Errorf("created: (-want +got)\n%s", diff)
	}

	_, err := a.elb.DeleteTargetGroup(t.Context(), &elb.DeleteTargetGroupInput{TargetGroupArn: &two})
	a.refused("delete a group that only a rule uses", "ResourceInUse", err)
	done[*elb.ModifyRuleOutput](t, "modify")(a.elb.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: &blue, Conditions: []types.RuleCondition{hostIs("green.example.com")}}))
	done[*elb.SetRulePrioritiesOutput](t, "swap")(a.elb.SetRulePriorities(t.Context(), &elb.SetRulePrioritiesInput{
		RulePriorities: []types.RulePriorityPair{{RuleArn: &blue, Priority: aws.Int32(30)}, {RuleArn: &gone, Priority: aws.Int32(20)}},
	}))
	_, err = a.elb.SetRulePriorities(t.Context(), &elb.SetRulePrioritiesInput{RulePriorities: []types.RulePriorityPair{{RuleArn: &blue, Priority: aws.Int32(10)}}})
	a.refused("the priority of another", "PriorityInUse", err)
	want[1], want[2] = strings.Replace(want[2], "30", "20", 1), "30 host-header=green.example.com > forward"
	if diff := cmp.Diff(want, a.rules(on)); diff != "" {
		t.Errorf("changed: (-want +got)\n%s", diff)
	}

	done[*elb.DeleteRuleOutput](t, "delete")(a.elb.DeleteRule(t.Context(), &elb.DeleteRuleInput{RuleArn: &blue}))
	done[*elb.DeleteTargetGroupOutput](t, "delete its group")(a.elb.DeleteTargetGroup(t.Context(), &elb.DeleteTargetGroupInput{TargetGroupArn: &two}))
	done[*elb.DeleteLoadBalancerOutput](t, "delete all")(a.elb.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: &alb}))
	_, err = a.elb.DescribeRules(t.Context(), &elb.DescribeRulesInput{RuleArns: []string{gone}})
	a.refused("a rule of a deleted load balancer", "RuleNotFound", err)
}

// TestRefusedRules: what AWS refuses about rules.
func TestRefusedRules(t *testing.T) {
	a := newAccount(t, fakeaws.Options{Limits: fakeaws.Limits{RulesPerLoadBalancer: 1}})
	alb := a.balancer(types.LoadBalancerTypeEnumApplication, "alb", a.AddSecurityGroup("alb", nil))
	nlb := a.balancer(types.LoadBalancerTypeEnumNetwork, "nlb")
	http, tcp := a.group("http", types.ProtocolEnumHttp), a.group("tcp", types.ProtocolEnumTcp)
	on, below := a.listener(alb, http, types.ProtocolEnumHttp), a.listener(nlb, tcp, types.ProtocolEnumTcp)
	host, missing := hostIs("a.example.com"), strings.Replace(http, "targetgroup/http", "targetgroup/none", 1)
	loop := []types.Action{{Type: types.ActionTypeEnumRedirect, RedirectConfig: &types.RedirectActionConfig{Protocol: aws.String("HTTP"), StatusCode: types.RedirectActionStatusCodeEnumHttp302}}}
	six := []string{"a", "b", "c", "d", "e", "f"}
	for _, c := range []struct {
		what, code string
		listener   string
		priority   int32
		actions    []types.Action
		conditions []types.RuleCondition
	}{
		{"a network load balancer", "UnsupportedProtocol", below, 1, forward(tcp), []types.RuleCondition{host}},
		{"no such listener", "ListenerNotFound", on + "0", 1, forward(http), []types.RuleCondition{host}},
		{"priority 0", "ValidationError", on, 0, forward(http), []types.RuleCondition{host}},
		{"priority behind the last", "ValidationError", on, 50001, forward(http), []types.RuleCondition{host}},
		{"no condition", "ValidationError", on, 1, forward(http), []types.RuleCondition{}},
		{"unknown condition", "ValidationError", on, 1, forward(http), []types.RuleCondition{{Field: aws.String("moon"), Values: []string{"full"}}}},
		{"condition without value", "ValidationError", on, 1, forward(http), []types.RuleCondition{{Field: aws.String("path-pattern")}}},
		{"header without name", "ValidationError", on, 1, forward(http), []types.RuleCondition{{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{Values: []string{"x"}}}}},
		{"no block of addresses", "ValidationError", on, 1, forward(http), []types.RuleCondition{{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{Values: []string{"10.0.0.1"}}}}},
		{"two hosts conditions", "InvalidConfigurationRequest", on, 1, forward(http), []types.RuleCondition{host, host}},
		{"six values", "ValidationError", on, 1, forward(http), []types.RuleCondition{hostIs(six...)}},
		{"no such group", "TargetGroupNotFound", on, 1, forward(missing), []types.RuleCondition{host}},
		{"group of another load balancer", "TargetGroupAssociationLimit", on, 1, forward(tcp), []types.RuleCondition{host}},
		{"redirection to itself", "InvalidLoadBalancerAction", on, 1, loop, []types.RuleCondition{host}},
		{"two actions", "TooManyActions", on, 1, append(forward(http), forward(http)...), []types.RuleCondition{host}},
	} {
		_, err := a.rule(c.listener, c.priority, c.actions, c.conditions...)
		a.refused(c.what, c.code, err)
	}
	done[string](t, "the first")(a.rule(on, 1, forward(http), host))
	_, err := a.rule(on, 1, forward(http), host)
	a.refused("the same priority", "PriorityInUse", err)
	_, err = a.rule(on, 2, forward(http), host)
	a.refused("one more than the quota", "TooManyRules", err)

	all := done[*elb.DescribeRulesOutput](t, "rules")(a.elb.DescribeRules(t.Context(), &elb.DescribeRulesInput{ListenerArn: &on}))
	last := all.Rules[len(all.Rules)-1]
	if !*last.IsDefault {
		t.Fatalf("the last rule is not the default one: %+v", last)
	}
	_, err = a.elb.DeleteRule(t.Context(), &elb.DeleteRuleInput{RuleArn: last.RuleArn})
	a.refused("delete the default rule", "OperationNotPermitted", err)
	_, err = a.elb.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: aws.String(*last.RuleArn + "0"), Actions: forward(http)})
	a.refused("modify no rule", "RuleNotFound", err)
}

// TestNetworkInterfaces: those of machines and load balancers are there, and
// those of a deleted load balancer stay for a while.
func TestNetworkInterfaces(t *testing.T) {
	now := time.Unix(0, 0)
	a := newAccount(t, fakeaws.Options{Now: func() time.Time { return now }, Delays: fakeaws.Delays{Interfaces: time.Minute}})
	group := a.AddSecurityGroup("front", nil)
	a.AddInstance("i-00000000000000001", "subnet-c", "10.0.3.10", a.AddSecurityGroup("nodes", nil))
	nlb := a.balancer(types.LoadBalancerTypeEnumNetwork, "router", group)
	of := func(name string, values ...string) []string {
		t.Helper()
		var list []string
		pages := ec2.NewDescribeNetworkInterfacesPaginator(a.ec2, &ec2.DescribeNetworkInterfacesInput{
			Filters: []ec2types.Filter{{Name: &name, Values: values}}, MaxResults: aws.Int32(5),
		})
		for pages.HasMorePages() {
			page := done[*ec2.DescribeNetworkInterfacesOutput](t, name)(pages.NextPage(t.Context()))
			for _, n := range page.NetworkInterfaces {
				list = append(list, strings.Join([]string{string(n.InterfaceType), aws.ToString(n.SubnetId), aws.ToString(n.Groups[0].GroupName), aws.ToString(n.Attachment.InstanceId)}, " "))
			}
		}
		slices.Sort(list)
		return list
	}
	_, path, _ := strings.Cut(nlb, ":loadbalancer/")
	balancer := []string{"network_load_balancer subnet-a front ", "network_load_balancer subnet-b front "}
	for name, want := range map[string][]string{
		"description": balancer, "group-id": balancer, "attachment.instance-id": {"interface subnet-c nodes i-00000000000000001"},
	} {
		value := map[string]string{"description": "ELB " + path, "group-id": group, "attachment.instance-id": "i-*"}[name]
		if diff := cmp.Diff(want, of(name, value)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	done[*elb.DeleteLoadBalancerOutput](t, "delete")(a.elb.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: &nlb}))
	if got := of("group-id", group); len(got) != 1 {
		t.Errorf("after the deletion: %q", got)
	}
	_, err := a.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &group})
	a.refused("a group that an interface holds", "DependencyViolation", err)
	now = now.Add(time.Hour)
	if got := of("group-id", group); len(got) != 0 {
		t.Errorf("an hour later: %q", got)
	}

	ask := func(in *ec2.DescribeNetworkInterfacesInput) error {
		_, err := a.ec2.DescribeNetworkInterfaces(context.Background(), in)
		return err
	}
	a.refused("unknown id", "InvalidNetworkInterfaceID.NotFound", ask(&ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{"eni-0"}}))
	a.refused("unknown filter", "InvalidParameterValue", ask(&ec2.DescribeNetworkInterfacesInput{Filters: []ec2types.Filter{{Name: aws.String("colour"), Values: []string{"red"}}}}))
	a.refused("page too small", "InvalidParameterValue", ask(&ec2.DescribeNetworkInterfacesInput{MaxResults: aws.Int32(4)}))
}

// TestInternetGateways: a VPC with public subnets has one.
func TestInternetGateways(t *testing.T) {
	a := newAccount(t, fakeaws.Options{})
	ask := func(vpc string) []ec2types.InternetGateway {
		t.Helper()
		return done[*ec2.DescribeInternetGatewaysOutput](t, vpc)(a.ec2.DescribeInternetGateways(t.Context(), &ec2.DescribeInternetGatewaysInput{
			Filters: []ec2types.Filter{{Name: aws.String("attachment.vpc-id"), Values: []string{vpc}}},
		})).InternetGateways
	}
	if got := ask(fakeaws.DefaultVPC); len(got) != 1 || *got[0].InternetGatewayId != "igw-1" || *got[0].Attachments[0].VpcId != fakeaws.DefaultVPC || got[0].Attachments[0].State != "available" {
		t.Errorf("got %+v", got)
	}
	if got := ask("vpc-other"); len(got) != 0 {
		t.Errorf("another VPC: %+v", got)
	}
	_, err := a.ec2.DescribeInternetGateways(t.Context(), &ec2.DescribeInternetGatewaysInput{InternetGatewayIds: []string{"igw-2"}})
	a.refused("unknown id", "InvalidInternetGatewayID.NotFound", err)
}
