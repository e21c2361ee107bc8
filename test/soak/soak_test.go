package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/bench/rig/rigtest"
)

const (
	// changers is how many changes are on their way at once.
	changers = 4
	visitors = 2
	stables  = 10
	// goneShare is the share of routes, in percent, that do not exist: where
	// deletions and creations are equally frequent.
	goneShare = 7
	// warmUp is how long HAProxy takes to have as many idle connections to pods
	// as it closes: it looks at them every 5 s.
	warmUp = 7 * time.Second
)

// bed is a rig with a router, routes and everything that looks at them.
type bed struct {
	*rig.Rig
	router   *rig.Router
	seed     uint64
	routes   int
	subjects []*subject
	stable   []*state
	gateways gateways
}

// newBed starts a router. What prepares the rig does so before.
func newBed(t *testing.T, haproxy string, prepare ...func(context.Context, *rig.Rig) error) *bed {
	t.Helper()
	b := &bed{seed: size.seed, routes: size.routes}
	b.Rig, b.router = rigtest.StartPrepared(t, unable, haproxy, func(ctx context.Context, r *rig.Rig) error {
		if err := r.Create(ctx, settings()); err != nil {
			return err
		}
		for _, p := range prepare {
			if err := p(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	return b
}

// settings turn HTTP/2 on, which is off by default.
func settings() *unstructured.Unstructured {
	u := rig.Settings()
	u.SetAnnotations(map[string]string{api.AnnotationHTTP2: "true"})
	return u
}

// populate creates the Services that routes share, routes that stay as they
// are, and those that change, and waits until all are served.
func (b *bed) populate(ctx context.Context) error {
	for i := range others {
		svc, slice := service(otherName(i), otherAddress(i))
		if err := b.Create(ctx, svc, slice); err != nil {
			return err
		}
	}
	d := newDice(b.CA, b.seed, 0)
	for i := range stables {
		s := &state{exists: true, name: fmt.Sprintf("stable%d", i), weight: 100, other: -1, termination: "edge", serial: "wanted"}
		d.endpoints(s)
		if err := d.host(s); err != nil {
			return err
		}
		b.stable = append(b.stable, s)
	}
	for i := range b.routes {
		s, err := d.route(fmt.Sprintf("route%d", i))
		if err != nil {
			return err
		}
		s.exists = d.IntN(100) >= goneShare
		b.subjects = append(b.subjects, newHistory(s))
	}
	all := slices.Clone(b.stable)
	for _, s := range b.subjects {
		all = append(all, s.now())
	}
	return parallel(changers, func(n int) error {
		c := &changer{Rig: b.Rig, probe: rig.NewProbe(false)}
		defer c.probe.Close()
		for i := n; i < len(all); i += changers {
			if !all[i].exists {
				continue
			}
			if err := c.create(ctx, all[i]); err != nil {
				return err
			}
		}
		for i := n; i < len(all); i += changers {
			if err := c.see(all[i], all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func parallel(n int, work func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = work(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// connect opens the lasting connections, half of them to routes that change.
func (b *bed) connect(ctx context.Context, l *lasting) error {
	for i := 0; l.sockets < size.sockets || l.streams < size.streams; i++ {
		if i > 50*(size.sockets+size.streams) {
			return errors.New("too few routes can have lasting connections")
		}
		s := b.stable[i%len(b.stable)]
		if i%2 == 0 {
			s = b.subjects[i/2%len(b.subjects)].now()
		}
		if !s.exists || s.denied() {
			continue
		}
		if s.serial != "" && l.streams < size.streams {
			if err := l.open(ctx, s, true); err != nil {
				return err
			}
		}
		if l.sockets < size.sockets {
			if err := l.open(ctx, s, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// load starts wrk on the stable routes, plain and over TLS.
func (b *bed) load() (map[string]*rig.Load, error) {
	var hosts []string
	for _, s := range b.stable {
		hosts = append(hosts, s.host)
	}
	loads := map[string]*rig.Load{}
	for _, url := range []string{fmt.Sprintf("http://127.0.0.1:%d/", rig.HTTPPort), fmt.Sprintf("https://127.0.0.1:%d/", rig.HTTPSPort)} {
		l, err := b.StartMixedLoad(url, 2, hosts...)
		if err != nil {
			return nil, err
		}
		loads[url] = l
	}
	if size.gateways == 0 {
		return loads, nil
	}
	// Not over TLS: the server name that wrk gives is no listener's.
	url := fmt.Sprintf("http://127.0.0.1:%d/", b.gateways.steady.ports[80])
	l, err := b.StartMixedLoad(url, 1, b.gateways.steady.routes[0].host)
	loads[url] = l
	return loads, err
}

// TestSoak is the whole of it.
func TestSoak(t *testing.T) {
	var g gateways
	b := newBed(t, "haproxy", g.prepare)
	b.gateways = g
	t.Logf("seed %d: %d changes of %d routes, %d websockets and %d streams of HTTP/2 that last", b.seed, size.changes, size.routes, size.sockets, size.streams)
	began := time.Now()
	if err := errors.Join(b.populate(t.Context()), b.populateGateways(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d routes served after %s", len(b.subjects)+len(b.stable), time.Since(began).Round(time.Millisecond))
	_, before := b.router.Usage()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &lasting{}
	if err := errors.Join(b.connect(ctx, l), b.connectGateways(ctx, l)); err != nil {
		t.Fatal(err)
	}
	loads, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{subjects: b.subjects, gateways: b.gateways.tenants}
	var wg sync.WaitGroup
	for i := range visitors {
		wg.Go(func() { v.run(ctx, rand.New(rand.NewPCG(b.seed, 1000+uint64(i)))) })
	}
	<-time.After(warmUp)
	usage := b.soak(t, v, l)
	b.leftovers(t, l.sockets+l.streams)
	cancel()
	wg.Wait()
	for url, load := range loads {
		result, err := load.Stop()
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s: %d requests, %d failed: %+v", url, result.Requests, result.Failed(), result)
		if result.Failed() > 0 || result.Requests == 0 {
			t.Errorf("%d of %d requests to routes that stayed as they were failed", result.Failed(), result.Requests)
		}
	}
	report(t, fmt.Sprintf("of %d requests to changing routes", v.asked.Load()), v.failed)
	report(t, fmt.Sprintf("of %d lasting connections with %d echoes", l.sockets+l.streams, l.echoes.Load()), l.close())
	b.reloads(t, usage)
	usage.compare(t)
	b.files(t, before.Files)
}

// files demands that HAProxy has no more files open than before there was any
// load, once all clients are gone and the idle connections to pods are counted
// out, of which HAProxy says itself how many it keeps: it closes half of them
// every five seconds.
func (b *bed) files(t *testing.T, before int) {
	t.Helper()
	now, idle := 0, 0
	err := rig.Until(limit, "no more open files than before, save idle connections", func() (bool, error) {
		var err error
		idle, err = idleConnections()
		_, u := b.router.Usage()
		now = u.Files
		return err == nil && now-idle <= before+someFiles, err
	})
	t.Logf("HAProxy: %d open files before the load, %d after it, %d of them idle connections to pods", before, now, idle)
	if err != nil {
		t.Error(err)
	}
}

// idleConnections asks HAProxy how many connections to pods it keeps for later.
func idleConnections() (int, error) {
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics/haproxy?scope=server&metrics=haproxy_server_idle_connections_current", rig.StatsPort))
	if err != nil {
		return 0, fmt.Errorf("read HAProxy's metrics: %w", err)
	}
	defer response.Body.Close()
	sum := 0
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if at := strings.LastIndexByte(lines.Text(), ' '); at > 0 && strings.HasPrefix(lines.Text(), "haproxy_server_idle_connections_current{") {
			n, err := strconv.Atoi(lines.Text()[at+1:])
			if err != nil {
				return 0, fmt.Errorf("read HAProxy's metrics: %w", err)
			}
			sum += n
		}
	}
	return sum, lines.Err()
}

// report fails the test if something broke, and shows the first of it.
func report(t *testing.T, of string, broken []error) {
	t.Helper()
	t.Logf("%d %s failed", len(broken), of)
	for i, err := range broken {
		if i == 15 {
			break
		}
		t.Error(err)
	}
}

// soak makes the changes and measures meanwhile.
func (b *bed) soak(t *testing.T, v *visitor, l *lasting) *usage {
	t.Helper()
	var done atomic.Int64
	ended := make(chan error, 1)
	kinds := make([]map[string]int, changers+1)
	ofGateways := 0
	if size.gateways > 0 {
		ofGateways = size.changes / gatewayShare
	}
	go func() {
		ended <- parallel(changers+1, func(n int) error {
			kinds[n] = map[string]int{}
			if n == changers {
				return b.gateways.change(t.Context(), b, ofGateways, &done, kinds[n])
			}
			c := &changer{Rig: b.Rig, dice: newDice(b.CA, b.seed, n+1), probe: rig.NewProbe(false), done: &done, kinds: kinds[n]}
			c.n = (n + 1) << 24 // names of its own
			for i := n; i < len(b.subjects); i += changers {
				c.subjects = append(c.subjects, b.subjects[i])
			}
			return c.run(t.Context(), (size.changes-ofGateways+n)/changers)
		})
	}()
	began, said := time.Now(), 0
	u := &usage{}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			total := map[string]int{}
			for _, k := range kinds {
				for name, n := range k {
					total[name] += n
				}
			}
			t.Logf("%d changes in %s: %v", done.Load(), time.Since(began).Round(time.Millisecond), total)
			return u
		case <-tick.C:
		}
		tenth := min(int(done.Load())*10/size.changes, 9)
		u.sample(b.router, tenth)
		if tenth > said {
			said = tenth
			kinds, err := b.router.Backends()
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s: %d changes, %d requests, %d echoes; %s; backends: %v", time.Since(began).Round(time.Second), done.Load(), v.asked.Load(), l.echoes.Load(), u, kinds)
		}
	}
}

// leftovers waits until HAProxy has no more backends than there are routes and
// lasting connections, which keep what they use.
func (b *bed) leftovers(t *testing.T, connections int) {
	t.Helper()
	exist := len(b.stable)
	for _, s := range b.subjects {
		if s.now().exists {
			exist++
		}
	}
	have, split := 0, b.gateways.backends()
	err := rig.Until(limit, "removal of what is not needed any more", func() (bool, error) {
		kinds, err := b.router.Backends()
		have = 0
		for _, n := range kinds {
			have += n
		}
		return err == nil && have <= exist+split+connections, err
	})
	t.Logf("%d backends for %d routes and %d of Gateways", have, exist, split)
	if err != nil {
		t.Error(err)
	}
	if have < exist {
		t.Errorf("%d backends cannot serve %d routes", have, exist)
	}
}

// reloads demands that HAProxy is the process that it was.
func (b *bed) reloads(t *testing.T, u *usage) {
	t.Helper()
	m, err := b.router.Metrics()
	if err != nil {
		t.Error(err)
		return
	}
	n := int(rig.Sum(m, "fairlead_router_reloads_total"))
	t.Logf("%d reloads, %d repairs of drift, %.0f steps", n, int(m["fairlead_router_drift_corrections_total"]), m["fairlead_router_runtime_commands_total"])
	if n != 0 || u.processes() > 1 {
		t.Errorf("%d reloads, %d HAProxy processes; none was needed", n, u.processes())
	}
	if n := m["fairlead_router_drift_corrections_total"]; n != 0 {
		t.Errorf("the router repaired %.0f differences, but no other program changed HAProxy", n)
	}
}
