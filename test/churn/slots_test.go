package churn

import (
	"context"
	"fmt"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/bench/rig/rigtest"
)

// TestSlotsGrow: more ports of Gateways than HAProxy has bound are one reload, whatever their number,
// and no request fails. When they are gone again, nothing happens.
func TestSlotsGrow(t *testing.T) {
	const most = 64 // listeners of a Gateway
	b := &bed{probe: rig.NewProbe(false)}
	b.Rig, b.router = rigtest.StartPrepared(t, unable, "haproxy", func(ctx context.Context, r *rig.Rig) error { return r.UseGateways(ctx) })
	t.Cleanup(b.probe.Close)
	b.must(t, b.CreateService(t.Context(), "pod", rig.Address(1)))
	add := func(n int) (slot int) {
		var listeners []gatewayv1.Listener
		for i := range most {
			listeners = append(listeners, rig.Listener(fmt.Sprintf("l%d", i), int32(8000+i), ""))
		}
		name := fmt.Sprintf("gateway%d", n)
		g := rig.Gateway(name, listeners...)
		b.must(t, b.Create(t.Context(), g, rig.HTTPRoute(rig.Namespace, name, name, rig.Host(name), rig.PathRule("/", "pod"))))
		slots, err := b.GiveSlots(t.Context(), g)
		b.must(t, err)
		slot = slots[8000+most-1]
		probe := rig.NewProbeAt(slot, false)
		defer probe.Close()
		b.must(t, rig.Until(limit, fmt.Sprintf("%s answers at %d", name, slot), func() (bool, error) {
			a, err := probe.Get(rig.Host(name), "/")
			return err == nil && a.Status == 200 && a.Body == rig.Address(1), nil
		}))
		return slot
	}
	first := add(0)
	reloaded := func(n int, when string) { // a reload is counted once all that follows from it is done
		b.must(t, rig.Until(limit, fmt.Sprintf("%d reloads %s", n, when), func() (bool, error) { return b.reloads(t) >= n, nil }))
		if got := b.reloads(t); got > n {
			t.Errorf("%d reloads %s, want %d", got, when, n)
		}
	}
	reloaded(1, "for the first Gateway")
	stop := b.load(t, fmt.Sprintf("http://127.0.0.1:%d/", first), rig.Host("gateway0"))
	for n := 1; n < 5; n++ {
		add(n)
	}
	reloaded(2, fmt.Sprintf("for %d ports", 5*most))
	b.must(t, b.FreeSlotsOf(t.Context(), "gateway4"))
	b.must(t, b.CreateService(t.Context(), "last", rig.Address(2)))
	b.must(t, b.Create(t.Context(), rig.Route("last")))
	b.body(t, "last", "/", rig.Address(2)) // a change that comes after it is live
	reloaded(2, "after the ports are gone")
	stop()
}
