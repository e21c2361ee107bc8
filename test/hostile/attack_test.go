package hostile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/product"
)

// attack repeats one kind of harm at a bounded pace.
type attack struct {
	name string
	// every is the pause between two tries.
	every time.Duration
	// try does harm once; n counts the tries. An error is a refusal.
	try func(ctx context.Context, n int) error

	done, refused atomic.Int64
	mu            sync.Mutex
	err           error
}

func (a *attack) run(ctx context.Context) {
	tick := time.NewTicker(a.every)
	defer tick.Stop()
	for n := 0; ; n++ {
		err := a.try(ctx, n)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.refused.Add(1)
			a.mu.Lock()
			a.err = err
			a.mu.Unlock()
		default:
			a.done.Add(1)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// last is the last refusal, shortened.
func (a *attack) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		return "no refusal"
	}
	text := a.err.Error()
	return text[:min(len(text), 160)]
}

// attacker is what the tenant has: a namespace, Services that lead to pods, an
// authority for certificates, and a host on the network.
type attacker struct {
	p    *product.Product
	ca   *rig.Authority
	pods []string
	slow tlsPair
	big  string
}

type tlsPair struct{ cert, key string }

func newAttacks(t *testing.T, p *product.Product) []*attack {
	t.Helper()
	a := &attacker{p: p}
	var err error
	if a.ca, err = rig.NewAuthority(); err != nil {
		t.Fatal(err)
	}
	out, err := p.Cluster.Kubectl(t.Context(), "-n", "demo", "get", "pods", "-l", "version=v1", "-o", "jsonpath={.items[*].status.podIP}")
	if err != nil || out == "" {
		t.Fatalf("no pods: %v", err)
	}
	a.pods = strings.Fields(out)
	if a.slow, err = slowKey(a.ca, "slow.tenant.example.com"); err != nil {
		t.Fatal(err)
	}
	a.big = bundle(t, a.ca, 870<<10)
	const namespace = `apiVersion: v1
kind: Namespace
metadata: {name: tenant}
`
	if err := apply(t.Context(), namespace+a.service("pods", a.pods)); err != nil {
		t.Fatal(err)
	}
	return append(a.objectAttacks(), a.networkAttacks()...)
}

// service is a Service of the tenant with endpoints that it wrote itself.
func (a *attacker) service(name string, addresses []string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: tenant}
spec:
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: tenant, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints:
- addresses: [%[2]s]
  conditions: {ready: true}
`, name, addresses[0])
}

// route is a Route of the tenant; annotations and spec are YAML in flow and
// block style.
func (a *attacker) route(name, host, annotations, spec string) string {
	return fmt.Sprintf(`---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: %s, namespace: tenant, annotations: {%s}}
spec:
  host: %s
  to: {kind: Service, name: pods}
%s
`, name, annotations, host, spec)
}
