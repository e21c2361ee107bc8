package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/install"
)

// harm is done again and again, at a bounded pace.
type harm struct {
	name string
	// every is the pause between two tries.
	every time.Duration
	// try does harm once; n counts the tries. An error is a refusal, errReached the
	// end of what was promised.
	try func(ctx context.Context, n int) error

	done, refused atomic.Int64
	mu            sync.Mutex
	err, reached  error
}

// errReached is what no attack may do: see what a client is kept from.
var errReached = errors.New("the attack reached what is closed")

func (a *harm) run(ctx context.Context) {
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
			if a.err = err; errors.Is(err, errReached) {
				a.reached = err
			}
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

// result says what became of one kind of harm.
type result struct {
	Name          string
	Done, Refused int64
	Last          string
	// Reached says how the attack reached what is closed, if it did.
	Reached string
}

func (a *harm) result() result {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := result{Name: a.name, Done: a.done.Load(), Refused: a.refused.Load(), Last: "no refusal"}
	if a.reached != nil {
		r.Reached = a.reached.Error()
	}
	if a.err != nil {
		r.Last = a.err.Error()
		r.Last = r.Last[:min(len(r.Last), 160)]
	}
	return r
}

// attacker is what the tenant has: a namespace, Services that lead to pods, an
// authority for certificates, and a host on the network.
type attacker struct {
	p    *install.Product
	ca   *rig.Authority
	pods []string
	slow tlsPair
	big  string
	// sessions has a line for each session with the hostile router.
	sessions chan string
}

type tlsPair struct{ cert, key string }

// attackOn names the variable that makes this program the attackers'. They are
// a process of their own, on other processors: what they compute is not to be
// what the victim waits for.
const attackOn = "FAIRLEAD_ATTACK"

// attack starts the attackers. end ends them, and says what they did.
func attack(t *testing.T, p *install.Product) (end func() []result) {
	t.Helper()
	argv := append(theirs.with(), os.Args[0])
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the kernel may group processes by session
	cmd.Env = append(os.Environ(), attackOn+"="+p.Cluster.Name()+" "+p.Address)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	out := json.NewDecoder(pipe)
	var begun []result
	if err := out.Decode(&begun); err != nil {
		t.Fatalf("the attackers did not begin: %v", err)
	}
	return func() (results []result) {
		_ = in.Close()
		if err := errors.Join(out.Decode(&results), cmd.Wait()); err != nil {
			t.Error("the attackers:", err)
		}
		return results
	}
}

// attackers is the attackers' program: it begins, says so, and says what it did
// when its input ends.
func attackers(where string) int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	name, address, _ := strings.Cut(where, " ")
	c, err := cluster.Open(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		return 1
	}
	installed = &install.Product{Cluster: c, Root: "../..", Kubectl: c.Kubectl, Address: address}
	harms, err := newHarms(ctx, installed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile: prepare attackers:", err)
		return 1
	}
	results := make([]result, len(harms))
	var running sync.WaitGroup
	for _, h := range harms {
		running.Go(func() { h.run(ctx) })
	}
	out := json.NewEncoder(os.Stdout)
	err = out.Encode(results)
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	running.Wait()
	for i, h := range harms {
		results[i] = h.result()
	}
	if err := errors.Join(err, out.Encode(results)); err != nil {
		return 1
	}
	return 0
}

func newHarms(ctx context.Context, p *install.Product) ([]*harm, error) {
	a := &attacker{p: p}
	var err error
	if a.ca, err = rig.NewAuthority(); err != nil {
		return nil, err
	}
	out, err := p.Cluster.Kubectl(ctx, "-n", "demo", "get", "pods", "-l", "version=v1", "-o", "jsonpath={.items[*].status.podIP}")
	if err != nil || out == "" {
		return nil, fmt.Errorf("no pods: %w", err)
	}
	a.pods = strings.Fields(out)
	if a.slow, err = slowKey(a.ca, "slow.tenant.example.com"); err != nil {
		return nil, err
	}
	if a.big, err = bundle(a.ca, 510<<10); err != nil {
		return nil, err
	}
	const namespace = `apiVersion: v1
kind: Namespace
metadata: {name: tenant}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: secrets, namespace: tenant}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: secrets, namespace: tenant}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: secrets}
subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]
`
	if err := apply(ctx, administrator, namespace+fmt.Sprintf(tenancy, "tenant", attackingUser)+a.service("pods", a.pods)); err != nil {
		return nil, err
	}
	if err := a.startRouter(ctx); err != nil {
		return nil, err
	}
	return append(a.objectHarms(), a.networkHarms()...), nil
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
