package speaker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/service"
	"github.com/fairlead/fairlead/lbprovider/speaker"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// record remembers what the speaker wants announced.
type record struct {
	mu        sync.Mutex
	claims    map[netip.Addr]l2.Claim
	refreshed int
	// lost are the times that came with claims.
	lost []time.Time
}

func (r *record) Announce(claims map[netip.Addr]l2.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for addr, c := range claims {
		if was, known := r.claims[addr]; !c.Yield && (!known || was.Yield) {
			r.lost = append(r.lost, c.OwnerDiedAt)
		}
	}
	r.claims = claims
}

func (r *record) Refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refreshed++
}

func (r *record) Last(context.Context) map[netip.Addr]time.Time { return nil }

func (r *record) addresses() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := maps.Clone(r.claims)
	maps.DeleteFunc(kept, func(_ netip.Addr, c l2.Claim) bool { return c.Yield })
	addrs := slices.SortedFunc(maps.Keys(kept), netip.Addr.Compare)
	return strings.Trim(fmt.Sprint(addrs), "[]")
}

// peers says what the test wants to be known of other speakers.
type peers struct {
	mu        sync.Mutex
	snapshot  *liveness.Snapshot
	addresses []string
}

func (p *peers) Snapshot() *liveness.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot
}

func (p *peers) SetPeers(addresses []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addresses = addresses
}

func (p *peers) SetAnswering([]string) {}

// died is when node-b is found dead, whenever it is not alive.
var died = time.Unix(1700000000, 0)

func (p *peers) alive(names ...string) {
	next := &liveness.Snapshot{Synced: true, Members: map[string]liveness.Member{}, Dead: map[string]time.Time{"node-b": died}}
	for _, n := range names {
		next.Members[n] = liveness.Member{Phase: liveness.Active, Interfaces: []string{"eth0"}}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.snapshot = next
}

type env struct {
	*metallbapi.API
	announced *record
	routers   *routers
	peers     *peers
	speaker   *speaker.Speaker
	metrics   *prometheus.Registry
}

// newEnv starts an API server and the speaker of the node "node-a".
func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{API: metallbapi.Start(t, "../.."), announced: &record{}, routers: &routers{}, peers: &peers{snapshot: &liveness.Snapshot{}}, metrics: prometheus.NewRegistry()}
	again := true // several tests of this process make one
	mgr, err := ctrl.NewManager(e.REST, ctrl.Options{
		Scheme: metallbapi.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: &again},
	})
	e.Must(err)
	e.speaker, err = speaker.Setup(mgr, speaker.Options{
		NodeName: "node-a", Namespace: api.ProviderNamespace, Classes: service.DefaultClasses(),
		Speakers: labels.SelectorFromSet(labels.Set{"app": "speaker"}), Announcer: e.announced, Peers: e.peers, Routers: e.routers,
		Registerer: e.metrics, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	e.Must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("speaker: %v", err)
		}
	})
	return e
}

// announces polls until the speaker announces exactly these addresses.
func (e *env) announces(want string) {
	e.T.Helper()
	e.Eventually(func() string {
		if got := e.announced.addresses(); got != want {
			return fmt.Sprintf("announced is %q, want %q", got, want)
		}
		return ""
	})
}

// reason polls until the debug page shows this reason for the address.
func (e *env) reason(addr, want string) {
	e.T.Helper()
	e.Eventually(func() string {
		answer := httptest.NewRecorder()
		e.speaker.ServeHTTP(answer, httptest.NewRequest("GET", "/debug/l2?ip="+addr, nil))
		var rows []speaker.Row
		if err := json.Unmarshal(answer.Body.Bytes(), &rows); err != nil || len(rows) != 1 || string(rows[0].Decision.Reason) != want {
			return fmt.Sprintf("debug page of %s lacks the reason %s: %s", addr, want, answer.Body)
		}
		return ""
	})
}

func (e *env) create(objects ...client.Object) {
	e.T.Helper()
	for _, o := range objects {
		e.Must(e.Create(e.T.Context(), o))
	}
}

func (e *env) node(name string) {
	e.T.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	e.create(n)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	e.Must(e.Status().Update(e.T.Context(), n))
}

