package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/outlier"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/statefile"
)

// memory is a HAProxy in memory: it takes steps, refuses some, and may be replaced.
// The real one is in test/cases; here time passes in no time.
type memory struct {
	state       *plan.State
	pid         int
	description string
	// base and written are its files.
	base    render.Base
	written *plan.State
	// marks counts the writes, mark is the one that the process started from.
	marks, mark int
	// notMarked is true for a process that starts from other files, in which is nothing.
	notMarked bool
	// refuse returns why a step is refused, or "".
	refuse func(plan.Step) string
	// lost is true for a step with which HAProxy drops the rest of its batch, though it
	// says that it took all of it.
	lost func(plan.Step) bool
	// refuseReload is why a reload is refused, or "".
	refuseReload string
	reloads      int
	// starts says whether a process that is gone starts from files with this base.
	starts func(render.Base) bool
	taken  []plan.Step
	// takes is how long a call of Apply takes.
	takes time.Duration
	// calls counts those of Apply, looks those of Info, watches those of Ended, digests those
	// of Digest.
	calls, looks, watches, digests int
	// ended is closed when the process has ended.
	ended chan struct{}
}

func (m *memory) Info() (haproxy.Info, error) {
	m.looks++
	if m.pid == 0 {
		return haproxy.Info{}, haproxy.ErrGone
	}
	return haproxy.Info{PID: m.pid, Version: "3.4", Description: m.description}, nil
}
func (m *memory) Starting() bool { return false }

func (m *memory) Ended(int) <-chan struct{} {
	m.watches++
	return m.ended
}
func (m *memory) Turn() error { return nil }

func (m *memory) Record(steps []plan.Step) error {
	for _, s := range steps {
		m.written.Apply(s)
	}
	return nil
}
func (m *memory) Pace(bool, int) {}

func (m *memory) Apply(steps []plan.Step, done func(plan.Step)) error {
	m.calls++
	time.Sleep(m.takes) //nolint:forbidigo // the clock of a bubble
	dropped := false
	for _, s := range steps {
		if dropped = dropped || m.lost != nil && m.lost(s); dropped {
			done(s)
			continue
		}
		if m.refuse != nil {
			if why := m.refuse(s); why != "" {
				return &haproxy.RefusedError{Message: why, Steps: []plan.Step{s}}
			}
		}
		m.state.Apply(s)
		m.taken = append(m.taken, s)
		done(s)
	}
	return nil
}

func (m *memory) Write(base render.Base, st *plan.State) error {
	m.base, m.written = base, st.Clone()
	m.marks++
	if m.pid == 0 && m.starts != nil && m.starts(base) {
		m.start()
	}
	return nil
}

func (m *memory) Reload() error {
	if m.refuseReload != "" {
		return &haproxy.RefusedError{Message: m.refuseReload, Log: m.refuseReload}
	}
	m.reloads++
	m.start()
	return nil
}

// start begins a process from the files.
func (m *memory) start() {
	m.pid++
	m.state, m.description, m.mark = m.written.Clone(), m.base.Fingerprint, m.marks
	if m.notMarked {
		m.state, m.mark = plan.NewState(), 0
	}
}

func (m *memory) Mark() string                 { return strconv.Itoa(m.marks) }
func (m *memory) StartedFrom() (string, error) { return strconv.Itoa(m.mark), nil }

func (m *memory) ReadBack() (*plan.State, error) { return m.state.Clone(), nil }
func (m *memory) Inspect(_, _ *plan.State) error { return nil }
func (m *memory) ServerErrors([]string) (map[string]map[string]outlier.Errors, error) {
	return nil, nil
}
func (m *memory) OldWorkers() ([]haproxy.OldWorker, error)         { return nil, nil }
func (m *memory) RefusedSources(func(haproxy.RefusedSource)) error { return nil }

func (m *memory) Refusals(func(int, haproxy.Refusal, uint64)) error { return nil }

func (m *memory) Digest(*plan.State, haproxy.Depth) (uint64, error) {
	m.digests++
	return sum(m.state), nil
}
func (m *memory) Expect(st *plan.State, _ haproxy.Depth) uint64 { return sum(st) }

// sum is a digest of the names in a state.
func sum(st *plan.State) uint64 {
	text := fmt.Sprint(st.Entries, slices.Sorted(maps.Keys(st.Certs)), st.Lines)
	for _, name := range slices.Sorted(maps.Keys(st.Backends)) {
		text += name
		for _, s := range st.Backends[name].Servers {
			text += " " + s.Name
		}
	}
	h := uint64(14695981039346656037)
	for _, b := range []byte(text) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// bench is an engine with a HAProxy and a cluster in memory. Each Service has one pod.
type bench struct {
	t        *testing.T
	haproxy  *memory
	routes   map[model.Object]*routev1.Route
	changes  door.Changes
	wake     chan struct{}
	settings settings.Settings
	changed  chan struct{}
	statuses map[model.Object]model.RouteStatus
	// takenBefore is how many steps HAProxy had taken when a status was told.
	takenBefore map[model.Object]int
	refused     *api.Finding
	// annotations are those of routes that put makes, agent is the policy agent.
	annotations map[string]string
	agent       Agent
	counters    Counters
	metrics     *Metrics
	networks    func() snapshot.Networks
	replicas    func() *snapshot.Replicas
	registry    *prometheus.Registry
	dir         string
	stop        func()
	version     int
}

// inBubble runs a test with a clock of its own.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{
			t: t, dir: dir, haproxy: &memory{}, routes: map[model.Object]*routev1.Route{}, wake: make(chan struct{}, 1), changed: make(chan struct{}, 1),
			statuses: map[model.Object]model.RouteStatus{}, takenBefore: map[model.Object]int{},
		}
		b.settings.Render.HTTPPort, b.settings.Render.HTTPSPort, b.settings.Render.MaxConn = 80, 443, 100
		b.start()
		defer func() { b.stop() }()
		test(b)
	})
}

