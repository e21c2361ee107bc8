package aws_test

import (
	"fmt"
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
	for _, stale := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d stale reads", stale), func(t *testing.T) {
			const up, down = 12, 7 // as many as TestJournal counts
			for k := range up {
				b := newBed(t, fakeaws.Options{StaleReads: stale})
				spec := routerSpec(4)
				spec.Annotations[prefix+"target-group-attributes"] = "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true"
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
				b.checkRouter(spec)
				b.restart()
				b.delete(spec.Ref)
				b.checkEmpty()
			}
			for k := range down {
				b := newBed(t, fakeaws.Options{StaleReads: stale})
				spec := routerSpec(4)
				b.ensure(spec)
				b.killAfter(k, func() {
					for range 3 {
						_, _ = b.hook.Delete(t.Context(), spec.Ref) // it is cut off
					}
				})
				b.delete(spec.Ref)
				b.checkEmpty()
			}
		})
	}
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
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	for _, action := range []string{"CreateSecurityGroup", "Authorize*", "CreateTargetGroup", "ModifyTargetGroupAttributes", "CreateLoadBalancer", "CreateListener", "RegisterTargets"} {
		b.cloud.Script(fakeaws.Fault{Action: action, Count: 1, Effect: fakeaws.AcceptThenFail()})
	}
	b.ensure(spec)
	b.checkRouter(spec)
	for _, action := range []string{"DeleteListener", "DeleteLoadBalancer", "DeleteTargetGroup", "Revoke*", "DeleteSecurityGroup"} {
		b.cloud.Script(fakeaws.Fault{Action: action, Count: 1, Effect: fakeaws.AcceptThenFail()})
	}
	b.delete(spec.Ref)
	b.checkEmpty()
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
	for name, effect := range effects {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{Delays: fakeaws.Delays{Activate: time.Minute, Initial: 30 * time.Second, Drain: time.Minute, Interfaces: time.Minute, Release: 10 * time.Second}})
			storm := fakeaws.Fault{Every: 3, Effect: effect}
			if name == "cut short" {
				storm.Count = 10 // the SDK does not try these again by itself
			}
			b.cloud.Script(storm)
			spec := routerSpec(4)
			b.ensure(spec)
			b.checkRouter(spec)
			b.delete(spec.Ref)
			b.checkEmpty()
		})
	}
}

// TestThrottledThroughout: the error says so, and nothing is half believed.
func TestThrottledThroughout(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	b.cloud.Script(fakeaws.Fault{Effect: fakeaws.Throttle()})
	_, err := b.hook.Ensure(t.Context(), routerSpec(4))
	if hook.ClassOf(err) != hook.ClassThrottled {
		t.Fatalf("got %v", err)
	}
	b.cloud.Heal()
	b.ensure(routerSpec(4))
	b.checkRouter(routerSpec(4))
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
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{Limits: c.limits})
			spec := routerSpec(4)
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

// TestForeign: what is not ours is never touched.
func TestForeign(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	spec.Annotations[prefix+"name"] = "theirs"
	other := routerSpec(4)
	other.Ref = hook.Ref{Cluster: "test", Namespace: "other", Name: "service", UID: "another-uid"}
	other.Annotations[prefix+"name"] = "theirs"
	b.ensure(other)
	before := b.cloud.Balancers()
	mark := b.cloud.Mark()
	_, err := b.settle(t.Context(), spec)
	if hook.ClassOf(err) != hook.ClassConflict || !strings.Contains(err.Error(), "other/service") {
		t.Errorf("got %v", err)
	}
	if len(b.cloud.Balancers()) != len(before) {
		t.Error("a load balancer came or went")
	}
	if got := fakeaws.Changes(b.cloud.Since(mark)); len(got) > 0 {
		t.Errorf("changes: %v", got)
	}
	b.delete(spec.Ref)
	if len(b.cloud.Balancers()) != 1 {
		t.Error("somebody else's load balancer was deleted")
	}
}

// TestStolenTags: without its tags a load balancer is not ours any more, and
// stays as it is, also when the Service goes.
func TestStolenTags(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	r := b.ensure(spec)
	spec.Ref.Handle = r.Handle
	b.cloud.StealTags("fairlead.dev/resource", map[string]string{"owner": "somebody"})
	b.restart()
	mark := b.cloud.Mark()
	_, err := b.hook.Ensure(t.Context(), spec)
	if hook.ClassOf(err) != hook.ClassConflict {
		t.Errorf("got %v", err)
	}
	if got := fakeaws.Changes(b.cloud.Since(mark)); len(got) > 0 {
		t.Errorf("changes: %v", got)
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
