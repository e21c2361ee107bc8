package cases

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"

	"github.com/fairlead/fairlead/router/plan"
)

// TestDrift changes HAProxy behind the router's back, as an operator with
// socat might. The router puts it right and counts it, without a reload.
func TestDrift(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			b := newBed(t, version, newMemory())
			b.driftCheck = 300 * time.Millisecond
			k := newCore(t)
			ch := sampleChange(t)
			b.start()
			b.apply(ch)
			k.apply(ch)
			b.serves(k, sampleRequests)
			reloads := b.reloads()

			var socket runtime.SingleRuntime
			if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
				t.Fatal(err)
			}
			before := b.readBack()
			backend := before.Entries[plan.Entry{Map: plan.MapHTTPS, Key: "edge.f.test/"}]
			var server string
			for server = range before.Backends[backend].Servers {
				break
			}
			for _, command := range []string{
				"del map " + b.layout.MapFile(plan.MapHTTPS) + " edge.f.test/",
				"add map " + b.layout.MapFile(plan.MapHTTP) + " rogue.f.test/ " + backend,
				fmt.Sprintf("disable server %s/%s", backend, server),
				fmt.Sprintf("set server %s/%s weight 7", backend, server),
				"del ssl crt-list " + b.layout.CrtList() + " " + b.layout.CertFile(before.Lines["edge.f.test"]),
			} {
				if err := socket.Execute(command); err != nil {
					t.Fatal(err)
				}
			}
			b.eventually("the drift is repaired", func() error {
				if b.count("fairlead_router_drift_total") == 0 {
					return fmt.Errorf("nothing noticed")
				}
				if d := cmp.Diff(before, b.readBack(), cmpopts.IgnoreFields(plan.Backend{}, "Unpublished"), cmpopts.EquateComparable(netip.AddrPort{})); d != "" {
					return fmt.Errorf("-before +now:\n%s", d)
				}
				return nil
			})
			b.serves(k, sampleRequests)
			if n := b.reloads() - reloads; n != 0 {
				t.Errorf("%d reloads", n)
			}
			// What is as it should be is not drift.
			count := b.count("fairlead_router_drift_total")
			time.Sleep(3 * b.driftCheck)
			if n := b.count("fairlead_router_drift_total"); n != count {
				t.Errorf("drift went from %d to %d by itself", count, n)
			}
		})
	}
}
