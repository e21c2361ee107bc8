package aws_test

import (
	"testing"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestForgedHandle: a handle that names somebody else's load balancer neither
// touches that nor keeps the Service from being deleted.
func TestForgedHandle(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	b.ensure(routerSpec(2))
	theirs := b.one()
	for _, first := range []bool{true, false} {
		spec := second(routerSpec(2))
		spec.Ref.Namespace = "elsewhere"
		if first { // it has a load balancer of its own
			b.ensure(spec)
			b.restart()
		}
		spec.Ref.Handle = theirs.ARN
		if _, err := b.hook.Ensure(t.Context(), spec); hook.ClassOf(err) != hook.ClassConflict {
			t.Errorf("ensure: %v", err)
		}
		b.delete(spec.Ref)
		if lb := b.one(); lb.ARN != theirs.ARN || len(lb.Listeners) != 2 {
			t.Errorf("left over: %+v", lb)
		}
	}
}

// TestTargetsAtTheQuota: as many targets are registered as fit, and it is told
// that the others are not.
func TestTargetsAtTheQuota(t *testing.T) {
	for _, limit := range []int{1, 3, 7} {
		b := newBed(t, fakeaws.Options{Limits: fakeaws.Limits{TargetsPerGroup: limit}})
		spec := routerSpec(8)
		for n := 4; n < 8; n++ {
			b.cloud.AddInstance(instanceID(n), "subnet-a", "10.0.1.99", b.nodes)
		}
		if _, err := b.settle(t.Context(), spec); hook.ClassOf(err) != hook.ClassQuota || hook.AsError(err).Code != "TooManyTargets" {
			t.Errorf("got %v", err)
		}
		for _, g := range b.cloud.Groups() {
			if len(g.Targets) != limit {
				t.Errorf("%d targets of %d", len(g.Targets), limit)
			}
		}
	}
}
