package cases

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
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
// HAProxy. BACKEND, SERVER, CERT and DIR stand for those of route f/edge, whose
// servers are checked, and TLSSERVER and BUNDLE for those of f/re, whose one server is
// not.
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
	{"another program's certificate for a new name", false, []string{
		"new ssl cert /rogue.pem", "set ssl cert /rogue.pem <<%E%\nPEM%E%", "commit ssl cert /rogue.pem",
		"add ssl crt-list DIR/crt.list <<\n/rogue.pem rogue.f.test\n",
	}},
	{"another program's certificate for a name that has one", false, []string{
		"new ssl cert /rogue.pem", "set ssl cert /rogue.pem <<%E%\nPEM%E%", "commit ssl cert /rogue.pem",
		"add ssl crt-list DIR/crt.list <<\n/rogue.pem edge.f.test\n",
	}},
	{"a certificate lent to another name", false, []string{"add ssl crt-list DIR/crt.list <<\nCERT rogue.f.test\n"}},
	{"health checks turned off", false, []string{"disable health BACKEND/SERVER"}},
	{"a server said to be down", false, []string{"set server TLSSERVER health down"}},
	{"a certificate replaced under its name", false, []string{"set ssl cert CERT <<%E%\nPEM%E%", "commit ssl cert CERT"}},
	{"the default certificate replaced", false, []string{"set ssl cert DEFAULT <<%E%\nPEM%E%", "commit ssl cert DEFAULT"}},
	{"a CA bundle replaced under its name", false, []string{"set ssl ca-file BUNDLE <<%E%\nROGUE%E%", "commit ssl ca-file BUNDLE"}},
	{"a CA bundle with one more", false, []string{"add ssl ca-file BUNDLE <<%E%\nROGUE%E%", "commit ssl ca-file BUNDLE"}},
	{"a frontend paused", false, []string{"disable frontend public"}},
	{"a frontend limited", false, []string{"set maxconn frontend public 5"}},
	{"the process limited", false, []string{"set maxconn global 50"}},
	{"rates limited", false, []string{
		"set rate-limit connections global 50", "set rate-limit sessions global 50", "set rate-limit ssl-sessions global 50", "set rate-limit http-compression global 50",
	}},
	{"the way to where TLS ends disabled", false, []string{"disable server router_terminate/terminate"}},
	{"the way to where TLS ends limited", false, []string{"set maxconn server router_terminate/terminate 1", "set server router_terminate/terminate weight 0"}},
	{"the way to where TLS ends said to be down", false, []string{"set server router_terminate/terminate health down"}},
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
				count := b.count("fairlead_router_drift_corrections_total")
				b.drift(before, d.commands)
				b.eventually("the drift is repaired", func() error {
					if b.count("fairlead_router_drift_corrections_total") == count {
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
		b.calm()
		b.drift(before, []string{"shutdown frontend public_ssl"})
		b.eventually("a reload opens a frontend that was shut down", func() error {
			if b.reloads() == reloads {
				return fmt.Errorf("no reload")
			}
			return nil
		})
		b.serves(k, sampleRequests)
		if n := b.reloads() - reloads; n != 1 {
			t.Errorf("%d reloads", n)
		}
		b.calm()
	})
}

// calm demands that what is as it should be is no drift, and needs no more than
// a digest to be known as such.
func (b *bed) calm() {
	b.t.Helper()
	b.eventually("three looks at HAProxy find nothing", func() error {
		drift, readBacks := b.count("fairlead_router_drift_corrections_total"), b.count("fairlead_router_state_reads_total")
		time.Sleep(3 * b.driftCheck)
		if d, r := b.count("fairlead_router_drift_corrections_total"), b.count("fairlead_router_state_reads_total"); d != drift || r != readBacks {
			return fmt.Errorf("drift went from %d to %d, readings of everything from %d to %d", drift, d, readBacks, r)
		}
		return nil
	})
}

// inspect is readBack with all that the router looks at.
func (b *bed) inspect() *plan.State {
	b.t.Helper()
	st := b.readBack()
	known := st.Clone()
	for id := range known.Certs {
		known.Certs[id] = b.text(b.layout.CertFile(id))
	}
	for id := range known.CAs {
		known.CAs[id] = b.text(b.layout.CAFile(id))
	}
	if err := b.newRuntime().Inspect(st, known); err != nil {
		b.t.Fatal(err)
	}
	return st
}

// text returns what HAProxy would read if it started now, or nothing.
func (b *bed) text(file string) string {
	b.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}

// drift runs commands, with the names of route f/edge put in.
func (b *bed) drift(st *plan.State, commands []string) {
	b.t.Helper()
	var socket runtime.SingleRuntime
	if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		b.t.Fatal(err)
	}
	backend := plan.TargetBackend(st.Entries[plan.Entry{Map: plan.MapHTTPS, Key: "edge.f.test/"}])
	servers := make([]string, 0, 2)
	if st.Backends[backend] == nil {
		b.t.Fatalf("no backend %q for the route to drift", backend)
	}
	for _, s := range st.Backends[backend].Servers {
		servers = append(servers, s.Name)
	}
	rogue := pki().leaf(b.t, "rogue")
	tls := plan.TargetBackend(st.Entries[plan.Entry{Map: plan.MapHTTPS, Key: "re.f.test/"}])
	for _, s := range st.Backends[tls].Servers {
		tls += "/" + s.Name
	}
	var ca string
	for id := range st.CAs {
		ca = b.layout.CAFile(id)
	}
	names := strings.NewReplacer("TLSSERVER", tls, "DEFAULT", b.layout.CertFile(plan.DefaultCertID), "ROGUE", rogue.certPEM, "BUNDLE", ca,
		"BACKEND", backend, "SERVER", servers[0], "OTHER", servers[1], "DIR", b.layout.Dir,
		"CERT", b.layout.CertFile(st.Lines["edge.f.test"]), "PEM", rogue.certPEM+rogue.keyPEM)
	for _, c := range commands {
		if err := socket.Execute(names.Replace(c)); err != nil {
			b.t.Fatalf("%s: %v", c, err)
		}
	}
}
