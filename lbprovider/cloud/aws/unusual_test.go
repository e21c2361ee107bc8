package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestFullSecurityGroup: where there is no room for new rules beside the old
// ones, they take their place one by one, and no port is shut meanwhile.
func TestFullSecurityGroup(t *testing.T) {
	b := newBed(t, fakeaws.Options{Limits: fakeaws.Limits{RulesPerSecurityGroup: 3}, Changed: neverShut(t)})
	spec := routerSpec(4)
	b.ensure(spec)
	spec.SourceRanges = []string{"198.18.0.0/16"}
	got := b.changes(func() { b.ensure(spec) })
	if !slices.Equal(slices.Compact(slices.Sorted(slices.Values(got))), []string{"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"}) {
		t.Errorf("calls %v", got)
	}
	b.delete(spec.Ref)
	b.checkEmpty()
}

// TestImpaired: a load balancer that AWS says is impaired is said to be, and
// stays as it is.
func TestImpaired(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	b.cloud.ImpairBalancers("a fault in a zone")
	b.restart()
	b.clock.ahead += time.Minute
	var r *hook.Result
	got := b.changes(func() { r, _ = b.hook.Ensure(t.Context(), spec) })
	if r == nil || r.State != hook.StateDegraded || r.Reason != "LoadBalancerImpaired" || !strings.Contains(r.Message, "a fault in a zone") || len(r.Ingress) != 1 || len(got) > 0 {
		t.Errorf("%+v, changes %v", r, got)
	}
	b.cloud.ImpairBalancers("")
	b.ensure(spec)
}

// TestWithoutCertificate: an application load balancer serves port 80 alone,
// and says what is missing, until ACM has a certificate.
func TestWithoutCertificate(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	spec.Annotations[prefix+"type"], spec.Annotations["fairlead.dev/domain"] = "alb", "apps.example.com"
	r, err := b.settle(t.Context(), spec)
	if err != nil || r.State != hook.StateDegraded || len(b.one().Listeners) != 1 || b.one().Listeners[0].Redirect != "" {
		t.Fatalf("%+v, %v, %+v", r, err, b.one().Listeners)
	}
	if !slices.ContainsFunc(r.Problems, func(p hook.Problem) bool { return p.Field == "fairlead.dev/aws-alb-certificate-arn" }) {
		t.Errorf("problems %+v", r.Problems)
	}
	b.cloud.AddCertificate("*.apps.example.com")
	b.clock.ahead += 2 * time.Hour
	b.ensure(spec)
	if l := b.one().Listeners; len(l) != 2 || l[0].Redirect == "" || l[1].Protocol != "HTTPS" {
		t.Errorf("listeners %+v", l)
	}
	b.delete(spec.Ref)
	b.checkEmpty()
}

// TestPrivateAddresses: chosen addresses of an internal load balancer must lie
// in their subnets.
func TestPrivateAddresses(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	for n, zone := range []string{"a", "b"} {
		b.cloud.AddSubnet(fakeaws.Subnet{ID: "subnet-private-" + zone, CIDR: fmt.Sprintf("10.0.%d.0/24", n+101), Zone: "eu-central-1" + zone, Private: true})
	}
	spec := routerSpec(4)
	spec.Annotations[prefix+"scheme"], spec.Annotations[prefix+"subnets"] = "internal", "subnet-private-a,subnet-private-b"
	spec.Annotations[prefix+"private-ipv4-addresses"] = "10.0.101.5,10.0.101.6"
	if _, err := b.settle(t.Context(), spec); hook.ClassOf(err) != hook.ClassInvalidConfig || !strings.Contains(err.Error(), "10.0.101.6 is not in the subnet subnet-private-b") {
		t.Errorf("got %v", err)
	}
	spec.Annotations[prefix+"private-ipv4-addresses"] = "10.0.101.5,10.0.102.5"
	b.ensure(spec)
	created := slices.DeleteFunc(b.cloud.Since(0), func(c fakeaws.Call) bool { return c.Action != "CreateLoadBalancer" })
	if len(created) != 1 || created[0].Params["SubnetMappings.member.2.PrivateIPv4Address"] != "10.0.102.5" {
		t.Errorf("calls %+v", created)
	}
	if got := b.changes(func() { b.restart(); b.ensure(spec) }); len(got) > 0 {
		t.Errorf("a restart changed %v", got)
	}
}

// TestSecurityGroupsOfNodes: of several of a machine, the one that is tagged for
// the cluster is opened; without one, it is said that none is.
func TestSecurityGroupsOfNodes(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	other := b.cloud.AddSecurityGroup("theirs", nil)
	b.cloud.AddInstance(instanceID(4), "subnet-a", "10.0.1.14", other, b.nodes)
	b.cloud.AddInstance(instanceID(5), "subnet-a", "10.0.1.15", other, b.cloud.AddSecurityGroup("theirs", nil))
	r, err := b.hook.Ensure(t.Context(), routerSpec(5))
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = b.hook.Ensure(t.Context(), routerSpec(6))
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, instanceID(5)+" has the security groups") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, g := range b.cloud.SecurityGroups() {
		if g.Name == "theirs" && len(g.Rules) > 0 {
			t.Errorf("a security group that is not tagged was opened: %v", g.Rules)
		}
	}
}
