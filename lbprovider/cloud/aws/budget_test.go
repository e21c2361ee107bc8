package aws_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestSteadyState: what a load balancer that nobody touches costs: no change,
// and at most two reads in ten minutes.
func TestSteadyState(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	const windows = 36 // six hours
	most, all := 0, 0
	for range windows {
		b.clock.ahead += 10 * time.Minute
		mark := b.cloud.Mark()
		if _, err := b.hook.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		calls := b.cloud.Since(mark)
		if changes := fakeaws.Changes(calls); len(changes) > 0 {
			t.Errorf("changes: %v", changes)
		}
		most, all = max(most, len(calls)), all+len(calls)
	}
	t.Logf("steady state: 0 changes, at most %d reads in 10 minutes, %d in 6 hours", most, all)
	if most > 2 {
		t.Errorf("%d reads in 10 minutes, want at most 2", most)
	}
	if all == 0 {
		t.Error("no read at all: drift would never be found")
	}
}

// TestHundredAfterRestart: a hundred load balancers are taken over with at
// most 15 reads each, and no change.
func TestHundredAfterRestart(t *testing.T) {
	const n = 100
	b := newBed(t, fakeaws.Options{Limits: fakeaws.Limits{LoadBalancers: 2 * n, RulesPerSecurityGroup: 1000}})
	specs := make([]*hook.Spec, n)
	for i := range specs {
		specs[i] = routerSpec(4)
		specs[i].Ref = hook.Ref{Cluster: "test", Namespace: "openshift-ingress", Name: fmt.Sprintf("router-%d", i), UID: fmt.Sprintf("uid-%d", i)}
		b.ensure(specs[i])
	}
	b.restart()
	mark := b.cloud.Mark()
	for _, s := range specs {
		if r, err := b.hook.Ensure(t.Context(), s); err != nil || r.State != hook.StateReady {
			t.Fatalf("%s: %+v, %v", s.Ref, r, err)
		}
	}
	calls := b.cloud.Since(mark)
	t.Logf("100 load balancers after a restart: %d calls, %.1f each, %d changes", len(calls), float64(len(calls))/n, len(fakeaws.Changes(calls)))
	if len(calls) > 15*n {
		t.Errorf("%d calls, want at most %d", len(calls), 15*n)
	}
	if changes := fakeaws.Changes(calls); len(changes) > 0 {
		t.Errorf("changes: %v", changes)
	}
}

// TestManyTargets: 450 nodes take three calls for each port, and a rolling
// replacement registers before it deregisters.
func TestManyTargets(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	const n = 450
	for i := 4; i < n; i++ {
		b.cloud.AddInstance(instanceID(i), "subnet-a", fmt.Sprintf("10.0.%d.%d", 10+i/250, i%250+1), b.nodes)
	}
	got := b.changes(func() { b.ensure(routerSpec(n)) })
	calls := 0
	for _, a := range got {
		if a == "RegisterTargets" {
			calls++
		}
	}
	if calls != 6 {
		t.Errorf("%d RegisterTargets for %d nodes and two ports, want 6", calls, n)
	}
	other := routerSpec(n)
	for i := range 100 {
		b.cloud.AddInstance(instanceID(n+i), "subnet-b", fmt.Sprintf("10.0.20.%d", i+1), b.nodes)
		other.Targets.Nodes[i].ProviderID = instanceID(n + i)
	}
	mark := b.cloud.Mark()
	if _, err := b.hook.UpdateTargets(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	got = fakeaws.Actions(fakeaws.Changes(b.cloud.Since(mark)))
	if want := []string{"RegisterTargets", "RegisterTargets", "DeregisterTargets", "DeregisterTargets"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("calls %v, want %v", got, want)
	}
}
