package aws_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestOwnershipLBC: where it is asked for, everything has the tags of the AWS
// Load Balancer Controller besides ours, and loses them when it is not asked for
// any more.
func TestOwnershipLBC(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	// what is tagged with which stack and resource
	tagged := func() map[string]string {
		all := map[string]string{}
		note := func(what string, tags map[string]string) {
			if tags["service.k8s.aws/stack"]+tags["service.k8s.aws/resource"] != "" {
				all[what] = tags["service.k8s.aws/stack"] + " " + tags["service.k8s.aws/resource"]
			}
			if tags["fairlead.dev/resource"] == "" && what != "nodes" {
				t.Errorf("%s has not our own tag: %v", what, tags)
			}
		}
		lb := b.one()
		note("load balancer", lb.Tags)
		for _, l := range lb.Listeners {
			note("listener "+l.Protocol+" "+string(rune('0'+l.Port/100)), l.Tags)
			note("group "+string(rune('0'+l.Port/100)), l.Group.Tags)
		}
		for _, g := range b.cloud.SecurityGroups() {
			if g.ID != b.nodes {
				note("security group", g.Tags)
			}
		}
		return all
	}
	b.ensure(spec)
	if got := tagged(); len(got) > 0 {
		t.Errorf("tags of another controller: %v", got)
	}
	b.options.Defaults.Ownership = stack.OwnershipLBC
	b.restart()
	b.ensure(spec)
	const name = "openshift-ingress/router-default"
	want := map[string]string{
		"load balancer": name + " LoadBalancer", "security group": name + " ManagedLBSecurityGroup",
		"listener TCP 0": name + " 80", "listener TCP 4": name + " 443", "group 0": name + " " + name + ":80", "group 4": name + " " + name + ":443",
	}
	if diff := cmp.Diff(want, tagged()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := b.changes(func() { b.restart(); b.ensure(spec) }); len(got) > 0 {
		t.Errorf("a restart changed %v", got)
	}
	b.options.Defaults.Ownership = stack.OwnershipNative
	b.restart()
	b.ensure(spec)
	if got := tagged(); len(got) > 0 {
		t.Errorf("tags that are left: %v", got)
	}
	b.delete(spec.Ref)
	b.checkEmpty()
}