func (e *env) patch(o client.Object, patch string) {
	e.T.Helper()
	e.Must(e.Patch(e.T.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// TestSpeakerAgainstAPIServer walks one Service through its life. The address
// 10.0.0.1 has the order node-b, node-a, node-c.
func TestSpeakerAgainstAPIServer(t *testing.T) {
	e := newEnv(t)
	const vip = "10.0.0.1"
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: name}
	}
	e.node("node-a")
	e.node("node-b")
	pool := &v1beta1.IPAddressPool{ObjectMeta: meta("p"), Spec: v1beta1.IPAddressPoolSpec{Addresses: []string{"10.0.0.0/24"}}}
	e.create(pool)
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	e.create(svc)
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: vip}}
	e.Must(e.Status().Update(t.Context(), svc))

	e.reason(vip, "notSynced")
	e.peers.alive("node-a")
	e.speaker.Changed()
	e.reason(vip, "noMatchingAdvertisement")
	ad := &v1beta1.L2Advertisement{ObjectMeta: meta("all")}
	e.create(ad)
	e.reason(vip, "noReadyEndpoints")

	ready, nodeB := true, "node-b"
	endpoints := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, NodeName: &nodeB, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
	e.create(endpoints)

	step := func(name string, f func(t *testing.T)) {
		t.Helper()
		e.Step(t, name, f)
	}
	step("a speaker that works but was never met is not taken for dead", func(t *testing.T) {
		e.announces(vip) // no speaker is known on node-b
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: "speaker-b", Labels: map[string]string{"app": "speaker"}},
			Spec:       corev1.PodSpec{NodeName: "node-b", Containers: []corev1.Container{{Name: "x", Image: "x:y"}}},
		}
		e.create(&corev1.ServiceAccount{ObjectMeta: meta("default")}, p)
		p.Status.HostIP, p.Status.HostIPs = "198.18.0.2", []corev1.HostIP{{IP: "198.18.0.2"}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		e.Must(e.Status().Update(t.Context(), p))
		e.reason(vip, "notOwner")
		e.announces("")
		e.peers.mu.Lock()
		defer e.peers.mu.Unlock()
		if !slices.Equal(e.peers.addresses, []string{"198.18.0.2"}) {
			t.Errorf("the gossip looks for speakers at %v", e.peers.addresses)
		}
	})
	step("the owner is met, is lost, and returns", func(*testing.T) {
		e.peers.alive("node-a", "node-b")
		e.speaker.Changed()
		e.reason(vip, "notOwner")
		e.Eventually(func() string { return e.reached(2) })
		e.Eventually(func() string { return e.value("fairlead_lb_l2_owner_changes_total", 0) })
		e.peers.alive("node-a")
		e.speaker.Changed()
		e.announces(vip)
		e.tookOver(1, died)
		e.peers.alive("node-a", "node-b")
		e.speaker.Changed()
		e.announces("")
	})
	step("the owner is labelled", func(*testing.T) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-b"}}
		e.patch(n, `{"metadata":{"labels":{"`+api.LabelExcludeFromLoadBalancers+`":""}}}`)
		e.announces(vip)
		e.tookOver(2, time.Time{}) // the other lives
		e.speaker.Conflict(l2.Conflict{Address: netip.MustParseAddr(vip), MAC: net.HardwareAddr{2, 0, 0, 0, 0, 7}, Interface: "eth0"})
		e.Eventually(func() string {
			return e.event("web", "addressConflict", "another host, 02:00:00:00:00:07 on interface eth0")
		})
		e.patch(n, `{"metadata":{"labels":{"`+api.LabelExcludeFromLoadBalancers+`":null}}}`)
		e.announces("")
	})
	step("the owner is not ready", func(t *testing.T) {
		n := &corev1.Node{}
		e.Must(e.Get(t.Context(), client.ObjectKey{Name: "node-b"}, n))
		n.Status.Conditions[0].Status = corev1.ConditionUnknown
		e.Must(e.Status().Update(t.Context(), n))
		e.announces(vip)
		n.Status.Conditions[0].Status = corev1.ConditionTrue
		e.Must(e.Status().Update(t.Context(), n))
		e.announces("")
	})
	step("the advertisement chooses nodes and interfaces", func(*testing.T) {
		e.patch(ad, `{"spec":{"nodeSelectors":[{"matchLabels":{"kubernetes.io/hostname":"none"}}]}}`)
		e.reason(vip, "noEligibleNode")
		e.Eventually(func() string { return e.event("web", "announceFailed", "no advertisement selects it") })
		e.patch(ad, `{"spec":{"nodeSelectors":null,"interfaces":["eth7"]}}`)
		e.reason(vip, "noEligibleNode")
		e.patch(ad, `{"spec":{"interfaces":null}}`)
		e.reason(vip, "notOwner")
	})
	step("policy Local follows the pods", func(*testing.T) {
		e.patch(svc, `{"spec":{"externalTrafficPolicy":"Local"}}`)
		e.reason(vip, "notOwner")
		e.patch(endpoints, `{"endpoints":[{"addresses":["10.1.0.1"],"nodeName":"node-a","conditions":{"ready":true}}]}`)
		e.announces(vip)
		e.Eventually(func() string {
			return e.event("web", "nodeAssigned", `announcing from node "node-a" with protocol "layer2"`)
		})
		e.patch(endpoints, `{"endpoints":[{"addresses":["10.1.0.1"],"nodeName":"node-a","conditions":{"ready":false}}]}`)
		e.announces("")
		e.patch(endpoints, `{"endpoints":[{"addresses":["10.1.0.1"],"nodeName":"node-a","conditions":{"ready":false,"serving":true,"terminating":true}}]}`)
		e.announces(vip)
	})
	step("the status object names the announcing node, whatever other programs do to it", func(t *testing.T) { objects(t, e, svc) })
	step("the pool goes, the service goes", func(t *testing.T) {
		e.Must(e.Delete(t.Context(), pool))
		e.reason(vip, "ipNotAllowed")
		e.announces("")
		e.create(&v1beta1.IPAddressPool{ObjectMeta: meta("again"), Spec: v1beta1.IPAddressPoolSpec{Addresses: []string{"10.0.0.1-10.0.0.9"}}})
		e.announces(vip)
		e.Must(e.Delete(t.Context(), svc))
		e.announces("")
		e.Eventually(func() string { return e.value("fairlead_lb_l2_owner_changes_total", 0) })
		e.Eventually(func() string { return e.value("metallb_speaker_announced", 0) })
		e.statuses("")
	})
}

