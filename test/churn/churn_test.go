package churn

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/bench/rig/rigtest"
	"github.com/fairlead/fairlead/test/full"
)

// limit is how long a change may take to be seen.
const limit = 20 * time.Second

// bed is a rig with a running router.
type bed struct {
	*rig.Rig
	router *rig.Router
	probe  *rig.Probe
}

func newBed(t *testing.T, haproxy string) *bed {
	t.Helper()
	b := &bed{probe: rig.NewProbe(false)}
	b.Rig, b.router = rigtest.Start(t, unable, haproxy)
	t.Cleanup(b.probe.Close)
	return b
}

// must fails the test with the router's last words.
func (b *bed) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%s", err, b.router.LogEnd())
	}
}

func (b *bed) body(t *testing.T, name, path, want string) {
	t.Helper()
	var last rig.Answer
	err := rig.Until(limit, fmt.Sprintf("%s%s answers %s", name, path, want), func() (ok bool, err error) {
		last, err = b.probe.Get(rig.Host(name), path)
		return last.Status == 200 && last.Body == want, err
	})
	if err != nil {
		t.Logf("last answer: %d %q", last.Status, last.Body)
	}
	b.must(t, err)
}

// stable creates routes that nothing happens to, and returns their hosts.
func (b *bed) stable(t *testing.T, n int) []string {
	t.Helper()
	hosts := make([]string, 0, n)
	for i := range n {
		name := fmt.Sprintf("stable%d", i)
		b.must(t, b.CreateService(t.Context(), name, rig.Address(i)))
		b.must(t, b.Create(t.Context(), rig.Route(name)))
		b.body(t, name, "/", rig.Address(i))
		hosts = append(hosts, rig.Host(name))
	}
	return hosts
}

// load runs wrk until the returned function is called, which reports failures.
func (b *bed) load(t *testing.T, url string, hosts ...string) func() {
	t.Helper()
	l, err := b.StartLoad(url, 8, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	return func() {
		t.Helper()
		result, err := l.Stop()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d requests, %.0f each second; failed: %d to connect, %d to read, %d to write, %d late, %d by status",
			url, result.Requests, float64(result.Requests)/time.Since(began).Seconds(),
			result.Connect, result.Read, result.Write, result.Timeout, result.Status)
		if result.Failed() > 0 || result.Requests == 0 {
			t.Errorf("%d of %d requests failed", result.Failed(), result.Requests)
		}
	}
}

func (b *bed) reloads(t *testing.T) int {
	t.Helper()
	m, err := b.router.Metrics()
	b.must(t, err)
	return int(rig.Sum(m, "fairlead_router_reloads_total"))
}

// life adds one route, changes everything about it and deletes it. Each change
// must be seen before the next.
func (b *bed) life(ctx context.Context, t *testing.T, i int) {
	t.Helper()
	name, first, second := fmt.Sprintf("life%d", i), rig.Address(1000+2*i), rig.Address(1001+2*i)
	host := rig.Host(name)
	b.must(t, b.CreateService(ctx, name, first))
	b.must(t, b.CreateService(ctx, name+"-b", rig.Address(3)))
	route := rig.Route(name)
	serial, err := b.WithCertificate(route)
	b.must(t, err)
	b.must(t, b.Create(ctx, route))
	b.body(t, name, "/", first)
	b.serial(t, host, serial)

	b.must(t, b.PatchRoute(ctx, name, `{"metadata":{"annotations":{"haproxy.router.openshift.io/timeout":"7s","router.openshift.io/cookie_name":"churn"}}}`))
	b.must(t, b.SetEndpoint(ctx, name, second))
	b.body(t, name, "/", second)
	b.must(t, b.PatchRoute(ctx, name, fmt.Sprintf(`{"spec":{"to":{"weight":0},"alternateBackends":[{"kind":"Service","name":%q,"weight":10}]}}`, name+"-b")))
	b.body(t, name, "/", rig.Address(3))
	serial, err = b.WithCertificate(route)
	b.must(t, err)
	b.must(t, b.PatchRoute(ctx, name, fmt.Sprintf(`{"spec":{"tls":{"certificate":%q,"key":%q}}}`, route.Spec.TLS.Certificate, route.Spec.TLS.Key)))
	b.serial(t, host, serial)
	b.must(t, b.PatchRoute(ctx, name, `{"spec":{"path":"/deep"}}`))
	b.body(t, name, "/deep/er", rig.Address(3))

	b.must(t, b.DeleteRoute(ctx, name))
	b.must(t, rig.Until(limit, "404 for "+host, func() (bool, error) {
		a, err := b.probe.Get(host, "/deep")
		return a.Status == 404, err
	}))
	b.must(t, b.DeleteService(ctx, name))
	b.must(t, b.DeleteService(ctx, name+"-b"))
}

func (b *bed) serial(t *testing.T, host, want string) {
	t.Helper()
	b.must(t, rig.Until(limit, "the certificate of "+host, func() (bool, error) {
		got, err := rig.Serial(host)
		return got == want, err
	}))
}

