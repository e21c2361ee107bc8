package aws_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestProtected: the Service's own annotation keeps its load balancer, until it
// is taken away, also while the Service is being deleted. Protection that
// somebody switched on at the console is lifted. An orphan's is not.
func TestProtected(t *testing.T) {
	const attribute = "deletion_protection.enabled"
	own := map[string]string{prefix + "attributes": attribute + "=true"}
	for _, c := range []struct {
		name    string
		service map[string]string // annotations when it was made
		console bool              // protected by somebody else
		now     map[string]string // annotations when it is deleted
		orphan  bool
		stays   bool
	}{
		{name: "by its own annotation", service: own, now: own, stays: true},
		{name: "its annotation is gone", service: own},
		{name: "at the console", console: true},
		{name: "an orphan by its annotation", service: own, orphan: true, stays: true},
		{name: "an orphan at the console", console: true, orphan: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{})
			spec := routerSpec(4)
			maps.Copy(spec.Annotations, c.service)
			b.ensure(spec)
			if c.console {
				b.cloud.SetBalancerAttribute(attribute, "true")
			}
			b.restart()
			d := &hook.Deletion{Ref: spec.Ref, Annotations: c.now, Orphan: c.orphan}
			mark := b.cloud.Mark()
			_, err := b.hook.Delete(t.Context(), d)
			if !c.stays {
				b.deletion(d)
				b.checkEmpty()
				return
			}
			if hook.ClassOf(err) != hook.ClassProtected || !strings.Contains(err.Error(), attribute) {
				t.Errorf("got %v", err)
			}
			if got := fakeaws.Changes(b.cloud.Since(mark)); len(got) > 0 || len(b.cloud.Balancers()) != 1 {
				t.Errorf("changes: %v", got)
			}
			b.deletion(&hook.Deletion{Ref: spec.Ref})
			b.checkEmpty()
		})
	}
}

// TestDrainOnDelete: where it is asked for, targets finish their connections
// before anything is deleted. It can be ended and begun again at any point.
func TestDrainOnDelete(t *testing.T) {
	b := newBed(t, fakeaws.Options{Delays: fakeaws.Delays{Drain: time.Minute}})
	spec := routerSpec(4)
	b.ensure(spec)
	b.options.DrainOnDelete = true
	b.restart()
	mark := b.cloud.Mark()
	for range 2 {
		r, err := b.hook.Delete(t.Context(), &hook.Deletion{Ref: spec.Ref})
		if err != nil || r.Done || !strings.Contains(r.Waiting, "8 targets") {
			t.Fatalf("%+v, %v", r, err)
		}
		b.restart()
	}
	if got := fakeaws.Actions(fakeaws.Changes(b.cloud.Since(mark))); !slices.Equal(got, []string{"DeregisterTargets", "DeregisterTargets"}) {
		t.Errorf("calls: %v", got)
	}
	b.clock.ahead += time.Minute
	b.delete(spec.Ref)
	b.checkEmpty()
	if got := fakeaws.Actions(fakeaws.Changes(b.cloud.Since(mark))); got[2] != "DeleteListener" {
		t.Errorf("calls: %v", got)
	}
}

// TestHeldSecurityGroup: a security group that something else uses does not
// hold the Service for ever. It stays among what is ours, and goes one day.
func TestHeldSecurityGroup(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	b.cloud.Script(fakeaws.Fault{Action: "DeleteSecurityGroup", Effect: fakeaws.Refuse(http.StatusBadRequest, "DependencyViolation", "resource sg has a dependent object")})
	start := b.clock.ahead
	r := b.deletion(&hook.Deletion{Ref: spec.Ref})
	if waited := b.clock.ahead - start; waited < 10*time.Minute || waited > 12*time.Minute || !strings.Contains(r.Left, "sg-") {
		t.Errorf("after %v: %+v", waited, r)
	}
	refs, err := b.hook.ListOwned(t.Context())
	if err != nil || len(refs) != 1 || refs[0].UID != spec.Ref.UID {
		t.Errorf("ours: %v, %v", refs, err)
	}
	b.cloud.Heal()
	b.deletion(&hook.Deletion{Ref: refs[0], Orphan: true})
	b.checkEmpty()
}

