package cases

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/engine"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pagefetch"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/probe"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

// versions are the programs of the newest and the oldest HAProxy that the project
// supports.
var versions = []string{"haproxy", "haproxy-3.0"}

// supported are those that a test runs on: what routes, faults and reloads need, 3.2 does as 3.0 or as 3.4.
// Where it differs, it runs in the short form, too (see differs).
func supported() []string { return full.Or(append([]string{"haproxy-3.2"}, versions...), versions) }

// patience bounds every wait of the tests.
const patience = time.Minute

// bed is one router with its HAProxy.
type bed struct {
	t        testing.TB
	cluster  *memory
	layout   render.Layout
	binary   string
	caps     plan.Capabilities
	http     int
	https    int
	registry *prometheus.Registry
	metrics  *engine.Metrics
	engine   *engine.Engine
	// agent is the policy agent, nil for none.
	agent *agentBed
	// firewall is nil for none.
	firewall *firewallProcess
	log      *logBuffer

	// controller and flags are what the settings come from; controller may be
	// nil. findings are those of the last reading.
	controller atomic.Pointer[operatorv1.IngressController]
	flags      settings.Flags
	findings   atomic.Pointer[[]api.Finding]
	// refusal is what HAProxy has against the settings, and failure why its files
	// cannot be written, or nil.
	refusal, failure atomic.Pointer[api.Finding]

	// slots are ports for Gateways; none by default.
	slots, secureSlots, fallbackSlots, tlsSlots, tcpSlots render.Slots

	// adjust changes what the settings come out as, if there is no controller; nil for none.
	adjust func(*settings.Settings)

	// limitKeys is the size of the table of limits; 0 is the default.
	limitKeys int

	// driftCheck is how often the engine looks for foreign changes.
	driftCheck time.Duration
	// reloadPause is the engine's; 0 is its default.
	reloadPause time.Duration

	stopEngine     func()
	stopSupervisor func()
	sentinels      int
}

// logBuffer keeps the log of a bed, to be shown if the test fails.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func program(t testing.TB, name string) string {
	t.Helper()
	path, err := toolset.Path(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// newBed prepares a router on a cluster; start runs it.
func newBed(t testing.TB, version string, cluster *memory) *bed {
	t.Helper()
	needNetwork(t)
	b := &bed{t: t, cluster: cluster, binary: program(t, version), log: &logBuffer{}, registry: prometheus.NewRegistry()}
	run, err := os.MkdirTemp("", "fl") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	b.layout = render.Layout{Dir: t.TempDir(), Run: run} // apart, as in a pod
	if b.caps, _, err = haproxy.Detect(t.Context(), b.binary); err != nil {
		t.Fatal(err)
	}
	b.http, b.https = freePort(t), freePort(t)
	t.Cleanup(func() {
		b.stop()
		if t.Failed() {
			t.Logf("log of the router:\n%s", b.log)
		}
	})
	return b
}

// lastPort is the last port that freePort returned. The tests have a network
// namespace of their own, whose clients use ports from 32768 on.
var lastPort atomic.Int32

const firstPort = 20_000

// freePort returns a port that nothing of these tests has had: HAProxy shares its
// ports, so two beds with the same one would answer for each other.
func freePort(t testing.TB) int {
	t.Helper()
	lastPort.CompareAndSwap(0, firstPort)
	for {
		port := int(lastPort.Add(1))
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			l.Close()
			return port
		}
		if port >= 2*firstPort {
			t.Fatal(err)
		}
	}
}

// start runs supervisor and engine, and waits until the router is ready.
func (b *bed) start() {
	b.t.Helper()
	b.startSupervisor()
	b.startEngine()
	b.waitReady()
}

func (b *bed) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b.log, nil)) }

func (b *bed) startSupervisor() {
	b.t.Helper()
	s := &haproxy.Supervisor{Binary: b.binary, Layout: b.layout, Log: b.logger()}
	b.stopSupervisor = background(func(ctx context.Context) { _ = s.Run(ctx, time.Second) })
}

