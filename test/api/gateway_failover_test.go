package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/test/wait"
)

const (
	// leaseBar is how long after its end another replica leads at the latest.
	leaseBar = 10 * time.Second
	// endpointBar is how long a router pod that fails stays in the EndpointSlices of Gateways
	// while an operator leads.
	endpointBar = time.Second
)

// operatorProcess is a replica of the operator, as the Deployment runs it.
type operatorProcess struct {
	cmd *exec.Cmd
	log *logged
}

// operatorProgram builds the operator, and writes how it gets to the API server: with the
// rights of its ServiceAccount.
func operatorProgram(t *testing.T) (program, kubeconfig string) {
	t.Helper()
	dir := t.TempDir()
	program, kubeconfig = filepath.Join(dir, "operator"), filepath.Join(dir, "kubeconfig")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "../../cmd/operator").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config, err := clientcmd.LoadFromFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + names.OperatorNamespace + ":ingress-operator"
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + names.OperatorNamespace, "system:authenticated"}
	}
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return program, kubeconfig
}

// operators starts replicas. All of them end when the test does, after the cleanups that it
// registers from here on.
type operators struct {
	program, kubeconfig string
	all                 []*operatorProcess
}

func newOperators(t *testing.T) *operators {
	t.Helper()
	o := &operators{}
	o.program, o.kubeconfig = operatorProgram(t)
	t.Cleanup(func() {
		for _, p := range o.all {
			p.end(syscall.SIGTERM)
			if t.Failed() {
				t.Logf("process %d:\n%s", p.cmd.Process.Pid, p.log.all())
			}
		}
	})
	return o
}

func (o *operators) start(t *testing.T) *operatorProcess {
	t.Helper()
	p := &operatorProcess{cmd: exec.CommandContext(context.Background(), o.program, "--kubeconfig="+o.kubeconfig, "--router-image=fairlead.dev/router:dev", "--domain=apps.example.com", // it ends after what the test has made
		"--health-address=127.0.0.1:0", "--metrics-address=0"), log: &logged{}}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o.all = append(o.all, p)
	return p
}

// end ends the process, if it has not ended.
func (p *operatorProcess) end(s syscall.Signal) {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(s)
		_ = p.cmd.Wait()
	}
}

// awaitTurn waits until the process would lead if no other did.
func (p *operatorProcess) awaitTurn(t *testing.T) {
	t.Helper()
	wait.Poll{Limit: time.Minute, Every: 50 * time.Millisecond}.For(t, "another operator", func() error {
		if n := strings.Count(strings.ToLower(p.log.all()), "attempting to acquire leader lease"); n == 0 {
			return errors.New("it does not ask for the Lease")
		}
		return nil
	})
}

// memory returns what the process has in memory.
func (p *operatorProcess) memory(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if size, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			return strings.TrimSpace(string(size))
		}
	}
	return "unknown"
}

// TestGatewayFailover: a router pod that fails leaves the EndpointSlices of Gateways within a
// second while an operator leads. Where the leading one is killed, the other leads within ten
// seconds, and the pod leaves within a second from then; where it is ended, at once.
func TestGatewayFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the operator and waits for Leases")
	}
	c := newClient(t)
	removeGatewayKinds(t)
	replicas := newOperators(t)
	if err := createDefault(t.Context(), c, "true"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cleanUp(t, c) })
	g := gatewayTest{Client: c}
	g.install(t)
	t.Cleanup(func() { g.cleanUp(t) })

	first := replicas.start(t)
	leader := g.leader(t, "")
	second := replicas.start(t)
	g.addRouter(t, "default", "router-a", "10.1.2.3")
	g.addRouter(t, "default", "router-b", "10.1.2.4")
	g.speakAsRouters(t)
	g.apply(t, "web", webAndTLS)
	g.awaitReady(t, true)
	second.awaitTurn(t)
	t.Logf("memory: the leading one %s, the other %s", first.memory(t), second.memory(t))

	for _, ready := range []bool{false, true, false, true} {
		if took := g.turn(t, ready); took > endpointBar {
			t.Errorf("ready=%t is in the EndpointSlice after %v, want %v while an operator leads", ready, took, endpointBar)
		}
	}

	killed := time.Now()
	first.end(syscall.SIGKILL)
	turned := g.setReady(t, false)
	leads := make(chan time.Time, 1)
	go func() {
		g.leader(t, leader)
		leads <- time.Now()
	}()
	g.awaitReady(t, false)
	gone := time.Now()
	led := <-leads
	t.Logf("killed: the other leads after %v, the endpoint is gone %v after that, %v after the pod failed", led.Sub(killed), gone.Sub(led), gone.Sub(turned))
	if led.Sub(killed) > leaseBar {
		t.Errorf("the other leads after %v, want %v", led.Sub(killed), leaseBar)
	}
	if gone.Sub(led) > endpointBar {
		t.Errorf("the endpoint is gone %v after the other leads, want %v", gone.Sub(led), endpointBar)
	}

	third := replicas.start(t)
	third.awaitTurn(t)
	ended := time.Now()
	second.end(syscall.SIGTERM)
	t.Logf("ended: the endpoint is back %v after that, %v after the process was told to end", g.turn(t, true), time.Since(ended))
	if took := time.Since(ended); took > 3*time.Second {
		t.Errorf("after an orderly end it took %v", took)
	}
}

// leader returns who holds the operator's Lease, once it is another one than before.
func (g gatewayTest) leader(t *testing.T, before string) (holder string) {
	t.Helper()
	wait.Poll{Limit: time.Minute, Every: 10 * time.Millisecond}.For(t, "a leading operator", func() error {
		l := &coordinationv1.Lease{}
		if err := g.Get(t.Context(), client.ObjectKey{Namespace: names.OperatorNamespace, Name: "fairlead-operator"}, l); err != nil {
			return err
		}
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" || *l.Spec.HolderIdentity == before {
			return errors.New("no other operator leads")
		}
		holder = *l.Spec.HolderIdentity
		return nil
	})
	return holder
}

// turn has a router pod become ready, or unready, and returns when the EndpointSlice says so.
func (g gatewayTest) turn(t *testing.T, ready bool) time.Duration {
	t.Helper()
	since := g.setReady(t, ready)
	g.awaitReady(t, ready)
	return time.Since(since)
}

// setReady says of a router pod what its kubelet would.
func (g gatewayTest) setReady(t *testing.T, ready bool) time.Time {
	t.Helper()
	pod := &corev1.Pod{}
	if err := g.Get(t.Context(), operandKey("router-b"), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	if ready {
		pod.Status.Conditions[0].Status = corev1.ConditionTrue
	}
	if err := g.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// awaitReady waits until the EndpointSlice of the Gateway says this of the router pod.
func (g gatewayTest) awaitReady(t *testing.T, ready bool) {
	t.Helper()
	wait.Poll{Limit: time.Minute, Every: 5 * time.Millisecond}.For(t, "the EndpointSlice", func() error {
		s := &discoveryv1.EndpointSlice{}
		if err := g.Get(t.Context(), client.ObjectKey{Namespace: gatewayNamespace, Name: gateway.ServiceName("web") + "-ipv4"}, s); err != nil {
			return err
		}
		for _, e := range s.Endpoints {
			if e.Addresses[0] == "10.1.2.4" && *e.Conditions.Ready == ready {
				return nil
			}
		}
		return fmt.Errorf("endpoints: %+v", s.Endpoints)
	})
}
