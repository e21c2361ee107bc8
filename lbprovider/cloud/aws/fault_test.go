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

// TestKilledAfterEveryCall ends the hook after its k-th changing call, for
// every k, and starts a new one that knows nothing. It must come to the same
// end as without that, with nothing double and nothing left over. The same for
// the way down.
func TestKilledAfterEveryCall(t *testing.T) {
	for _, kind := range kinds() {
		for _, stale := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, %d stale reads", kind, stale), func(t *testing.T) {
				up, down := undisturbed(t, kind)
				for k := range up {
					b := newBed(t, fakeaws.Options{StaleReads: stale})
					spec := b.specOf(kind, 4)
					mark := b.cloud.Mark()
					b.killAfter(k, func() {
						for range 3 {
							_, _ = b.hook.Ensure(t.Context(), spec) // it is cut off
						}
					})
					if n := len(succeeded(b.cloud.Since(mark))); n != k {
						t.Fatalf("%d changes before the end, want %d", n, k)
					}
					b.ensure(spec)
					b.check(kind, spec)
					b.restart()
					b.delete(spec.Ref)
					b.checkEmpty()
				}
				for k := range down {
					b := newBed(t, fakeaws.Options{StaleReads: stale})
					spec := b.specOf(kind, 4)
					b.ensure(spec)
					b.killAfter(k, func() {
						for range 3 {
							_, _ = b.hook.Delete(t.Context(), &hook.Deletion{Ref: spec.Ref}) // it is cut off
						}
					})
					b.delete(spec.Ref)
					b.checkEmpty()
				}
			})
		}
	}
}

// undisturbed returns how many changes a load balancer takes to come and to go.
func undisturbed(t *testing.T, kind string) (up, down int) {
	t.Helper()
	b := newBed(t, fakeaws.Options{})
	spec := b.specOf(kind, 4)
	up = len(b.changes(func() { b.ensure(spec) }))
	b.check(kind, spec)
	down = len(b.changes(func() { b.delete(spec.Ref) }))
	if up < 12 || down < 7 {
		t.Errorf("%d changes up and %d down are too few", up, down)
	}
	return up, down
}

// killAfter runs a function until k changing calls have succeeded; what it
// tries after that does not arrive. Then a new hook takes over.
func (b *bed) killAfter(k int, f func()) {
	b.t.Helper()
	b.cloud.CutAfter(k)
	f()
	b.cloud.Heal()
	b.restart()
}

// TestLostAnswers: every changing call is carried out, and the client is told
// that it failed.
func TestLostAnswers(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{})
			spec := b.specOf(kind, 4)
			lost := 0
			for _, action := range []string{
				"CreateSecurityGroup", "Authorize*", "CreateTargetGroup", "ModifyTargetGroupAttributes", "CreateLoadBalancer",
				"ModifyLoadBalancerAttributes", "AssociateWebACL", "CreateListener", "RegisterTargets",
			} {
				b.cloud.Script(fakeaws.Fault{Action: action, Count: 1, Effect: fakeaws.AcceptThenFail()})
				lost++
			}
			mark := b.cloud.Mark()
			b.ensure(spec)
			b.check(kind, spec)
			for _, action := range []string{"DeleteListener", "DeleteLoadBalancer", "DeleteTargetGroup", "Revoke*", "DeleteSecurityGroup"} {
				b.cloud.Script(fakeaws.Fault{Action: action, Count: 1, Effect: fakeaws.AcceptThenFail()})
				lost++
			}
			b.delete(spec.Ref)
			b.checkEmpty()
			if kind == network {
				lost -= 2 // it has neither attributes nor a web ACL
			}
			for _, c := range b.cloud.Since(mark) {
				if c.Code == "InternalFailure" {
					lost--
				}
			}
			if lost != 0 {
				t.Errorf("%d answers were not lost", lost)
			}
		})
	}
}

// succeeded are the changing calls that were carried out.
func succeeded(calls []fakeaws.Call) []fakeaws.Call {
	return slices.DeleteFunc(fakeaws.Changes(calls), func(c fakeaws.Call) bool { return c.Code != "" })
}

