package haproxy_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/freeport"
	"github.com/fairlead/fairlead/test/fuzz"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

// running starts a HAProxy with a certificate and one backend, and returns a
// client of its socket.
func running(t testing.TB, bin string) (*haproxy.Runtime, plan.Capabilities) {
	t.Helper()
	path, err := toolset.Path(bin)
	if err != nil {
		t.Skip(err)
	}
	caps, _, err := haproxy.Detect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	st := everything(t)
	st.Backends[roundBackend] = &plan.Backend{Profile: model.Profile{Balance: model.Random}.Name()}
	return start(t, path, caps, render.Settings{HTTPPort: freePort(t), HTTPSPort: freePort(t), MaxConn: 50}, st), caps
}

// start starts a HAProxy with some settings and routes, and waits for it.
func start(t testing.TB, path string, caps plan.Capabilities, s render.Settings, st *plan.State) *haproxy.Runtime {
	t.Helper()
	dir, err := os.MkdirTemp("", "fl") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	layout := render.Layout{Dir: dir}
	base, err := render.Skeleton(s, layout, caps)
	if err != nil {
		t.Fatal(err)
	}
	files, err := haproxy.NewFiles(layout, caps)
	if err != nil {
		t.Fatal(err)
	}
	for _, pem := range st.Certs {
		st.Certs[plan.DefaultCertID] = pem
	}
	if err := files.Write(base, st); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	supervisor := &haproxy.Supervisor{Binary: path, Layout: layout, Log: slog.New(slog.DiscardHandler)}
	go func() { defer close(ended); _ = supervisor.Run(ctx, time.Second) }()
	t.Cleanup(func() { cancel(); <-ended; _ = os.RemoveAll(dir) })
	rt, err := haproxy.NewRuntime(layout, caps)
	if err != nil {
		t.Fatal(err)
	}
	wait.Poll{}.For(t, "HAProxy answers", func() error { _, err := rt.Info(); return err })
	return rt
}