// start runs an engine; HAProxy starts from the files that it writes, if none runs.
func (b *bench) start() {
	b.t.Helper()
	b.registry = prometheus.NewRegistry()
	metrics := NewMetrics(b.registry)
	b.metrics = metrics
	e, err := New(Options{
		Agent: b.agent, Networks: b.networks, Replicas: b.replicas,
		Doors: doors.All(), Cluster: b, Statuses: b, Layout: render.Layout{Dir: b.dir}, HAProxy: b.haproxy, Counters: b.counters,
		State:    &statefile.Store{Dir: b.dir, Log: slog.New(slog.DiscardHandler), Discarded: metrics.StateDiscarded, Failed: metrics.WriteFailed},
		Caps:     plan.Capabilities{DynamicBackends: true, AutoSNI: true, HeaderLists: true, MaxPayload: 1 << 20},
		Settings: func() settings.Settings { return b.settings }, SettingsChanged: b.changed, SettingsRefused: func(f *api.Finding) { b.refused = f },
		Certificate: &model.Certificate{ID: plan.DefaultCertID, PEM: "x"}, Log: slog.New(slog.DiscardHandler), Metrics: metrics,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
		b.stop = func() {}
	}
	synctest.Wait()
	if b.haproxy.pid == 0 {
		b.haproxy.start()
		b.pass(processCheck)
	}
}

// put makes or changes a route, and waits until the engine has nothing to do.
func (b *bench) put(name, host, service string) {
	b.version++
	key := object(name)
	r := &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(b.version), CreationTimestamp: metav1.Unix(1, 0), Annotations: maps.Clone(b.annotations)},
		Spec:       routev1.RouteSpec{Host: host, To: routev1.RouteTargetReference{Kind: "Service", Name: service}},
	}
	b.routes[key] = r
	b.change(key)
}

func (b *bench) remove(name string) {
	delete(b.routes, object(name))
	b.change(object(name))
}

func (b *bench) change(key model.Object) {
	if b.changes.Objects == nil {
		b.changes.Objects = model.Objects{}
	}
	b.changes.Objects[key] = struct{}{}
	b.wake <- struct{}{}
	synctest.Wait()
}

func object(name string) model.Object {
	return model.Object{Kind: route.Kind, Namespace: "ns", Name: name}
}

// serves reports whether HAProxy has a key for a host.
func (b *bench) serves(host string) bool {
	_, ok := b.haproxy.state.Entries[plan.Entry{Map: plan.MapHTTP, Key: host + "/"}]
	return ok
}

// server returns the server that a host leads to.
func (b *bench) server(host string) string {
	name := plan.TargetBackend(b.haproxy.state.Entries[plan.Entry{Map: plan.MapHTTP, Key: host + "/"}])
	if backend := b.haproxy.state.Backends[name]; backend != nil {
		for _, server := range backend.Servers {
			return server.Name
		}
	}
	return ""
}

func (b *bench) All() []model.Object { return slices.Collect(maps.Keys(b.routes)) }
func (b *bench) Object(o model.Object) door.Version {
	if r := b.routes[o]; r != nil {
		return r
	}
	return nil
}
func (b *bench) Service(model.Object) *backend.Service             { return &backend.Service{} }
func (b *bench) Secret(model.Object) (*corev1.Secret, error)       { return nil, nil }
func (b *bench) ConfigMap(model.Object) (*policy.ConfigMap, error) { return nil, nil }
func (b *bench) Slices(service model.Object) []*backend.Slice {
	port := int32(8080)
	return []*backend.Slice{backend.NewSlice(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: service.Name}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	})}
}
func (b *bench) Wake() <-chan struct{} { return b.wake }
func (b *bench) Take() door.Changes {
	ch := b.changes
	b.changes = door.Changes{}
	return ch
}
func (b *bench) Need(model.Objects)                 {}
func (b *bench) WaitForNeeded(context.Context) bool { return true }
func (b *bench) Publish(all []model.RouteStatus) {
	for _, st := range all {
		b.statuses[st.Object], b.takenBefore[st.Object] = st, len(b.haproxy.taken)
	}
}

func (b *bench) Forget(keys []model.Object) {
	for _, key := range keys {
		delete(b.statuses, key)
	}
}

func (*bench) Policies(string) *policy.Set { return nil }

func (*bench) AllPolicies() []model.Object        { return nil }
func (*bench) Namespace(string) *policy.Namespace { return nil }

func (*bench) PublishPolicies([]policy.Report) {}
