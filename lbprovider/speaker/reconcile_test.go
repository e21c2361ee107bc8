package speaker

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/configstate"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// fakeProtocol decides what the test wants and records what it is asked.
type fakeProtocol struct {
	name     string
	decision Decision
	calls    *[]string
	services map[types.NamespacedName]Announcement
	// fails is what SetConfig returns.
	fails error
}

func (p *fakeProtocol) call(format string, args ...any) {
	*p.calls = append(*p.calls, p.name+" "+fmt.Sprintf(format, args...))
}

func (p *fakeProtocol) Name() string { return p.name }

func (p *fakeProtocol) SetConfig(context.Context, *Cluster) error {
	p.call("SetConfig")
	return p.fails
}

func (p *fakeProtocol) Announce(r Request) Decision {
	p.call("Announce %s %v served=%v", r.Service.Name, r.Addrs, r.Served)
	p.services[client.ObjectKeyFromObject(r.Service)] = Announcement{Addrs: r.Addrs, Announce: p.decision.Refusal == ""}
	return p.decision
}

func (p *fakeProtocol) Withdraw(name types.NamespacedName) {
	if _, known := p.services[name]; known {
		p.call("Withdraw %s", name.Name)
	}
	delete(p.services, name)
}

func (p *fakeProtocol) Apply()  { p.call("Apply") }
func (p *fakeProtocol) Report() { p.call("Report") }

func (p *fakeProtocol) Services() iter.Seq2[types.NamespacedName, Announcement] {
	return func(yield func(types.NamespacedName, Announcement) bool) {
		for name, a := range p.services {
			if !yield(name, a) {
				return
			}
		}
	}
}

func (p *fakeProtocol) Explain(_ context.Context, rows []Row) {
	for i := range rows {
		rows[i].Waits = true
	}
}

func (p *fakeProtocol) Close(context.Context) { p.call("Close") }

// emptyCluster has no objects.
type emptyCluster struct{ client.Reader }

func (emptyCluster) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// fakeServices are the Services of the namespace ns, with their addresses.
type fakeServices map[string]string

func (f fakeServices) Service(name types.NamespacedName) *corev1.Service {
	ip, known := f[name.Name]
	if !known {
		return nil
	}
	svc := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	svc.Namespace, svc.Name = name.Namespace, name.Name
	if ip != "" {
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
	}
	return svc
}

func (f fakeServices) Has(name types.NamespacedName) bool { return f.Service(name) != nil }

func (f fakeServices) Names() (names []types.NamespacedName) {
	for name := range f {
		names = append(names, svcName(name))
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	return names
}

func (fakeServices) Endpoints(types.NamespacedName) []service.Endpoint { return nil }

func svcName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

// noPeers are no other speakers.
type noPeers struct{}

func (noPeers) Snapshot() *liveness.Snapshot { return &liveness.Snapshot{Synced: true} }
func (noPeers) SetPeers([]string)            {}
func (noPeers) SetAnswering([]string)        {}

// testSpeaker is a speaker without an API server and without a network.
type testSpeaker struct {
	*Speaker
	t             *testing.T
	calls         []string
	services      fakeServices
	first, second *fakeProtocol
	events        *record.FakeRecorder
	queue         workqueue.TypedRateLimitingInterface[request]
}

func newTestSpeaker(t *testing.T, services fakeServices) *testSpeaker {
	t.Helper()
	s := &testSpeaker{t: t, services: services, events: record.NewFakeRecorder(100)}
	s.first = &fakeProtocol{name: "first", calls: &s.calls, services: map[types.NamespacedName]Announcement{}}
	s.second = &fakeProtocol{name: "second", calls: &s.calls, services: map[types.NamespacedName]Announcement{}}
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	metrics, err := newGauges(reg)
	if err != nil {
		t.Fatal(err)
	}
	counters, err := newReconcileCounters(reg)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{NodeName: "a", Classes: service.DefaultClasses(), Speakers: labels.Everything(), Peers: noPeers{}, Log: log}
	s.Speaker = &Speaker{
		opts: opts, log: log, events: s.events, counters: counters, services: services,
		config:   &configReader{client: emptyCluster{}, opts: opts, log: log, metrics: metrics, reporter: configstate.New(configstate.Options{Log: log})},
		clusters: newClusterReader(emptyCluster{}, opts, log, metrics),
		backends: newBackendReader(services, noPeers{}, s.events, func() {}), protocols: []Protocol{s.first, s.second},
	}
	s.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[request]())
	t.Cleanup(s.queue.ShutDown)
	if err := s.requests.Start(t.Context(), s.queue); err != nil {
		t.Fatal(err)
	}
	return s
}