func freePort(t testing.TB) int {
	t.Helper()
	port, err := freeport.TCP()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

const roundBackend = "be_http:round:trip:1"

// roundTrip applies steps with a text in every place, one batch with steps of
// another tenant around each. What HAProxy then says that it has is what was
// sent, or nothing; and the other tenant's steps are done.
func roundTrip(t *testing.T, rt *haproxy.Runtime, caps plan.Capabilities, text string) {
	t.Helper()
	before, after := plan.Entry{Map: plan.MapHTTP, Key: "before/"}, plan.Entry{Map: plan.MapHTTP, Key: "after/"}
	for _, e := range []plan.Entry{before, after} {
		mustApply(t, rt, plan.EntryDel{Entry: e})
	}
	server := plan.Server{Address: netip.MustParseAddrPort("198.18.0.1:80"), Weight: 1, Options: model.ServerOptions{Cookie: text}}
	key := plan.Entry{Map: plan.MapSNI, Key: text}
	steps := []plan.Step{
		plan.EntryAdd{Entry: key, Value: "first"},
		plan.EntrySet{Entry: key, Value: "v" + text},
		plan.EntryDel{Entry: key},
		plan.EntryAdd{Entry: key, Value: text}, // and lists of headers and addresses, and policies
		plan.EntryAdd{Entry: plan.Entry{Map: plan.MapRequestHeaders, Key: roundBackend}, Value: "S X-A " + text},
		plan.EntryAdd{Entry: plan.Entry{Map: plan.MapResponseHeaders, Key: roundBackend}, Value: text},
		plan.EntryAdd{Entry: plan.Entry{Map: plan.MapAllow, Key: roundBackend + "/4/" + text}, Value: "1"},
		plan.EntryAdd{Entry: plan.Entry{Map: plan.MapPolicy, Key: roundBackend}, Value: "|" + text + "|1"},
		plan.ServerAdd{Backend: roundBackend, Name: text, Server: server},
		plan.ServerAdd{Backend: roundBackend, Name: "s", Server: server},
		plan.LineSet{Filter: text, CertID: plan.DefaultCertID},
	}
	if caps.DynamicBackends {
		steps = append(steps, plan.BackendAdd{Name: "be_r" + text, Profile: "http_random"})
	}
	want := map[plan.Step]bool{}
	for _, s := range steps {
		batch := []plan.Step{plan.EntryAdd{Entry: before, Value: "x"}, s, plan.EntryAdd{Entry: after, Value: "x"}}
		done := map[plan.Step]bool{}
		err := rt.Apply(batch, func(s plan.Step) { done[s] = true })
		refusal, refused := errors.AsType[*haproxy.RefusedError](err)
		if err != nil && !refused {
			t.Fatalf("%#v: %v", s, err)
		}
		if refused && refusal.Unanswered {
			t.Fatalf("%#v is not answered to the end: %v", s, err)
		}
		if refused {
			for _, r := range refusal.Steps {
				if r != s {
					t.Fatalf("%#v makes HAProxy refuse %#v: %v", s, r, err)
				}
			}
			for _, other := range []plan.Step{batch[0], batch[2]} {
				if !done[other] {
					mustApply(t, rt, other)
				}
			}
		}
		want[s] = !refused
		st := readBack(t, rt)
		if st.Entries[before] != "x" || st.Entries[after] != "x" {
			t.Fatalf("%#v lets other steps count as done that are not: %v", s, st.Entries)
		}
		checkRead(t, st, s, want[s])
		mustApply(t, rt, plan.EntryDel{Entry: before}, plan.EntryDel{Entry: after})
	}
	for _, s := range []plan.Step{
		plan.ServerDel{Backend: roundBackend, Name: text},
		plan.ServerDel{Backend: roundBackend, Name: "s"},
		plan.EntryDel{Entry: key},
		plan.EntryDel{Entry: plan.Entry{Map: plan.MapRequestHeaders, Key: roundBackend}},
		plan.EntryDel{Entry: plan.Entry{Map: plan.MapResponseHeaders, Key: roundBackend}},
		plan.EntryDel{Entry: plan.Entry{Map: plan.MapAllow, Key: roundBackend + "/4/" + text}},
		plan.EntryDel{Entry: plan.Entry{Map: plan.MapPolicy, Key: roundBackend}},
		plan.LineDel{Filter: text, CertID: plan.DefaultCertID},
		plan.BackendDel{Name: "be_r" + text},
	} {
		_ = rt.Apply([]plan.Step{s}, func(plan.Step) {}) // what was refused is not there
	}
}

// checkRead looks for what a step was to bring.
func checkRead(t *testing.T, st *plan.State, s plan.Step, done bool) {
	t.Helper()
	ok := true
	switch s := s.(type) {
	case plan.EntryAdd:
		got, there := st.Entries[s.Entry]
		ok = there == done && (!done || got == s.Value)
	case plan.EntrySet:
		ok = !done || st.Entries[s.Entry] == s.Value
	case plan.EntryDel:
		_, there := st.Entries[s.Entry]
		ok = !done || !there
	case plan.ServerAdd:
		ok = st.Backends[roundBackend].Servers.Get(s.Name) != nil == done
	case plan.BackendAdd:
		ok = (st.Backends[s.Name] != nil) == done
	case plan.LineSet:
		found := strings.Contains(fmt.Sprint(st.Lines), s.Filter)
		ok = !done || found
	}
	if !ok {
		t.Errorf("%#v is done: %v, but HAProxy has %v, %v, %v", s, done, st.Entries, st.Backends, st.Lines)
	}
}

func readBack(t *testing.T, rt *haproxy.Runtime) *plan.State {
	t.Helper()
	st, err := rt.ReadBack()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func mustApply(t testing.TB, rt *haproxy.Runtime, steps ...plan.Step) {
	t.Helper()
	if err := rt.Apply(steps, func(plan.Step) {}); err != nil {
		t.Fatalf("%v: %v", steps, err)
	}
}

// oddTexts are what has a meaning for HAProxy's command line or its files.
var oddTexts = []string{
	"plain", "a\nb", "\n", "a\tb", "a\rb", "a\x00b", "a\fb", "a\vb", "a\x7fb", "\x1b[31m", "<<", "<<x", "a<<x", " <<%FL%", "%FL%", "a b", "a;b", ";show info", `\`,
	`a\`, `a\ b`, "'", `"`, `"a b"`, "#", "a#b", "$HOME", "${HOME}", "é", "\xff", "a:b", "*", "*.x.test", "!x", "[x]", "@1", "a/b", "> ", "+ ", "[3]: x", "[6]: 3.4.7", "", " ",
	strings.Repeat("k", 2400), strings.Repeat("<", 3000), strings.Repeat("k", 16<<10),
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		t.Run(bin, func(t *testing.T) {
			t.Parallel()
			rt, caps := running(t, bin)
			for _, text := range oddTexts {
				roundTrip(t, rt, caps, text)
			}
		})
	}
}

// FuzzRoundTrip: encoder → HAProxy → read-back.
func FuzzRoundTrip(f *testing.F) {
	for _, text := range oddTexts {
		f.Add(text)
	}
	fuzz.KeepPipes()
	rt, caps := running(f, "haproxy")
	f.Fuzz(func(t *testing.T, text string) { roundTrip(t, rt, caps, text) })
}