// TestRefusedZone: a zone without load balancers is left out where the subnets
// were found, whether AWS names it or not, also if it is two; where the user
// named them, it is an error.
func TestRefusedZone(t *testing.T) {
	const named = "Load balancers cannot be made in the zone eu-central-1b"
	const unnamed = "The specified Availability Zone is not supported"
	for _, c := range []struct {
		name    string
		kind    string
		refused map[string]string
		choose  string
		want    []string
	}{
		{name: "by name", refused: map[string]string{"eu-central-1b": named}, want: []string{"subnet-a", "subnet-c"}},
		{name: "without a name", refused: map[string]string{"eu-central-1b": unnamed}, want: []string{"subnet-a", "subnet-c"}},
		{name: "application load balancer", kind: "alb", refused: map[string]string{"eu-central-1c": unnamed}, want: []string{"subnet-a", "subnet-b"}},
		{name: "one is not enough for an application load balancer", kind: "alb", refused: map[string]string{"eu-central-1b": unnamed, "eu-central-1c": unnamed}},
		{name: "chosen by the user", choose: "subnet-a,subnet-b", refused: map[string]string{"eu-central-1b": named}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{})
			for zone, message := range c.refused {
				b.cloud.RefuseZone(zone, message)
			}
			spec := routerSpec(4)
			if c.choose != "" {
				spec.Annotations[prefix+"subnets"] = c.choose
			}
			if c.kind != "" {
				spec.Annotations[prefix+"type"] = c.kind
			}
			r, err := b.settle(t.Context(), spec)
			if c.want != nil && !slices.ContainsFunc(r.Problems, func(p hook.Problem) bool { return p.Reason == "ZoneLeftOut" && strings.Contains(p.Message, "subnet-") }) {
				t.Errorf("nobody says that a zone was left out: %+v", r.Problems)
			}
			if c.want == nil {
				if e := hook.AsError(err); e == nil || e.Code != "AvailabilityZoneNotSupported" || e.Class != hook.ClassInvalidConfig || len(b.cloud.Balancers()) > 0 {
					t.Errorf("got %v", err)
				}
			} else if err != nil || !slices.Equal(b.one().Subnets, c.want) {
				t.Errorf("subnets %v, %v", b.one().Subnets, err)
			}
			if got := b.changes(func() { b.restart(); _, _ = b.settle(t.Context(), spec) }); c.want != nil && len(got) > 0 { // the error is looked at above
				t.Errorf("another pass changed %v", got)
			}
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
}

// TestFailsForGood: a load balancer that AWS cannot make is made anew three
// times, and then not any more.
func TestFailsForGood(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	seen := map[string]bool{}
	for range 30 {
		seen[b.one().ARN] = true
		b.cloud.FailBalancers("no capacity")
		b.clock.ahead += 6 * time.Minute
		b.restart()
		r, err := b.hook.Ensure(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) == 4 && (r.State != hook.StatePending || r.Reason != "CloudLoadBalancerFailed") {
			t.Errorf("%+v", r)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d load balancers were made, want 4", len(seen))
	}
	b.delete(spec.Ref)
	b.checkEmpty()
}

// TestAllAddressesChange: other Elastic IP addresses for every subnet come one
// after the other, so that one always serves; with a single subnet it is said
// that it cannot be.
func TestAllAddressesChange(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	var ids []string
	for n := range 4 {
		ids = append(ids, b.cloud.AddAddress(fmt.Sprintf("198.18.1.%d", n+1)))
	}
	spec := routerSpec(4)
	spec.Annotations[prefix+"subnets"], spec.Annotations[prefix+"eip-allocations"] = "subnet-a,subnet-b", ids[0]+","+ids[1]
	b.ensure(spec)
	spec.Annotations[prefix+"eip-allocations"] = ids[2] + "," + ids[3]
	b.ensure(spec)
	if got := b.one().Addresses; got["subnet-a"] != "198.18.1.3" || got["subnet-b"] != "198.18.1.4" {
		t.Errorf("addresses %v", got)
	}
	b.delete(spec.Ref)

	spec.Annotations[prefix+"subnets"], spec.Annotations[prefix+"eip-allocations"] = "subnet-a", ids[0]
	b.ensure(spec)
	spec.Annotations[prefix+"eip-allocations"] = ids[1]
	// One that is in use elsewhere is said, and not waited for in silence.
	other := routerSpec(4)
	other.Ref.Name, other.Ref.UID = "other", "other"
	other.Annotations[prefix+"subnets"], other.Annotations[prefix+"eip-allocations"] = "subnet-a", ids[0]
	_, err := b.settle(t.Context(), other)
	if e := hook.AsError(err); hook.ClassOf(err) != hook.ClassInvalidConfig || e.Field != prefix+"eip-allocations" || e.RetryAfter == 0 {
		t.Errorf("got %v", err)
	}
	b.delete(other.Ref)
	var r *hook.Result
	if got := b.changes(func() { r = b.ensure(spec) }); len(got) > 0 {
		t.Errorf("changes: %v", got)
	}
	if len(r.Problems) != 1 || r.Problems[0].Reason != "RecreateRequired" || !r.Problems[0].Progressing {
		t.Errorf("problems: %+v", r.Problems)
	}
}