func (b *bed) startEngine() {
	b.t.Helper()
	cert, err := certificate.Default(pki().leaf(b.t, "default").certPEM, pki().leaf(b.t, "default").keyPEM)
	if err != nil {
		b.t.Fatal(err)
	}
	b.registry = prometheus.NewRegistry()
	prober, pages := probe.New(b.logger(), probe.NewMetrics(b.registry)), pagefetch.New()
	b.metrics = engine.NewMetrics(b.registry)
	b.engine, err = engine.New(engine.Options{
		Doors: frontDoors(), Agent: b.agent.client(), Sessions: b.agent.sessionKeys, Replicas: b.agent.others, Prober: prober, Pages: pages,
		Cluster: b.cluster, Statuses: b.cluster, Layout: b.layout, Caps: b.caps, Binary: b.binary,
		Settings: b.settings, SettingsRefused: func(f *api.Finding) { b.refusal.Store(f) }, FilesFailed: func(f *api.Finding) { b.failure.Store(f) }, Certificate: cert, Log: b.logger(), Metrics: b.metrics, DriftCheck: b.driftCheck, ReloadPause: b.reloadPause,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.stopEngine = background(func(ctx context.Context) {
		go func() { _ = prober.Run(ctx) }()
		go func() { _ = pages.Run(ctx) }()
		if err := b.engine.Run(ctx); err != nil {
			b.logger().Error("engine ended", "err", err)
		}
	})
}

// settings are those of the cluster, or of the bed's IngressController if it
// has one.
func (b *bed) settings() settings.Settings {
	flags := b.flags
	flags.AgentDir, flags.FirewallDir, flags.HTTPSlots, flags.HTTPSSlots, flags.FallbackSlots, flags.TLSSlots, flags.TCPSlots = b.agent.socketDir(), b.firewallDir(), b.slots, b.secureSlots, b.fallbackSlots, b.tlsSlots, b.tcpSlots
	flags.OneLogFormat = !b.caps.LogProfiles
	flags.RouterName, flags.HTTPPort, flags.HTTPSPort, flags.MaxConn, flags.Threads = "cases", b.http, b.https, 500, 1
	s, findings := settings.From(b.controller.Load(), flags)
	b.findings.Store(&findings)
	s.Render.LimitKeys = b.limitKeys
	if s.Render.Clients.TLSRate == 0 {
		s.Render.Clients.TLSRate = -1 // all clients of a test have the same address
	}
	if b.controller.Load() == nil {
		s.Ingest = b.cluster.Settings()
		s.Ingest.Agent, s.Ingest.Firewall, s.Ingest.GatewayPorts = b.agent != nil, b.firewall != nil, b.slots.Count > 0
		s.Render.SharedAddress = s.Ingest.SharedAddress
		s.Render.AnyHost = true // else each change of WildcardsAllowed were a reload
		if b.adjust != nil {
			b.adjust(&s)
		}
	}
	return s
}

// background runs a function and returns what stops it and waits for its end.
func background(run func(context.Context)) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

func (b *bed) stop() {
	if b.stopEngine != nil {
		b.stopEngine()
	}
	if b.stopSupervisor != nil {
		b.stopSupervisor()
	}
	if b.agent != nil && b.agent.stop != nil {
		b.agent.stop()
	}
}

func (b *bed) waitReady() {
	b.t.Helper()
	b.eventually("the router is ready", func() error {
		if !b.engine.Ready() {
			return fmt.Errorf("not ready")
		}
		return nil
	})
}

// eventually polls until a condition holds.
func (b *bed) eventually(what string, holds func() error) {
	b.t.Helper()
	poll(b.t, what, holds)
}

func poll(t testing.TB, what string, holds func() error) {
	t.Helper()
	wait.Poll{Limit: patience, Every: 5 * time.Millisecond}.For(t, what, holds)
}

// apply makes a change and waits until HAProxy serves it. A route without host
// goes along: it adds nothing to HAProxy, and its status says that the router has seen
// the change. Of a large change, or on a busy machine, other routes may wait for a later
// turn.
func (b *bed) apply(c change) {
	b.t.Helper()
	for _, o := range c.put {
		ensurePods(b.t, o)
	}
	b.sentinels++
	sentinel := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "sentinel", Name: fmt.Sprintf("s%d", b.sentinels)}}
	key := objectOf(route.Kind, sentinel)
	c.put = append(slices.Clip(c.put), sentinel)
	b.cluster.apply(c)
	deadline := time.After(patience)
	for {
		statuses, more := b.cluster.snapshot()
		if _, ok := statuses[key]; ok {
			break
		}
		select {
		case <-more:
		case <-deadline:
			b.t.Fatalf("the change was not applied within %s", patience)
		}
	}
	b.eventually("all changed routes had their turn", func() error { return wait.True(b.gauge("fairlead_router_waiting_routes") == 0) })
	b.cluster.apply(change{del: []model.Object{key}})
}

// reloads returns the number of reloads since the engine started.
func (b *bed) reloads() int {
	b.t.Helper()
	return b.count("fairlead_router_reloads_total")
}

// count adds up a counter of the router over its labels.
func (b *bed) count(name string) int {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				n += int(m.GetCounter().GetValue()) + int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return n
}

// gauge returns a gauge of the router.
func (b *bed) gauge(name string) float64 {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return 0
}

// readBack asks HAProxy what it has, on a connection of the test's own.
func (b *bed) readBack() *plan.State {
	b.t.Helper()
	rt := b.newRuntime()
	rt.ReadOnly = true
	st, err := rt.ReadBack()
	if err != nil {
		b.t.Fatal(err)
	}
	return st
}

func (b *bed) newRuntime() *haproxy.Runtime {
	b.t.Helper()
	rt, err := haproxy.NewRuntime(b.layout, b.caps)
	if err != nil {
		b.t.Fatal(err)
	}
	return rt
}

// statusOf returns the last status published for a route.
func (b *bed) statusOf(k model.Object) (model.RouteStatus, bool) {
	statuses, _ := b.cluster.snapshot()
	st, ok := statuses[k]
	return st, ok
}
