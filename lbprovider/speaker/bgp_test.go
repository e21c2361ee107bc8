package speaker_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// routers records what peers are to be sent. All sessions are in the given state.
type routers struct {
	mu       sync.Mutex
	sessions []bgp.Session
	up       bool
	failures int
}

func (r *routers) Apply(sessions []bgp.Session, _ []netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = sessions
}

func (r *routers) Status() []bgp.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []bgp.Status
	for _, s := range r.sessions {
		st := bgp.Status{Peer: s.Peer, Address: s.Peer.Address, State: "Active", Problem: "no answer", Routes: len(s.Routes), Failures: r.failures}
		if r.up {
			st.State, st.Problem, st.PeerASN, st.Since = "Established", "", s.Peer.PeerASN, time.Unix(1_700_000_000, 0)
		}
		st.Peer.Password = ""
		all = append(all, st)
	}
	return all
}

func (r *routers) Suspend(string, string)    {}
func (r *routers) Resume(string)             {}
func (r *routers) Close(bool, time.Duration) {}

func (r *routers) establish(up bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = up
}

// crash is what the end of a session's process looks like.
func (r *routers) crash() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
}

// sent is "peer password: routes" per peer.
func (r *routers) sent() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, s := range r.sessions {
		line := s.Peer.Name + " " + s.Peer.Password + ":"
		for _, route := range s.Routes {
			line += fmt.Sprintf(" %s %v", route.Prefix, route.Communities)
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func (e *env) sends(want string) {
	e.T.Helper()
	e.Eventually(func() string {
		if got := e.routers.sent(); got != want {
			return fmt.Sprintf("peers are sent %q, want %q", got, want)
		}
		return ""
	})
}

// TestBGPAgainstAPIServer walks one Service, its peers and what they name through
// their lives. The node is node-a.
func TestBGPAgainstAPIServer(t *testing.T) {
	e := newEnv(t)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: api.ProviderNamespace, Name: name}
	}
	e.node("node-a")
	e.node("node-b")
	e.peers.alive("node-a")
	ready, nodeB := true, "node-b"
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	secret := &corev1.Secret{ObjectMeta: meta("tor"), Type: corev1.SecretTypeBasicAuth, StringData: map[string]string{"password": "first"}}
	tor := &v1beta2.BGPPeer{ObjectMeta: meta("tor"), Spec: v1beta2.BGPPeerSpec{
		MyASN: 64512, ASN: 64500, Address: "198.18.0.1", PasswordSecret: corev1.SecretReference{Name: "tor"},
	}}
	ad := &v1beta1.BGPAdvertisement{ObjectMeta: meta("all"), Spec: v1beta1.BGPAdvertisementSpec{Communities: []string{"blue"}}}
	e.create(
		&v1beta1.IPAddressPool{ObjectMeta: meta("p"), Spec: v1beta1.IPAddressPoolSpec{Addresses: []string{"10.0.0.0/24"}}},
		svc, secret, tor, ad,
		&v1beta1.Community{ObjectMeta: meta("c"), Spec: v1beta1.CommunitySpec{Communities: []v1beta1.CommunityAlias{{Name: "blue", Value: "64512:1"}}}},
		&v1beta2.BGPPeer{ObjectMeta: meta("elsewhere"), Spec: v1beta2.BGPPeerSpec{
			MyASN: 64512, ASN: 64500, Address: "198.18.0.2", NodeSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"rack": "2"}}},
		}},
		&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, NodeName: &nodeB, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		},
	)
	e.sends("tor first:")
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
	e.Must(e.Status().Update(t.Context(), svc))
	e.sends("tor first: 10.0.0.1/32 [64512:1]")

	e.patch(svc, `{"spec":{"externalTrafficPolicy":"Local"}}`)
	e.sends("tor first:")
	e.patch(svc, `{"spec":{"externalTrafficPolicy":"Cluster"}}`)
	e.sends("tor first: 10.0.0.1/32 [64512:1]")
	e.patch(secret, `{"stringData":{"password":"second"}}`)
	e.sends("tor second: 10.0.0.1/32 [64512:1]")
	nodeA := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	e.patch(nodeA, `{"metadata":{"labels":{"rack":"2"}}}`)
	e.sends("elsewhere : 10.0.0.1/32 [64512:1]; tor second: 10.0.0.1/32 [64512:1]")
	e.patch(ad, `{"spec":{"peers":["elsewhere"],"aggregationLength":28}}`)
	e.sends("elsewhere : 10.0.0.0/28 [64512:1]; tor second:")
	e.patch(nodeA, `{"metadata":{"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":""}}}`)
	e.sends("elsewhere :; tor second:")
	e.patch(nodeA, `{"metadata":{"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":null}}}`)
	e.sends("elsewhere : 10.0.0.0/28 [64512:1]; tor second:")

	t.Run("objects", func(*testing.T) {
		e.sessions("elsewhere=Active/no answer/0 tor=Active/no answer/0")
		e.routers.establish(true)
		e.speaker.SessionsChanged()
		e.sessions("elsewhere=Established//1 tor=Established//0")
		e.statusOfService("elsewhere")
		e.hasEvent("sessionUp", `node "node-a" and 198.18.0.2:179 (AS 64500) have a session`)
		e.hasEvent("nodeAssigned", `with protocol "bgp"`)

		// What another program changes is reverted.
		var list v1beta1.BGPSessionStateList
		e.Must(e.List(t.Context(), &list))
		e.Must(e.Delete(t.Context(), &list.Items[0]))
		list.Items[1].Status.BGPStatus = "Great"
		e.Must(client.IgnoreNotFound(e.Status().Update(t.Context(), &list.Items[1])))
		e.sessions("elsewhere=Established//1 tor=Established//0")

		e.routers.establish(false)
		e.speaker.SessionsChanged()
		e.hasEvent("sessionDown", `node "node-a" lost its session with 198.18.0.2:179: no answer`)

		e.routers.crash()
		e.speaker.SessionsChanged()
		e.hasEvent("sessionProcessFailed", `node "node-a", session with 198.18.0.2:179: no answer (1 times so far)`)
	})
	e.Must(e.Delete(t.Context(), tor))
	e.sends("elsewhere : 10.0.0.0/28 [64512:1]")
	e.sessions("elsewhere=Active/no answer/0")
	e.Must(e.Delete(t.Context(), svc))
	e.sends("elsewhere :")
	e.statusOfService("")
}