// work carries out all requests that are queued and returns what protocols were asked.
func (s *testSpeaker) work() []string {
	s.t.Helper()
	s.calls = nil
	for s.queue.Len() > 0 {
		req, _ := s.queue.Get()
		if _, err := s.Reconcile(s.t.Context(), req); err != nil {
			s.t.Fatalf("%s: %v", req, err)
		}
		s.queue.Done(req)
	}
	return s.calls
}

func (s *testSpeaker) want(step string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.work()); diff != "" {
		s.t.Errorf("%s: calls (-want +got):\n%s", step, diff)
	}
}

// TestRequests: each kind of request asks the protocols for what it stands for, in
// their order, and what the first announces is known to the second.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := newTestSpeaker(t, fakeServices{"web": "10.0.0.1", "new": ""})
	s.first.decision = Decision{Refusal: "notEligible", Served: true}
	s.want("at the start", "first SetConfig", "second SetConfig",
		"first Announce new [] served=false", "second Announce new [] served=true",
		"first Announce web [10.0.0.1] served=false", "second Announce web [10.0.0.1] served=true",
		"first Apply", "first Report", "second Apply", "second Report")
	s.requests.add(decideService(svcName("web")))
	s.requests.add(decideService(svcName("new")))
	s.want("two Services change", "first Announce web [10.0.0.1] served=false", "second Announce web [10.0.0.1] served=true",
		"first Announce new [] served=false", "second Announce new [] served=true",
		"first Apply", "first Report", "second Apply", "second Report")
	s.requests.add(reportStatus{protocol: s.second})
	s.want("a session changes", "second Report")
	s.services["web"] = "none"
	s.requests.add(decideService(svcName("web")))
	s.want("an address that cannot be read", "first Announce web [] served=false", "second Announce web [] served=true",
		"first Apply", "first Report", "second Apply", "second Report")
}

// TestWithdraw: a Service that is gone is withdrawn by every protocol, whether its
// end was seen or not.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	s := newTestSpeaker(t, fakeServices{"a": "10.0.0.1", "b": "10.0.0.2"})
	s.work()
	delete(s.services, "a")
	s.requests.add(decideService(svcName("a")))
	s.want("it was seen", "first Withdraw a", "second Withdraw a", "first Apply", "first Report", "second Apply", "second Report")
	delete(s.services, "b")
	s.Changed()
	s.want("it was not seen", "first SetConfig", "second SetConfig", "first Withdraw b", "second Withdraw b",
		"first Apply", "first Report", "second Apply", "second Report")
}

// TestDecisionsAreReported: users see when a node begins to announce and what keeps
// an address from being announced; a refusal that is no problem is not an event.
func TestDecisionsAreReported(t *testing.T) {
	t.Parallel()
	s := newTestSpeaker(t, fakeServices{"web": "10.0.0.1"})
	s.first.decision = Decision{Changed: true, Message: "x", Starts: true, TakenFrom: "; taken over"}
	s.second.decision = Decision{Refusal: "noEligibleNode", Problem: "no node announces the address"}
	s.work()
	close(s.events.Events)
	var got []string
	for e := range s.events.Events {
		got = append(got, e)
	}
	want := []string{
		`Normal nodeAssigned announcing from node "a" with protocol "first"; taken over`,
		"Warning announceFailed no node announces the address",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestFailedProtocol: one protocol that cannot take the configuration over keeps
// the other from nothing but the full pass, and that is tried again.
func TestFailedProtocol(t *testing.T) {
	t.Parallel()
	s := newTestSpeaker(t, fakeServices{"web": "10.0.0.1"})
	s.first.fails = fmt.Errorf("no such node")
	_, err := s.Reconcile(t.Context(), refreshAll{})
	if err == nil || !slices.Equal(s.calls, []string{"first SetConfig", "second SetConfig"}) {
		t.Errorf("error %v after %q", err, s.calls)
	}
	if s.notReady() == "" {
		t.Error("the speaker is ready and has decided nothing")
	}
}

// TestRows: the debug page shows each Service once, or those with an address.
func TestRows(t *testing.T) {
	t.Parallel()
	s := newTestSpeaker(t, fakeServices{"a": "10.0.0.1", "b": "10.0.0.2"})
	s.work()
	names := func(addr netip.Addr) (all []string) {
		for _, row := range s.rows(t.Context(), addr) {
			if !row.Waits {
				t.Errorf("%s is not explained", row.Service)
			}
			all = append(all, fmt.Sprint(row.Service, row.Addresses))
		}
		return all
	}
	if diff := cmp.Diff([]string{"ns/a[10.0.0.1]", "ns/b[10.0.0.2]"}, names(netip.Addr{})); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ns/b[10.0.0.2]"}, names(netip.MustParseAddr("10.0.0.2"))); diff != "" {
		t.Errorf("one (-want +got):\n%s", diff)
	}
}
