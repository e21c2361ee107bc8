package cases

import (
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configure changes the bed's IngressController and waits until it holds.
func (b *bed) configure(edit func(*operatorv1.IngressControllerSpec)) {
	b.t.Helper()
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "cases"}}
	edit(&ic.Spec)
	b.controller.Store(ic)
	b.cluster.mu.Lock()
	b.cluster.changes.All = true
	b.cluster.mu.Unlock()
	b.apply(change{})
}

// reasons returns the reloads so far, by reason.
func (b *bed) reasons() map[string]int {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range families {
		if f.GetName() == "fairlead_router_reloads_total" {
			for _, m := range f.GetMetric() {
				out[m.GetLabel()[0].GetValue()] += int(m.GetCounter().GetValue())
			}
		}
	}
	return out
}

// settingsRoutes adds a plain and an edge route, both on the pod web.
func (b *bed) settingsRoutes(t *testing.T) {
	t.Helper()
	c := parseStep(t, map[string]string{"services": "s/web http=8080 web@198.18.250.90", "in.yaml": `
kind: Route
metadata: {namespace: s, name: plain}
spec: {host: plain.set.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: s, name: edge}
spec: {host: edge.set.test, to: {kind: Service, name: web}, tls: {termination: edge}}
`})
	for _, o := range c.put {
		ensurePods(t, o)
	}
	b.cluster.apply(c)
}

// settingsBed is a router with one plain and one edge route, both on the pod web.
func settingsBed(t *testing.T, version string, prepare func(*bed)) *bed {
	t.Helper()
	b := newBed(t, version, newMemory())
	b.settingsRoutes(t)
	if prepare != nil {
		prepare(b)
	}
	b.start()
	return b
}

func parseStep(t *testing.T, files map[string]string) change {
	t.Helper()
	tc, s := &testCase{}, &step{name: "step1", checks: map[string][]string{}}
	for name, text := range files {
		if err := tc.file(t, s, name, strings.TrimPrefix(text, "\n")); err != nil {
			t.Fatal(err)
		}
	}
	return s.change
}

// expectLine sends the request of a line until its answer is as the line says.
func (b *bed) expectLine(line string) {
	b.t.Helper()
	e, err := parseLine(line)
	if err != nil {
		b.t.Fatal(err)
	}
	b.eventually(line, func() error { return e.check(e.request.do(b.http, b.https), "", nil) })
}

func onVersions(t *testing.T, run func(t *testing.T, version string)) {
	t.Helper()
	onThese(t, supported(), run)
}

// onAllVersions is onVersions for cheap tests of what is HAProxy's own: 3.2 is always among them.
func onAllVersions(t *testing.T, run func(t *testing.T, version string)) {
	t.Helper()
	onThese(t, append([]string{"haproxy-3.2"}, versions...), run)
}

func onThese(t *testing.T, versions []string, run func(t *testing.T, version string)) {
	t.Helper()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			run(t, v)
		})
	}
}

// TestSettingsReload: a setting that HAProxy fixes at start is one reload that
// names it, an equal one is none, and data is none.
func TestSettingsReload(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		b.expectLine("GET http://plain.set.test/ -> 200")
		if r := b.reasons(); len(r) != 0 {
			t.Fatalf("reloads at start: %v", r)
		}
		short := func(s *operatorv1.IngressControllerSpec) {
			s.TuningOptions.ServerTimeout = &metav1.Duration{Duration: 200 * time.Millisecond}
		}
		b.configure(short)
		b.expectLine("GET http://plain.set.test/?sleep=700ms -> 504")
		b.configure(short)
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			short(s)
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{ForwardedHeaderPolicy: operatorv1.NeverHTTPHeaderPolicy}
		})
		b.expectLine("GET http://plain.set.test/ -> 200 seen:X-Forwarded-Host=")
		if got := fmt.Sprint(b.reasons()); got != "map[spec.tuningOptions.serverTimeout:1]" {
			t.Errorf("reloads %s", got)
		}
	})
}

// TestSettingsRefused: what HAProxy refuses leaves everything as it was, is
// tried once, and hinders no later change.
func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		bad := func(s *operatorv1.IngressControllerSpec) {
			s.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
				Destination:   operatorv1.LoggingDestination{Type: operatorv1.SyslogLoggingDestinationType, Syslog: &operatorv1.SyslogLoggingDestinationParameters{Address: "127.0.0.1", Port: 514}},
				HttpLogFormat: "%[no_such_fetch]",
			}}
		}
		pid := b.pid()
		b.configure(bad)
		b.configure(bad)
		b.expectLine("GET http://plain.set.test/ -> 200")
		if !b.engine.Ready() || b.pid() != pid || len(b.reasons()) != 0 {
			t.Errorf("ready %v, pid %d became %d, reloads %v", b.engine.Ready(), pid, b.pid(), b.reasons())
		}
		if n := strings.Count(b.log.String(), "HAProxy refused router-wide settings"); n != 1 {
			t.Errorf("tried %d times", n)
		}
		if f := b.refusal.Load(); f == nil || f.Field != "spec.logging.access" || !strings.Contains(f.Message, "no_such_fetch") {
			t.Errorf("the refusal is told as %+v", f)
		}
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			s.TuningOptions.ServerTimeout = &metav1.Duration{Duration: 200 * time.Millisecond}
		})
		if f := b.refusal.Load(); f != nil {
			t.Errorf("still told: %+v", f)
		}
		b.expectLine("GET http://plain.set.test/?sleep=700ms -> 504")
		b.expectLine("GET https://edge.set.test/ -> 200")
	})
}
