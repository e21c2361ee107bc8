package haproxy

import (
	"crypto/sha1"
	"encoding/pem"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// TestParseServer reads lines of HAProxy 3.4.7.
func TestParseServer(t *testing.T) {
	t.Parallel()
	line := func(op, admin, check string) string {
		return "4 be_x 1 s1 198.18.0.1 " + op + " " + admin + " 100 1 0 1 0 0 " + check + " 0 0 0 - 80 - 0 0 - - 0"
	}
	for _, tt := range []struct{ name, line, want string }{
		{"runs unchecked", line("2", "0", "0"), "s1 198.18.0.1:80*100"},
		{"runs checked", line("2", "0", "6"), "s1 198.18.0.1:80*100"},
		{"checked and found down", line("0", "0", "6"), "s1 198.18.0.1:80*100"},
		{"drained", line("2", "8", "0"), "s1 198.18.0.1:80*100 stopped"},
		{"in maintenance, its checks paused", line("0", "1", "14"), "s1 198.18.0.1:80*100 stopped"},
		{"checks turned off", line("0", "0", "2"), "s1 198.18.0.1:80*100 unchecked"},
		{"said to be down", line("0", "0", "0"), "s1 198.18.0.1:80*100 down"},
		{"a comment", "# be_id be_name srv_id srv_name", ""},
		{"the version of the format", "1", ""},
		{"nothing", "", ""},
	} {
		got := ""
		if row, ok := parseServer([]byte(tt.line)); ok {
			got = fmt.Sprintf("%s %s:%s*%s", row.server, row.address, row.port, row.weight)
			for _, f := range []struct {
				name string
				is   bool
			}{{"stopped", row.stopped}, {"unchecked", row.unchecked}, {"down", row.down}} {
				if f.is {
					got += " " + f.name
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s: read %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestParseProxy reads lines of "show stat" and says what puts them right.
func TestParseProxy(t *testing.T) {
	t.Parallel()
	line := func(name, row, limit, status string) string {
		return name + "," + row + ",,,0,0," + limit + ",0,0,0,0,0,0,,,,," + status + ",,,"
	}
	for _, tt := range []struct{ name, line, want string }{
		{"as it was", line("public", "FRONTEND", "500", "OPEN"), "[] "},
		{"paused", line("public", "FRONTEND", "500", "PAUSED"), "[{public}] "},
		{"limited", line("public", "FRONTEND", "5", "OPEN"), "[{maxconn frontend public 500}] "},
		{"shut down", line("public", "FRONTEND", "500", "STOP"), "[] " + shutDown},
		{"a backend", line("be_x", "BACKEND", "50", "UP"), "[] "},
		{"a server", line("be_x", "s1", "", "UP"), "-"},
		{"the heads of columns", "# pxname,svname,qcur", "-"},
	} {
		got := "-"
		if row, ok := parseProxy([]byte(tt.line)); ok {
			steps, broken := row.repairs(500)
			got = fmt.Sprintf("%v %s", steps, broken)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if row, _ := parseProxy([]byte(line("be_x", "BACKEND", "50", "UP (UNPUB)"))); !row.unpublished() {
		t.Error("an unpublished backend is not seen as such")
	}
}

// TestPrints compares fingerprints with those of the bytes.
func TestPrints(t *testing.T) {
	t.Parallel()
	var text string
	var want []string
	for _, der := range []string{"one", "two", "one"} {
		text += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(strings.Repeat(der, 100))}))
		want = append(want, fmt.Sprintf("%X", sha1.Sum([]byte(strings.Repeat(der, 100)))))
	}
	text += string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("key")}))
	var p printer
	for whole, want := range map[bool][]string{false: want[:1], true: want[:2]} {
		var got []string
		p.prints(text, whole, func(sum []byte) { got = append(got, string(sum)) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("whole %v (-want +got):\n%s", whole, d)
		}
	}
	for _, bad := range []string{"", plan.Altered, "-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----"} {
		p.prints(bad, true, func([]byte) { t.Errorf("%q has a fingerprint", bad) })
	}
}

// TestExpect: each difference shows, also twice the same, and no memory is
// spent on it.
func TestExpect(t *testing.T) {
	r, err := NewRuntime(testLayout, testCaps)
	if err != nil {
		t.Fatal(err)
	}
	built := func(change func(*plan.State)) *plan.State {
		st := plan.NewState()
		for i := range 100 {
			name := fmt.Sprintf("be_http:ns:route%d:00000000", i)
			st.Backends[name] = &plan.Backend{Servers: plan.Servers{{Name: "s", Server: &plan.Server{Address: netip.MustParseAddrPort("[2001:db8::1]:80"), Weight: 1, MaxConn: 7, Options: model.ServerOptions{TLS: true}}}}}
			st.Entries[plan.Entry{Map: plan.MapHTTP, Key: fmt.Sprintf("h%d/", i)}] = name
		}
		st.Certs["a:b:c"], st.CAs["a:b:d"], st.Lines["h1"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), "", "a:b:c"
		change(st)
		return st
	}
	b, entry := "be_http:ns:route7:00000000", plan.Entry{Map: plan.MapHTTP, Key: "h7/"}
	seen := map[uint64]string{}
	for name, change := range map[string]func(*plan.State){
		"as it is":        func(*plan.State) {},
		"another backend": func(st *plan.State) { st.Backends["be_x"] = &plan.Backend{} },
		"unpublished":     func(st *plan.State) { st.Backends[b].Unpublished = true },
		"another weight":  func(st *plan.State) { st.Backends[b].Servers.Get("s").Weight = 2 },
		"another address": func(st *plan.State) {
			st.Backends[b].Servers.Get("s").Address = netip.MustParseAddrPort("[2001:db8::1]:81")
		},
		"another limit":          func(st *plan.State) { st.Backends[b].Servers.Get("s").MaxConn = 0 },
		"a stopped server":       func(st *plan.State) { st.Backends[b].Servers.Get("s").Stopped = true },
		"an unchecked server":    func(st *plan.State) { st.Backends[b].Servers.Get("s").Unchecked = true },
		"a server that is down":  func(st *plan.State) { st.Backends[b].Servers.Get("s").Down = true },
		"no server":              func(st *plan.State) { st.Backends[b].Servers = nil },
		"another key":            func(st *plan.State) { st.Entries[plan.Entry{Map: plan.MapHTTPS, Key: "h7/"}] = b },
		"another value":          func(st *plan.State) { st.Entries[entry] = "x" },
		"another line":           func(st *plan.State) { st.Lines["h2"] = "a:b:c" },
		"another certificate":    func(st *plan.State) { st.Certs["a:b:e"] = "" },
		"altered":                func(st *plan.State) { st.Certs["a:b:c"] = plan.Altered },
		"another CA":             func(st *plan.State) { st.CAs["a:b:f"] = "" },
		"a certificate with one": func(st *plan.State) { st.CAs["a:b:d"] = st.Certs["a:b:c"] },
	} {
		sum := r.Expect(built(change), Everything)
		if other, twice := seen[sum]; twice {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[sum] = name
	}
	st := built(func(*plan.State) {})
	if one, two := r.Expect(st, Routes), r.Expect(built(func(*plan.State) {}), Routes); one != two {
		t.Error("equal states have different digests")
	}
	if n := testing.AllocsPerRun(10, func() { r.Expect(st, Everything) }); n > 50 {
		t.Errorf("%v allocations for 100 backends", n)
	}
}