// objects looks at the metric and the status object of the Service, which
// node-a announces, and changes and deletes the latter as another program would.
func objects(t *testing.T, e *env, svc *corev1.Service) {
	const mine = "node-a announces default/web [10.0.0.1]"
	e.Eventually(func() string { return e.value("metallb_speaker_announced", 1) })
	e.statuses(mine)
	var list v1beta1.ServiceL2StatusList
	e.Must(e.List(t.Context(), &list))
	o := &list.Items[0]
	for key, want := range map[string]string{v1beta1.LabelNode: "node-a", v1beta1.LabelServiceName: svc.Name, v1beta1.LabelServiceNamespace: svc.Namespace} {
		if o.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, o.Labels[key], want)
		}
	}
	o.Status.Addresses = []string{"10.9.9.9"}
	e.Must(e.Status().Update(t.Context(), o))
	e.statuses(mine)
	e.Must(e.Delete(t.Context(), o))
	e.statuses(mine)
	other := &v1beta1.ServiceL2Status{ObjectMeta: metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: "l2-other", Labels: map[string]string{
		v1beta1.LabelNode: "node-b", v1beta1.LabelServiceName: svc.Name, v1beta1.LabelServiceNamespace: svc.Namespace,
	}}}
	e.create(other)
	other.Status = v1beta1.MetalLBServiceL2Status{Node: "node-b", ServiceName: svc.Name, ServiceNamespace: svc.Namespace}
	e.Must(client.IgnoreNotFound(e.Status().Update(t.Context(), other))) // it may be gone already
	e.statuses(mine)
}

// statuses polls until the ServiceL2Status objects say this.
func (e *env) statuses(want string) {
	e.T.Helper()
	e.Eventually(func() string {
		var list v1beta1.ServiceL2StatusList
		e.Must(e.List(e.T.Context(), &list))
		var got []string
		for _, o := range list.Items {
			s := o.Status
			got = append(got, fmt.Sprintf("%s announces %s/%s %v", s.Node, s.ServiceNamespace, s.ServiceName, s.Addresses))
		}
		if all := strings.Join(got, "; "); all != want {
			return fmt.Sprintf("status objects say %q, want %q", all, want)
		}
		return ""
	})
}

// tookOver waits until the speaker has taken its only address over so often, the
// last time from a node that died then.
func (e *env) tookOver(times int, died time.Time) {
	e.T.Helper()
	e.Eventually(func() string { return e.value("fairlead_lb_l2_owner_changes_total", times) })
	e.announced.mu.Lock()
	defer e.announced.mu.Unlock()
	if !slices.ContainsFunc(e.announced.lost, died.Equal) {
		e.T.Errorf("the former owner died at %v by what the announcer got, want %v", e.announced.lost, died)
	}
	e.announced.lost = nil
}

// value says "" if the sum of a metric is this; 0: it is not there.
func (e *env) value(name string, want int) string {
	families, err := e.metrics.Gather()
	e.Must(err)
	got := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				got += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	if int(got) != want {
		return fmt.Sprintf("metric %s is %v, want %d", name, got, want)
	}
	return ""
}

// reached says "" if the speaker counts this many reachable speakers.
func (e *env) reached(want int) string { return e.value("fairlead_lb_members", want) }

// event says "" if the Service has an event of this reason with this text.
func (e *env) event(name, reason, text string) string {
	var list corev1.EventList
	e.Must(e.List(e.T.Context(), &list, client.InNamespace("default")))
	for _, ev := range list.Items {
		if ev.InvolvedObject.Name == name && ev.Reason == reason && strings.Contains(ev.Message, text) {
			return ""
		}
	}
	return fmt.Sprintf("service %s has no event %s with %q", name, reason, text)
}
