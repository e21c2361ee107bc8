package fakeaws_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestGroupOfAnother: a target group belongs to one load balancer, whatever
// call would lead to it from another one, until that leads elsewhere.
func TestGroupOfAnother(t *testing.T) {
	a := newAccount(t, fakeaws.Options{})
	one, two := a.balancer(types.LoadBalancerTypeEnumNetwork, "one"), a.balancer(types.LoadBalancerTypeEnumNetwork, "two")
	mine, theirs := a.group("mine", types.ProtocolEnumTcp), a.group("theirs", types.ProtocolEnumTcp)
	on, other := a.listener(one, mine, types.ProtocolEnumTcp), a.listener(two, theirs, types.ProtocolEnumTcp)
	turn := func(listener, group string) error {
		_, err := a.elb.ModifyListener(t.Context(), &elb.ModifyListenerInput{ListenerArn: &listener, DefaultActions: forward(group)})
		return err
	}
	create := func(balancer, group string) error {
		_, err := a.elb.CreateListener(t.Context(), &elb.CreateListenerInput{
			LoadBalancerArn: &balancer, Port: aws.Int32(443), Protocol: types.ProtocolEnumTcp, DefaultActions: forward(group),
		})
		return err
	}
	a.refused("ModifyListener", "TargetGroupAssociationLimit", turn(on, theirs))
	a.refused("CreateListener", "TargetGroupAssociationLimit", create(one, theirs))
	if err := create(two, theirs); err != nil {
		t.Errorf("a second listener of the same load balancer: %v", err)
	}
	free := a.group("free", types.ProtocolEnumTcp)
	if err := turn(other, free); err != nil {
		t.Error(err)
	}
	a.refused("while one of two listeners leads there", "TargetGroupAssociationLimit", turn(on, theirs))
	done[*elb.DeleteLoadBalancerOutput](t, "delete")(a.elb.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: &two}))
	if err := turn(on, theirs); err != nil {
		t.Errorf("after the other load balancer: %v", err)
	}
}

// TestPermissions: the same rule may stand once in a call and once in a group,
// and all sources of the same ports are shown as one permission.
func TestPermissions(t *testing.T) {
	a := newAccount(t, fakeaws.Options{})
	group, source := a.AddSecurityGroup("nodes", nil), a.AddSecurityGroup("front", nil)
	port := func(n int32, cidr string) ec2types.IpPermission {
		return ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &n, ToPort: &n, IpRanges: []ec2types.IpRange{{CidrIp: &cidr}}}
	}
	from := func(n int32, id string) ec2types.IpPermission {
		return ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &n, ToPort: &n, UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &id}}}
	}
	open := func(list ...ec2types.IpPermission) error {
		_, err := a.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: list})
		return err
	}
	shown := func() (list []string) {
		t.Helper()
		out := done[*ec2.DescribeSecurityGroupsOutput](t, "groups")(a.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}}))
		for _, p := range out.SecurityGroups[0].IpPermissions {
			text := fmt.Sprint(*p.FromPort)
			for _, r := range p.IpRanges {
				text += " " + *r.CidrIp
			}
			for _, r := range p.Ipv6Ranges {
				text += " " + *r.CidrIpv6
			}
			for _, r := range p.UserIdGroupPairs {
				text += " " + *r.GroupId
			}
			list = append(list, text)
		}
		slices.Sort(list)
		return list
	}
	a.refused("twice in a call", "InvalidParameterValue", open(port(80, "198.18.0.0/16"), port(80, "198.18.0.0/16")))
	if got := shown(); len(got) > 0 {
		t.Errorf("a refused call left %v", got)
	}
	if err := open(port(80, "198.18.0.0/16"), port(80, "203.0.113.0/24"), from(80, source), port(443, "198.18.0.0/16")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"443 198.18.0.0/16", "80 198.18.0.0/16 203.0.113.0/24 " + source}, shown()); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	a.refused("one that is there, with a new one", "InvalidPermission.Duplicate", open(port(8080, "198.18.0.0/16"), port(80, "203.0.113.0/24")))
	if _, err := a.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{
		GroupId: &group, IpPermissions: []ec2types.IpPermission{port(80, "203.0.113.0/24")},
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"443 198.18.0.0/16", "80 198.18.0.0/16 " + source}, shown()); diff != "" {
		t.Errorf("after one source went (-want +got):\n%s", diff)
	}
}