// TestStorms: throttling, errors of AWS, broken connections and answers cut
// short come at every third call. It takes longer, and ends the same.
func TestStorms(t *testing.T) {
	effects := map[string]fakeaws.Effect{
		"throttling": fakeaws.Throttle(), "500": fakeaws.Refuse(http.StatusInternalServerError, "InternalFailure", "oops"),
		"503": fakeaws.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "later"), "reset": fakeaws.Reset(), "cut short": fakeaws.Truncate(),
		"slow": fakeaws.Slow(time.Millisecond),
	}
	for i := range 2 * len(effects) {
		name, kind := slices.Sorted(maps.Keys(effects))[i/2], kinds()[i%2]
		effect := effects[name]
		t.Run(name+", "+kind, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{Delays: fakeaws.Delays{Activate: time.Minute, Initial: 30 * time.Second, Drain: time.Minute, Interfaces: time.Minute, Release: 10 * time.Second}})
			storm := fakeaws.Fault{Every: 3, Effect: effect}
			if name == "cut short" {
				storm.Count = 10 // the SDK does not try these again by itself
			}
			b.cloud.Script(storm)
			spec := b.specOf(kind, 4)
			b.ensure(spec)
			b.check(kind, spec)
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
}

// TestThrottledThroughout: the error says so, and nothing is half believed: a
// load balancer that is there stays and loses no address.
func TestThrottledThroughout(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{})
			spec := b.specOf(kind, 4)
			throttled := func() {
				t.Helper()
				b.cloud.Script(fakeaws.Fault{Effect: fakeaws.Throttle()})
				r, err := b.hook.Ensure(t.Context(), spec)
				if hook.ClassOf(err) != hook.ClassThrottled || r != nil && r.State == hook.StateReady && len(r.Ingress) == 0 {
					t.Fatalf("got %+v, %v", r, err)
				}
				b.cloud.Heal()
			}
			throttled()
			b.ensure(spec)
			before := b.one()
			b.restart()
			throttled()
			if got := b.changes(func() { b.ensure(spec) }); len(got) > 0 || b.one().ARN != before.ARN {
				t.Errorf("changes: %v", got)
			}
			b.check(kind, spec)
		})
	}
}

// TestCredentialsExpire: they expire between any two calls, on the way up and
// on the way down, and are good again later. It goes on where it was.
func TestCredentialsExpire(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			up, down := undisturbed(t, kind)
			b := newBed(t, fakeaws.Options{})
			spec := b.specOf(kind, 4)
			for k := range up {
				b.cloud.Script(fakeaws.Fault{Action: "[A-CM-Z]*", Skip: k, Effect: fakeaws.ExpiredToken()})
				_, err := b.hook.Ensure(t.Context(), spec)
				if err != nil && (hook.ClassOf(err) != hook.ClassDenied || !strings.Contains(err.Error(), "ExpiredToken")) {
					t.Fatalf("after %d calls: %v", k, err)
				}
				b.cloud.Heal()
			}
			b.ensure(spec)
			b.check(kind, spec)
			for k := range down {
				b.cloud.Script(fakeaws.Fault{Skip: k, Effect: fakeaws.ExpiredToken()})
				_, err := b.hook.Delete(t.Context(), &hook.Deletion{Ref: spec.Ref})
				if err != nil && hook.ClassOf(err) != hook.ClassDenied || k == 0 && err == nil {
					t.Fatalf("after %d calls: %v", k, err)
				}
				b.cloud.Heal()
			}
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		limits  fakeaws.Limits
		prepare func(*bed, *hook.Spec)
		class   hook.Class
		says    string
	}{
		{
			name: "credentials expired", class: hook.ClassDenied, says: "ExpiredToken",
			prepare: func(b *bed, _ *hook.Spec) { b.cloud.Script(fakeaws.Fault{Effect: fakeaws.ExpiredToken()}) },
		},
		{
			name: "action not allowed", class: hook.ClassDenied, says: "CreateLoadBalancer",
			prepare: func(b *bed, _ *hook.Spec) {
				b.cloud.Script(fakeaws.Fault{Action: "CreateLoadBalancer", Effect: fakeaws.Refuse(http.StatusForbidden, "AccessDenied", "User is not authorized")})
			},
		},
		{name: "no load balancer left in the quota", class: hook.ClassQuota, says: "TooManyLoadBalancers", limits: fakeaws.Limits{LoadBalancers: -1}, prepare: func(*bed, *hook.Spec) {}},
		{name: "no target group left in the quota", class: hook.ClassQuota, says: "TooManyTargetGroups", limits: fakeaws.Limits{TargetGroups: 1}, prepare: func(*bed, *hook.Spec) {}},
		{
			name: "a named subnet does not exist", class: hook.ClassInvalidConfig, says: "subnet-zzz",
			prepare: func(_ *bed, s *hook.Spec) { s.Annotations[prefix+"subnets"] = "subnet-a,subnet-zzz" },
		},
		{
			name: "two subnets in a zone", class: hook.ClassInvalidConfig, says: "same zone",
			prepare: func(b *bed, s *hook.Spec) {
				b.cloud.AddSubnet(fakeaws.Subnet{ID: "subnet-a2", CIDR: "10.0.9.0/24", Zone: "eu-central-1a"})
				s.Annotations[prefix+"subnets"] = "subnet-a,subnet-a2"
			},
		},
		{
			name: "a certificate that is not there", class: hook.ClassInvalidConfig, says: "CertificateNotFound",
			prepare: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"ssl-cert"], s.Annotations[prefix+"ssl-ports"] = "arn:aws:acm:eu-central-1:123456789012:certificate/none", "https"
			},
		},
	} {
		for _, kind := range kinds() {
			t.Run(c.name+", "+kind, func(t *testing.T) {
				b := newBed(t, fakeaws.Options{Limits: c.limits})
				spec := b.specOf(kind, 4)
				c.prepare(b, spec)
				_, err := b.settle(t.Context(), spec)
				if hook.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("class %s, %v; want %s with %q", hook.ClassOf(err), err, c.class, c.says)
				}
				b.cloud.Heal()
				b.restart()
				b.delete(spec.Ref)
				b.checkEmpty()
			})
		}
	}
}

