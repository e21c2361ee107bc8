package speaker

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/liveness"
)

// TestDeliveryGate: an address waits for its pause and for kube-proxy, and for nothing
// that kube-proxy does not report.
func TestDeliveryGate(t *testing.T) {
	t.Parallel()
	ready := make(chan bool, 1)
	kubeProxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-ready:
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer kubeProxy.Close()
	at := netip.MustParseAddrPort(kubeProxy.Listener.Addr().String())
	name := types.NamespacedName{Namespace: "ns", Name: "web"}
	svc := &corev1.Service{}
	svc.Namespace, svc.Name = name.Namespace, name.Name

	opened := make(chan struct{}, 1)
	g := newDeliveryGate(at.Addr().String(), func() { opened <- struct{}{} })
	if !g.open(svc, 0) {
		t.Fatal("nothing is to be waited for")
	}
	g.close(name)
	if g.open(svc, time.Millisecond) {
		t.Fatal("announced without a pause")
	}
	<-opened
	if !g.open(svc, time.Hour) {
		t.Fatal("a gate that has opened closed by itself")
	}
	g.close(name)

	svc.Spec.HealthCheckNodePort = int32(at.Port())
	if g.open(svc, time.Millisecond) {
		t.Fatal("announced before kube-proxy delivers")
	}
	ready <- true
	<-opened
	if !g.open(svc, 0) {
		t.Fatal("kube-proxy delivers, and the gate is closed")
	}
}

// TestHandoverDelay: only who takes an address from a speaker that lives waits.
func TestHandoverDelay(t *testing.T) {
	t.Parallel()
	l := &layer2{node: "a", cluster: &Cluster{Members: map[string]liveness.Member{"a": {}, "b": {}}}}
	for owner, want := range map[string]time.Duration{"": 0, "a": 0, "b": handoverPause, "dead": 0} {
		if got := l.handoverDelay(&layer2Verdict{Verdict: election.Verdict{Owner: owner}}); got != want {
			t.Errorf("taken from %q: %v, want %v", owner, got, want)
		}
	}
}
