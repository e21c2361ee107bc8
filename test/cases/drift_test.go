package cases

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"

	"github.com/fairlead/fairlead/router/plan"
)

// drifts are changes that an operator with socat might make, in the words of
// HAProxy. BACKEND, SERVER, CERT and DIR stand for those of route f/edge.
var drifts = []struct {
	name     string
	dynamic  bool // needs 3.4
	commands []string
}{
	{"a routing key deleted", false, []string{"del map DIR/maps/https.map edge.f.test/"}},
	{"a routing key added", false, []string{"add map DIR/maps/http.map rogue.f.test/ BACKEND"}},
	{"a routing key changed", false, []string{"set map DIR/maps/https.map edge.f.test/ nowhere"}},
	{"a server name added", false, []string{"add map DIR/maps/sni.map rogue.f.test BACKEND"}},
	{"a policy added", false, []string{"add map DIR/maps/policy.map BACKEND 1000"}},
	{"an address admitted", false, []string{"add map DIR/maps/allow.map BACKEND/8/7F 1"}},
	{"a server disabled", false, []string{"disable server BACKEND/SERVER"}},
	{"a server drained", false, []string{"set server BACKEND/SERVER state drain"}},
	{"a weight changed", false, []string{"set server BACKEND/SERVER weight 7"}},
	{"an address changed", false, []string{"set server BACKEND/SERVER addr 198.18.250.99 port 99"}},
	{"a limit set", false, []string{"set maxconn server BACKEND/SERVER 3"}},
	{"a server added", false, []string{"add server BACKEND/rogue 198.18.250.99:80", "enable server BACKEND/rogue"}},
	{"a server deleted", false, []string{"set server BACKEND/SERVER state maint", "wait 2s srv-removable BACKEND/SERVER", "del server BACKEND/SERVER"}},
	{"a certificate's line deleted", false, []string{"del ssl crt-list DIR/crt.list CERT"}},
	{"a certificate added", false, []string{"new ssl cert /rogue.pem"}},
	{"a certificate of somebody else's for a new name", false, []string{
		"new ssl cert /rogue.pem", "set ssl cert /rogue.pem <<%E%\nPEM%E%", "commit ssl cert /rogue.pem",
		"add ssl crt-list DIR/crt.list <<\n/rogue.pem rogue.f.test\n",
	}},
	{"a certificate of somebody else's for a name that has one", false, []string{
		"new ssl cert /rogue.pem", "set ssl cert /rogue.pem <<%E%\nPEM%E%", "commit ssl cert /rogue.pem",
		"add ssl crt-list DIR/crt.list <<\n/rogue.pem edge.f.test\n",
	}},
	{"a certificate lent to another name", false, []string{"add ssl crt-list DIR/crt.list <<\nCERT rogue.f.test\n"}},
	{"a frontend paused", false, []string{"disable frontend public"}},
	{"a backend unpublished", true, []string{"unpublish backend BACKEND"}},
	{"a backend added", true, []string{"add backend be_http:f:rogue:00000000 from http_random"}},
	{"a backend deleted", true, []string{
		"del map DIR/maps/https.map edge.f.test/", "unpublish backend BACKEND", "set server BACKEND/SERVER state maint", "set server BACKEND/OTHER state maint",
		"wait 2s srv-removable BACKEND/SERVER", "del server BACKEND/SERVER", "wait 2s srv-removable BACKEND/OTHER", "del server BACKEND/OTHER",
		"wait 2s be-removable BACKEND", "del backend BACKEND",
	}},
}

// TestDrift changes HAProxy behind the router's back. The router puts it right
// and counts it, without a reload.
func TestDrift(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.driftCheck = 200 * time.Millisecond
		k := newCore(t)
		ch := sampleChange(t)
		b.start()
		b.apply(ch)
		k.apply(ch)
		b.serves(k, sampleRequests)
		reloads := b.reloads()
		// Servers that old requests still use are no drift, but differ.
		if b.caps.DynamicBackends {
			b.settled()
		}
		before := b.inspect()
		for _, d := range drifts {
			if d.dynamic && !b.caps.DynamicBackends {
				continue
			}
			t.Run(d.name, func(t *testing.T) {
				b.t = t
				count := b.count("fairlead_router_drift_total")
				b.drift(before, d.commands)
				b.eventually("the drift is repaired", func() error {
					if b.count("fairlead_router_drift_total") == count {
						return fmt.Errorf("nothing noticed")
					}
					if d := cmp.Diff(before, b.inspect(), cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.AddrPort{})); d != "" {
						return fmt.Errorf("-before +now:\n%s", d)
					}
					return nil
				})
				b.serves(k, sampleRequests)
			})
		}
		b.t = t
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

// inspect is readBack with all that the router looks at.
func (b *bed) inspect() *plan.State {
	b.t.Helper()
	st := b.readBack()
	if err := b.newRuntime().Inspect(st); err != nil {
		b.t.Fatal(err)
	}
	return st
}

// drift runs commands, with the names of route f/edge put in.
func (b *bed) drift(st *plan.State, commands []string) {
	b.t.Helper()
	var socket runtime.SingleRuntime
	if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		b.t.Fatal(err)
	}
	backend := st.Entries[plan.Entry{Map: plan.MapHTTPS, Key: "edge.f.test/"}]
	servers := make([]string, 0, 2)
	for name := range st.Backends[backend].Servers {
		servers = append(servers, name)
	}
	rogue := pki().leaf(b.t, "rogue")
	names := strings.NewReplacer("BACKEND", backend, "SERVER", servers[0], "OTHER", servers[1], "DIR", b.layout.Dir,
		"CERT", b.layout.CertFile(st.Lines["edge.f.test"]), "PEM", rogue.certPEM+rogue.keyPEM)
	for _, c := range commands {
		if err := socket.Execute(names.Replace(c)); err != nil {
			b.t.Fatalf("%s: %v", c, err)
		}
	}
}