// TestOnePortFails: the other port works, and its name is published.
func TestOnePortFails(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	spec.Annotations[prefix+"ssl-cert"], spec.Annotations[prefix+"ssl-ports"] = "arn:aws:acm:eu-central-1:123456789012:certificate/none", "https"
	r, err := b.settle(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "port 443") {
		t.Errorf("error %v, want one that names port 443", err)
	}
	lb := b.one()
	if len(lb.Listeners) != 1 || lb.Listeners[0].Port != 80 || len(lb.Listeners[0].Group.Targets) != 4 {
		t.Errorf("listeners %+v", lb.Listeners)
	}
	if r == nil || len(r.Ingress) != 1 || r.Ingress[0].Hostname != lb.DNSName {
		t.Errorf("result %+v", r)
	}
}

// TestDrift: what somebody changed at the console is put right, two reads at a
// time.
func TestDrift(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	b.cloud.DeleteListenerByPort(443)
	deadline := 20
	for len(b.one().Listeners) < 2 {
		if deadline--; deadline == 0 {
			t.Fatal("the listener has not come back after 20 passes of 10 minutes")
		}
		b.clock.ahead += 10 * time.Minute
		if _, err := b.hook.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	b.checkRouter(spec)
}

// TestDeadMachine: a machine that AWS refuses is left out, and the others serve.
func TestDeadMachine(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	b.cloud.AddInstance(instanceID(4), "subnet-a", "10.0.1.14", b.nodes)
	b.cloud.AddInstance(instanceID(5), "subnet-a", "10.0.1.15", b.nodes)
	grown := routerSpec(6)
	b.cloud.SetInstanceState(instanceID(5), "stopped")
	if _, err := b.hook.UpdateTargets(t.Context(), grown); err != nil {
		t.Fatal(err)
	}
	for _, l := range b.one().Listeners {
		if len(l.Group.Targets) != 5 || slices.ContainsFunc(l.Group.Targets, func(s string) bool { return strings.HasPrefix(s, instanceID(5)) }) {
			t.Errorf("targets: %v", l.Group.Targets)
		}
	}
}

// TestFailedBalancer: one that AWS could not make is made anew after five
// minutes, and not sooner.
func TestFailedBalancer(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	b.cloud.FailBalancers("no capacity")
	b.restart()
	b.clock.ahead = 0
	r, err := b.hook.Ensure(t.Context(), spec)
	if err != nil || r.State != hook.StatePending || !strings.Contains(r.Message, "no capacity") {
		t.Errorf("%+v, %v", r, err)
	}
	old := b.one().ARN
	b.clock.ahead += 6 * time.Minute
	b.ensure(spec)
	b.checkRouter(spec)
	if b.one().ARN == old {
		t.Error("it is still the failed one")
	}
}

// TestFullGroup: where a target group has no room for a target more, those that
// are too many go first.
func TestFullGroup(t *testing.T) {
	b := newBed(t, fakeaws.Options{Limits: fakeaws.Limits{TargetsPerGroup: 4}})
	b.ensure(routerSpec(4))
	b.cloud.AddInstance(instanceID(4), "subnet-a", "10.0.1.14", b.nodes)
	other := routerSpec(5)
	other.Targets.Nodes = other.Targets.Nodes[1:]
	b.ensure(other)
	b.checkRouter(other)
}
