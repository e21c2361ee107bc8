package hostile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// What the victim may notice.
const (
	// quiet is how long the victim is watched before the attack.
	quiet = 15 * time.Second
	// maxChange is how long a change of the victim may take to be live.
	maxChange = time.Second
	// maxP99 is the latency of its requests during the attack, in those before it.
	maxP99 = 3
	// Memory during the attack, in that before it.
	maxRouterMemory, maxHAProxyMemory = 2.0, 1.5
)

// TestOneTenant: what one tenant, client and neighbour do harms nobody else.
func TestOneTenant(t *testing.T) {
	if installed == nil {
		t.Skip(skipped)
	}
	v := newVictim(t, installed)
	before := observe(t, installed)

	calm := v.watch(t.Context(), quiet)
	calm.log(t, "quiet")
	if calm.failed > 0 || calm.asked < int(quiet.Seconds())*perSecond*8/10 {
		t.Fatalf("the machine cannot carry the load even when it is quiet: %d asked, %d failed, %v", calm.asked, calm.failed, calm.errs)
	}
	quietMemory := memory(t, installed)

	attacks := newAttacks(t, installed)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, a := range attacks {
		running.Go(func() { a.run(ctx) })
	}
	peak := newPeak(ctx, t, installed, &running)
	under := v.watch(t.Context(), duration)
	stop()
	running.Wait()

	under.log(t, "under attack")
	for _, a := range attacks {
		t.Logf("  %-14s %6d done, %6d refused; last: %v", a.name, a.done.Load(), a.refused.Load(), a.last())
		if a.done.Load() == 0 {
			t.Errorf("attack %s did nothing: %v", a.name, a.last())
		}
	}
	judge(t, calm, under)
	most := peak.most()
	t.Logf("memory, MB: router %d before, %d at most; HAProxy %d before, %d at most",
		quietMemory.router>>20, most.router>>20, quietMemory.haproxy>>20, most.haproxy>>20)
	if float64(most.router) > maxRouterMemory*float64(quietMemory.router) {
		t.Errorf("the router's memory grew from %d to %d MB", quietMemory.router>>20, most.router>>20)
	}
	if float64(most.haproxy) > maxHAProxyMemory*float64(quietMemory.haproxy) {
		t.Errorf("HAProxy's memory grew from %d to %d MB", quietMemory.haproxy>>20, most.haproxy>>20)
	}
	before.same(t, observe(t, installed))
}

// judge compares what the victim saw with what it may see.
func judge(t *testing.T, calm, under *seen) {
	t.Helper()
	if under.failed > 0 {
		t.Errorf("%d of the victim's %d requests failed: %v", under.failed, under.asked, errors.Join(under.errs...))
	}
	if p := under.percentile(99); p > maxP99*calm.percentile(99) {
		t.Errorf("99 %% of requests took up to %v, and %v before the attack", p, calm.percentile(99))
	}
	if len(under.changes) == 0 {
		t.Error("the victim changed nothing")
	}
	if slowest := slices.Max(append(under.changes, 0)); slowest > maxChange {
		t.Errorf("a change of the victim took %v to be live", slowest)
	}
	if under.changeErr != nil {
		t.Errorf("a change of the victim did not go live: %v", under.changeErr)
	}
}
