package cases

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"

	"github.com/fairlead/fairlead/router/plan"
)

// probedPod is a pod whose health is told: it serves requests all the same, with its name
// in a header, so that a test sees where they go.
type probedPod struct {
	name string
	// sick pods say so to those who ask, broken ones answer requests with 500.
	sick   atomic.Bool
	broken atomic.Bool
	probes atomic.Int64
}

func newProbedPod(t *testing.T, name, at string) *probedPod {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	p := &probedPod{name: name}
	s := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Pod", p.name)
		if r.URL.Path != "/healthz" {
			if p.broken.Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
			return
		}
		p.probes.Add(1)
		if p.sick.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return p
}

// probedBed is a router with so many Routes to one Service of three pods, and in another
// namespace one Route to the same addresses.
func probedBed(t *testing.T, version string, routes int) (*bed, []*probedPod) {
	t.Helper()
	port := strconv.Itoa(freePort(t)) // no other test's: they run at a time
	var pods []*probedPod
	for i, name := range []string{"a", "b", "c"} {
		pods = append(pods, newProbedPod(t, name, fmt.Sprintf("198.18.250.22%d:%s", i, port)))
	}
	b := newBed(t, version, newMemory())
	b.driftCheck = time.Second
	b.start()
	for _, namespace := range []string{"probes", "other"} {
		var s step
		if err := s.services([]string{namespace + "/web http=" + port + " a@198.18.250.220 b@198.18.250.221 c@198.18.250.222"}); err != nil {
			t.Fatal(err)
		}
		b.apply(s.change)
	}
	var text strings.Builder
	for i := range routes {
		fmt.Fprintf(&text, probedRoute, "probes", fmt.Sprint("r", i), fmt.Sprintf("p%d.test", i))
	}
	fmt.Fprintf(&text, probedRoute, "other", "r", "other.test")
	b.apply(objectsChange(t, text.String()))
	return b, pods
}

const probedRoute = `
---
kind: Route
metadata:
  namespace: %s
  name: %s
  annotations:
    fairlead.dev/health-path: /healthz
    router.openshift.io/haproxy.health.check.interval: 1s
    haproxy.router.openshift.io/balance: roundrobin
    haproxy.router.openshift.io/disable_cookies: "true"
spec: {host: %s, to: {kind: Service, name: web}}
`

// pods returns the pods that answer a host, in the order of their names.
func (b *bed) podsOf(host string) string {
	seen := map[string]bool{}
	for range 12 {
		seen[b.get(host).header.Get("X-Pod")] = true
	}
	names := ""
	for _, n := range []string{"a", "b", "c", ""} {
		if seen[n] {
			names += n
		}
	}
	return names
}

func (b *bed) answersFrom(what, want string, hosts ...string) {
	b.t.Helper()
	b.eventually(what, func() error {
		for _, h := range hosts {
			if got := b.podsOf(h); got != want {
				return fmt.Errorf("%s is answered by pods %q, not %q", h, got, want)
			}
		}
		return nil
	})
}

// TestProbes: the router asks each endpoint once for all Routes of a namespace, and takes
// a sick one out of all of them, without a reload. A new process of the router, a new
// HAProxy and another program change nothing about it.
func TestProbes(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		routes := 20
		if version == "haproxy" {
			routes = 1000 // which need no reload
		}
		b, pods := probedBed(t, version, routes)
		hosts := []string{"p0.test", "p7.test", "p19.test", "other.test"}
		b.answersFrom("all pods answer", "abc", hosts...)
		time.Sleep(2 * time.Second) // the first probes are spread over an interval
		before, began := pods[0].probes.Load(), time.Now()
		time.Sleep(4 * time.Second)
		if n, most := pods[0].probes.Load()-before, 2*(time.Since(began).Seconds()/0.95+1); n < 4 || float64(n) > most {
			t.Errorf("a pod of %d Routes of two namespaces was asked %d times in 4s, at most %.1f are due", routes+1, n, most)
		}
		reloads := b.reloads()
		pods[0].sick.Store(true)
		b.answersFrom("the sick pod gets no requests", "bc", hosts...)

		b.flip(t, "up")
		b.answersFrom("what another program says of it is put right", "bc", hosts...)

		b.stopEngine()
		b.startEngine()
		b.waitReady()
		for range 20 {
			if got := b.podsOf("p0.test"); got != "bc" {
				t.Fatalf("after a start of the router process, pods %q answer", got)
			}
		}
		kill(t, b.pid())
		b.answersFrom("after a start of HAProxy", "bc", hosts...)
		b.calm()

		pods[1].sick.Store(true)
		b.answersFrom("with one of three healthy, all get requests", "abc", hosts...)
		pods[0].sick.Store(false)
		b.answersFrom("two of them are enough", "ac", hosts...)
		pods[1].sick.Store(false)
		b.answersFrom("all are healthy", "abc", hosts...)
		if n := b.reloads() - reloads; n > 0 {
			t.Errorf("%d reloads", n)
		}
	})
}

// flip has another program say that a server of the first Route is up or down.
func (b *bed) flip(t *testing.T, to string) {
	t.Helper()
	st := b.readBack()
	backend := plan.TargetBackend(st.Entries[plan.Entry{Map: plan.MapHTTP, Key: "p0.test/"}])
	for _, s := range st.Backends[backend].Servers {
		if s.Down == (to == "up") {
			var socket runtime.SingleRuntime
			if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
				t.Fatal(err)
			}
			if err := socket.Execute("set server " + backend + "/" + s.Name + " health " + to); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no server of %q to say it of", backend)
}

// TestProbesOfPolicies: probes of policies are as their fields say, and what is wrong with
// them leaves the endpoints to HAProxy.
func TestProbesOfPolicies(t *testing.T) {
	t.Parallel()
	b, pods := probedBed(t, "haproxy", 1)
	const text = `
apiVersion: fairlead.dev/v1alpha1
kind: RoutePolicy
metadata: {namespace: probes, name: health}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: r0}]
  health: {panicPercent: 0, active: {type: HTTP, path: /healthz, expect: "%s", interval: 1s, fall: 1, rise: 1}}
`
	route := strings.Replace(fmt.Sprintf(probedRoute, "probes", "r0", "p0.test"), "    fairlead.dev/health-path: /healthz\n", "", 1)
	b.apply(objectsChange(t, route+"---"+fmt.Sprintf(text, "503")))
	for _, p := range pods[:2] {
		p.sick.Store(true)
	}
	b.answersFrom("those with the status that is expected", "ab", "p0.test")
	pods[0].sick.Store(false)
	b.answersFrom("without panic the last one", "b", "p0.test")
	pods[1].sick.Store(false)
	b.eventually("no pod is left", func() error {
		if r := b.get("p0.test"); r.status != http.StatusServiceUnavailable {
			return fmt.Errorf("status %d", r.status)
		}
		return nil
	})
	b.apply(objectsChange(t, fmt.Sprintf(text, "299-200")))
	b.answersFrom("a range that is none: HAProxy connects", "abc", "p0.test")
	if st, _ := b.statusOf(parseObject("Route", "probes/r0")); len(st.Findings) != 1 || !strings.Contains(st.Findings[0].Text(), "expect") {
		t.Errorf("findings %v", st.Findings)
	}
}
