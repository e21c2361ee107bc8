package hostile

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What the victim may notice.
const (
	// quiet is how long the victim is watched before the attack. Pods that have just begun
	// make some requests slow: of fifteen seconds the slowest hundredth was 7 ms or 90.
	quiet, quietShort = time.Minute, 8 * time.Second
	// maxChange is how long a change of the victim may take to be live, and
	// maxP99 the latency of its requests during the attack, in those before it.
	// They are judged where the attack lasts long enough: a run of half a minute, as
	// one of many tests on a busy machine, only has bounds that tell whether
	// something stands still.
	maxChange, maxP99           = time.Second, 3
	maxChangeShort, maxP99Short = 10 * time.Second, time.Second
	long                        = 5 * time.Minute
	// Memory during the attack, in that before it.
	maxRouterMemory, maxHAProxyMemory = 2.0, 1.5
)

// TestOneTenant: one hostile tenant, client and neighbour harm no other.
func TestOneTenant(t *testing.T) {
	if installed == nil {
		t.Skip(skipped)
	}
	v := newVictim(t, installed)
	before := observe(t, installed)

	ctx, stop := context.WithCancel(t.Context())
	peak := newPeak(ctx, before, installed)
	watched := quietShort
	if duration >= long {
		watched = quiet
	}
	calm := v.watch(t.Context(), watched)
	stop()
	quietMemory := peak.most()
	calm.log(t, "quiet")
	if calm.failed > 0 || calm.asked < int(watched.Seconds())*perSecond*8/10 {
		t.Fatalf("the machine cannot carry the load even when it is quiet: %d asked, %d failed, %v", calm.asked, calm.failed, calm.errs)
	}

	end := attack(t, installed)
	ctx, stop = context.WithCancel(t.Context())
	peak = newPeak(ctx, before, installed)
	under := v.watch(t.Context(), duration)
	stop()
	most := peak.most()
	under.log(t, "under attack")
	for _, a := range end() {
		t.Logf("  %-15s %6d done, %6d refused; last: %v", a.Name, a.Done, a.Refused, a.Last)
		if a.Reached != "" {
			t.Errorf("attack %s: %s", a.Name, a.Reached)
		}
		if a.Done == 0 {
			t.Errorf("attack %s did nothing: %v", a.Name, a.Last)
		}
	}
	judge(t, calm, under)
	t.Logf("memory, MB: router %d before, %d at most; HAProxy %d before, %d at most",
		quietMemory.router>>20, most.router>>20, quietMemory.haproxy>>20, most.haproxy>>20)
	if float64(most.router) > maxRouterMemory*float64(quietMemory.router) {
		t.Errorf("the router's memory grew from %d to %d MB", quietMemory.router>>20, most.router>>20)
	}
	if float64(most.haproxy) > maxHAProxyMemory*float64(quietMemory.haproxy) {
		t.Errorf("HAProxy's memory grew from %d to %d MB", quietMemory.haproxy>>20, most.haproxy>>20)
	}
	if t.Logf("moves of the address: %q", peak.moves); len(peak.moves) > 0 && duration >= long {
		t.Errorf("the address moved: %q", peak.moves)
	}
	before.same(t, observe(t, installed))
}

// judge compares what the victim saw with what it may see.
func judge(t *testing.T, calm, under *seen) {
	t.Helper()
	if under.failed > 0 {
		t.Errorf("%d of the victim's %d requests failed: %v", under.failed, under.asked, errors.Join(under.errs...))
	}
	most, slowest := maxChange, maxP99*calm.percentile(99)
	if duration < long {
		most, slowest = maxChangeShort, maxP99Short
	}
	if p := under.percentile(99); p > slowest {
		t.Errorf("99 %% of requests took up to %v, and %v before the attack", p, calm.percentile(99))
	}
	if len(under.changes) == 0 {
		t.Error("the victim changed nothing")
	}
	for _, c := range under.changes {
		if c.live-c.still > most {
			t.Errorf("a change of the victim was late: %v", c)
		}
	}
	if under.changeErr != nil {
		t.Errorf("a change of the victim did not go live: %v", under.changeErr)
	}
}