// TestRoutesComeAndGo is the product's promise: routes are added, changed and
// deleted while others serve, without a reload and without a failed request.
func TestRoutesComeAndGo(t *testing.T) {
	b := newBed(t, "haproxy")
	n := full.Or(1000, 20)
	stop := b.load(t, fmt.Sprintf("http://127.0.0.1:%d/", rig.HTTPPort), b.stable(t, 5)...)
	began := time.Now()
	for i := range n {
		b.life(t.Context(), t, i)
		if i%100 == 99 {
			t.Logf("%d routes after %s", i+1, time.Since(began).Round(time.Second))
		}
	}
	t.Logf("%d routes added, changed 5 times and deleted in %s", n, time.Since(began).Round(time.Millisecond))
	stop()
	if reloads := b.reloads(t); reloads != 0 {
		t.Errorf("%d reloads, none was needed", reloads)
	}
	b.clean(t)
}

// clean waits until nothing of the deleted routes is left in HAProxy.
func (b *bed) clean(t *testing.T) {
	t.Helper()
	var left int
	err := rig.Until(limit, "removal of what was deleted", func() (bool, error) {
		kinds, err := b.router.Backends()
		left = kinds["be_edge_http"]
		return left == 0 && kinds["be_http"] > 0, err // those that stay are there
	})
	if err != nil {
		t.Logf("%d backends are left", left)
	}
	b.must(t, err)
}

// TestOldHAProxy does the same with 3.0, which cannot add backends at run time
// and needs reloads for that. They must be few, and harmless.
func TestOldHAProxy(t *testing.T) {
	b := newBed(t, "haproxy-3.0")
	n := full.Or(100, 4)
	stop := b.load(t, fmt.Sprintf("http://127.0.0.1:%d/", rig.HTTPPort), b.stable(t, 3)...)
	before := b.reloads(t)
	for i := range n {
		b.life(t.Context(), t, i)
	}
	one := b.reloads(t) - before
	const burst = 50
	for i := range burst {
		name := fmt.Sprintf("burst%d", i)
		b.must(t, b.CreateService(t.Context(), name, rig.Address(i)))
		b.must(t, b.Create(t.Context(), rig.Route(name)))
	}
	b.body(t, fmt.Sprintf("burst%d", burst-1), "/", rig.Address(burst-1))
	// The new worker answers before the router has counted the reload.
	var many int
	b.must(t, rig.Until(limit, "a counted reload", func() (bool, error) {
		many = b.reloads(t) - before - one
		return many > 0, nil
	}))
	stop()
	t.Logf("%d reloads for %d routes one by one, %d for %d at once", one, n, many, burst)
	if many > burst/2 {
		t.Errorf("%d reloads for %d routes: they are not coalesced", many, burst)
	}
}

// TestSwapsUnderLoad changes the endpoints and the certificate of the routes
// that serve, as fast as the API server takes it.
func TestSwapsUnderLoad(t *testing.T) {
	b := newBed(t, "haproxy")
	lasting := full.Or(time.Minute, 5*time.Second)
	const name = "busy"
	b.must(t, b.CreateService(t.Context(), name, rig.Address(0)))
	route := rig.Route(name)
	_, err := b.WithCertificate(route)
	b.must(t, err)
	b.must(t, b.Create(t.Context(), route))
	b.body(t, name, "/", rig.Address(0))
	stopPlain := b.load(t, fmt.Sprintf("http://127.0.0.1:%d/", rig.HTTPPort), rig.Host(name))
	stopTLS := b.load(t, fmt.Sprintf("https://127.0.0.1:%d/", rig.HTTPSPort), rig.Host(name))
	stopNew := b.newConnections(t, name)
	began, swaps := time.Now(), 0
	for ; time.Since(began) < lasting; swaps++ {
		b.must(t, b.SetEndpoint(t.Context(), name, rig.Address(swaps+1)))
		_, err := b.WithCertificate(route)
		b.must(t, err)
		b.must(t, b.PatchRoute(t.Context(), name, fmt.Sprintf(`{"spec":{"tls":{"certificate":%q,"key":%q}}}`, route.Spec.TLS.Certificate, route.Spec.TLS.Key)))
	}
	b.body(t, name, "/", rig.Address(swaps))
	t.Logf("%d endpoints and certificates swapped in %s", swaps, time.Since(began).Round(time.Millisecond))
	stopPlain()
	stopTLS()
	stopNew()
	if reloads := b.reloads(t); reloads != 0 {
		t.Errorf("%d reloads, none was needed", reloads)
	}
}

// newConnections asks over a new TLS connection each time, until the returned
// function is called.
func (b *bed) newConnections(t *testing.T, name string) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	asked, failed := 0, 0
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; asked++ {
			p := rig.NewProbe(true)
			a, err := p.Get(rig.Host(name), "/")
			p.Close()
			if err != nil || a.Status != 200 {
				failed++
				t.Logf("new connection: %d %v", a.Status, err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
		t.Logf("%d requests over new TLS connections, %d failed", asked, failed)
		if failed > 0 || asked == 0 {
			t.Errorf("%d of %d requests failed", failed, asked)
		}
	}
}