func (e *env) sessions(want string) {
	e.T.Helper()
	e.Eventually(func() string {
		var list v1beta1.BGPSessionStateList
		e.Must(e.List(e.T.Context(), &list))
		var got []string
		for _, o := range list.Items {
			if o.Status.Node != "node-a" || o.Labels[v1beta1.LabelPeer] != o.Status.Peer {
				return fmt.Sprintf("unfinished: %+v", o)
			}
			got = append(got, fmt.Sprintf("%s=%s/%s/%d", o.Status.Peer, o.Status.BGPStatus, o.Status.LastError, o.Status.Advertised))
		}
		slices.Sort(got)
		if all := strings.Join(got, " "); all != want {
			return fmt.Sprintf("session states are %q, want %q", all, want)
		}
		return ""
	})
}

func (e *env) statusOfService(want string) {
	e.T.Helper()
	e.Eventually(func() string {
		var list v1beta1.ServiceBGPStatusList
		e.Must(e.List(e.T.Context(), &list))
		var got []string
		for _, o := range list.Items {
			got = append(got, o.Status.Peers...)
		}
		if all := strings.Join(got, " "); all != want {
			return fmt.Sprintf("the Service is announced to %q, want %q", all, want)
		}
		return ""
	})
}

func (e *env) hasEvent(reason, words string) {
	e.T.Helper()
	e.Eventually(func() string {
		var list corev1.EventList
		e.Must(e.List(e.T.Context(), &list))
		var seen []string
		for _, ev := range list.Items {
			if ev.Reason == reason && strings.Contains(ev.Message, words) {
				return ""
			}
			seen = append(seen, ev.Reason+": "+ev.Message)
		}
		return fmt.Sprintf("no event %s with %q among %q", reason, words, seen)
	})
}
