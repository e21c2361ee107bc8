package haproxy_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/haproxytech/client-native/v5/models"
	"github.com/haproxytech/client-native/v5/runtime"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// TestTypedCallsLack: what the typed calls of the library leave out, for which the
// router asks HAProxy itself. Where a newer version has it, this test fails, and the
// typed call can be used.
func TestTypedCallsLack(t *testing.T) {
	t.Parallel()
	for of, fields := range map[reflect.Type][]string{
		reflect.TypeFor[models.ProcessInfoItem](): {"Description"},
		reflect.TypeFor[models.RuntimeServer]():   {"Weight", "Backend", "BackendName", "CheckState"},
	} {
		for _, name := range fields {
			if _, there := of.FieldByName(name); there {
				t.Errorf("%s has a field %s now: the typed call may do", of, name)
			}
		}
	}
	if e := runtime.ParseMapEntries("0x1 a.test/ first second", true); len(e) != 1 || e[0].Value != "first" {
		t.Error("values of maps are read whole now")
	}
	if !panics(func() { runtime.ParseMapEntries("0x1 a.test/", true) }) {
		t.Error("a key without value no longer panics")
	}
	if !panics(func() { _, _ = runtime.ParseCrtListEntries("/c/cut.p") }) {
		t.Error("a line of a certificate list that was cut off no longer panics")
	}
}

func panics(call func()) (did bool) {
	defer func() { did = recover() != nil }()
	call()
	return false
}

const entries = 10_000

// filled starts a HAProxy with 10,000 map entries, servers, and sources.
func filled(b *testing.B) *haproxy.Runtime {
	b.Helper()
	rt, caps := running(b, "haproxy")
	if !caps.DynamicBackends {
		b.Skip("needs servers at run time")
	}
	var steps []plan.Step
	for i := range entries {
		steps = append(steps,
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: fmt.Sprintf("host-%d.example.test/", i)}, Value: fmt.Sprintf("be_http:space-%d:route:1|a|x||1000", i)})
	}
	for i := range entries {
		steps = append(steps, plan.ServerAdd{Backend: roundBackend, Name: fmt.Sprintf("s%d", i), Server: plan.Server{
			Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 8080), Weight: 1, Options: model.ServerOptions{},
		}})
	}
	mustApply(b, rt, steps...)
	var table strings.Builder
	for i := range entries {
		fmt.Fprintf(&table, "set table router_sources key 2001:db8:%x::1 data.gpc1 1;", i)
		if table.Len() > 8<<10 || i == entries-1 {
			if _, err := rt.Library().ExecuteRaw(table.String()); err != nil {
				b.Fatal(err)
			}
			table.Reset()
		}
	}
	return rt
}

// BenchmarkLibrary compares the router's own way to read HAProxy's answers (raw) with
// the typed calls of the library, at 10,000 entries, and a batch with single calls.
func BenchmarkLibrary(b *testing.B) {
	rt := filled(b)
	library := rt.Library()
	layout := rt.Layout()
	stream := func(command string) func() (int, error) {
		return func() (n int, err error) {
			err = rt.Stream(command, func([]byte) { n++ })
			return n, err
		}
	}
	for _, c := range []struct {
		name string
		most int
		call func() (int, error)
	}{
		{"info/raw", 1, func() (int, error) { _, err := rt.Info(); return 1, err }},
		{"info/typed", 1, func() (int, error) { _, err := rt.ProcessLimits(); return 1, err }},
		{"map/raw", entries, stream("show map " + layout.MapFile(plan.MapHTTP))},
		{"map/typed", entries, func() (int, error) {
			e, err := library.ShowMapEntries(layout.MapFile(plan.MapHTTP))
			return len(e), err
		}},
		{"servers/raw", entries, stream("show servers state " + roundBackend)},
		{"servers/typed", entries, func() (int, error) { s, err := library.GetServersState(roundBackend); return len(s), err }},
		{"sources/raw", entries, func() (n int, err error) {
			err = rt.RefusedSources(func(haproxy.RefusedSource) { n++ })
			return n, err
		}},
		{"sources/typed", entries, func() (int, error) {
			e, err := library.GetTableEntries("router_sources", []string{"gpc1 gt 0"}, "")
			return len(e), err
		}},
		{"weights/batch", 1, func() (int, error) { return 1, rt.Apply(weights(), func(plan.Step) {}) }},
		{"weights/typed", 1, func() (int, error) {
			for _, s := range weights() {
				w := s.(plan.ServerWeight)
				if err := library.SetServerWeight(w.Backend, w.Name, fmt.Sprint(w.Weight)); err != nil {
					return 0, err
				}
			}
			return 1, nil
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, err := c.call(); err != nil || n < c.most {
					b.Fatalf("%d entries, %v", n, err)
				}
			}
		})
	}
}

// weights are a hundred steps of one kind.
func weights() []plan.Step {
	steps := make([]plan.Step, 100)
	for i := range steps {
		steps[i] = plan.ServerWeight{Backend: roundBackend, Name: fmt.Sprintf("s%d", i), Weight: 1}
	}
	return steps
}

// certificates writes what a list of 10,000 certificates looks like.
func certificates() string {
	layout := render.Layout{Dir: "/var/lib/haproxy"}
	var text strings.Builder
	for i := range entries {
		text.WriteString(layout.CertFile(fmt.Sprintf("space-%d:route:12345678", i)))
		fmt.Fprintf(&text, ":%d [alpn h2] host-%d.example.test\n", i+1, i)
	}
	return text.String()
}

// BenchmarkParseCertificates is what the library takes to read the answers of
// "show ssl crt-list" for 10,000 certificates, besides the socket.
func BenchmarkParseCertificates(b *testing.B) {
	text := certificates()
	b.ReportAllocs()
	for b.Loop() {
		if e, err := runtime.ParseCrtListEntries(text); err != nil || len(e) != entries {
			b.Fatal(len(e), err)
		}
	}
}
