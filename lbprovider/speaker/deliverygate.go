package speaker

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// gateLimit is how long an address waits for kube-proxy. The node that
	// gives it up answers for a little longer (package l2).
	gateLimit = 1500 * time.Millisecond
	gatePause = 50 * time.Millisecond
	gateAsk   = 500 * time.Millisecond
	// handoverPause is how long a node waits before it announces an address that
	// another one that lives gives up. All speakers learn at about the same time
	// what makes an address move; the other is to know that it gives the address
	// up before it sees the new owner, or it would defend the address.
	handoverPause = 100 * time.Millisecond
)

// deliveryGate keeps a node from announcing an address too soon: one that another node is
// about to give up, and one whose packets it would still drop. With
// externalTrafficPolicy Local, a node delivers to its own pods only,
// and kube-proxy learns of a new pod at the same time as the speaker, but needs
// up to a second. It reports when it is done at the Service's health check port.
type deliveryGate struct {
	address string // where kube-proxy listens: the node's address
	opened  func() // called when a gate has opened
	client  *http.Client

	mu    sync.Mutex
	gates map[types.NamespacedName]*gateState
}

// gateState is that of one gate from open to close.
type gateState struct{ open bool }

func newDeliveryGate(address string, opened func()) *deliveryGate {
	return &deliveryGate{
		address: address, opened: opened, gates: map[types.NamespacedName]*gateState{},
		client: &http.Client{Timeout: gateAsk, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// open says whether the node can deliver what comes for svc, and pause is over. If
// that is not known yet, it finds out and calls opened.
func (g *deliveryGate) open(svc *corev1.Service, pause time.Duration) bool {
	name := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	url := ""
	if port := svc.Spec.HealthCheckNodePort; port != 0 && g.address != "" {
		url = "http://" + net.JoinHostPort(g.address, strconv.Itoa(int(port))) + "/healthz"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	its := g.gates[name]
	if its == nil {
		if url == "" && pause == 0 {
			return true // of thousands, nothing is to be remembered
		}
		its = &gateState{}
		g.gates[name] = its
		switch {
		case url != "":
			go g.wait(name, its, url, pause)
		case pause > 0:
			time.AfterFunc(pause, func() { g.admit(name, its) })
		}
	}
	return its.open
}

// close makes the next open ask again.
func (g *deliveryGate) close(name types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.gates, name)
}

// wait opens the gate after the pause, when the node delivers, kube-proxy does not
// answer, or it has taken too long.
func (g *deliveryGate) wait(name types.NamespacedName, its *gateState, url string, pause time.Duration) {
	paused := time.After(pause)
	ctx, cancel := context.WithTimeout(context.Background(), gateLimit)
	defer cancel()
	for !g.delivers(ctx, url) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(gatePause):
		}
	}
	<-paused
	g.admit(name, its)
}

// admit opens the gate.
func (g *deliveryGate) admit(name types.NamespacedName, its *gateState) {
	g.mu.Lock()
	wanted := g.gates[name] == its
	its.open = true
	g.mu.Unlock()
	if wanted {
		g.opened()
	}
}

// delivers is false only if kube-proxy answers that it does not deliver.
func (g *deliveryGate) delivers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return true
	}
	answer, err := g.client.Do(req)
	if err != nil {
		return true
	}
	_ = answer.Body.Close()
	return answer.StatusCode != http.StatusServiceUnavailable
}
