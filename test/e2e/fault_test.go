package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

const (
	plainHost  = "plain.apps.example.com"
	routerPods = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default"
)

// TestKillHAProxy kills HAProxy in every router pod in turn. The container's
// own supervisor starts it again from the files in the pod.
func TestKillHAProxy(t *testing.T) {
	p := installed(t)
	for _, pod := range pods(t, p, "openshift-ingress", routerPods) {
		b := startProbe(t, p, plainHost)
		observe(t, time.Second)
		if err := p.Cluster.KillContainer(t.Context(), "openshift-ingress", pod, "haproxy", "haproxy"); err != nil {
			t.Fatal(err)
		}
		observe(t, 4*time.Second)
		b.report(t, 2*time.Second)
	}
	newRoute(t, p, "after-haproxy")
}

// TestKillRouter kills the router's container in one pod after the other.
// HAProxy goes on serving, but until the container runs again Kubernetes calls
// the pod not ready, so its node drops new connections and the address moves. A
// client repeats what is dropped after a second, to the new node: it waits, but
// nothing fails.
func TestKillRouter(t *testing.T) {
	p := installed(t)
	for _, pod := range pods(t, p, "openshift-ingress", routerPods) {
		b := startProbe(t, p, plainHost)
		observe(t, time.Second)
		if err := p.Cluster.KillContainer(t.Context(), "openshift-ingress", pod, "router", ""); err != nil {
			t.Fatal(err)
		}
		observe(t, 4*time.Second)
		available(t, p)
		b.report(t, 500*time.Millisecond)
	}
	newRoute(t, p, "after-router")
}

// TestCrashRouter kills the process that does the router's work in every pod
// at once. The first process of the container starts it again, and no request
// fails.
func TestCrashRouter(t *testing.T) {
	p := installed(t)
	b := startProbe(t, p, plainHost)
	observe(t, time.Second)
	for _, container := range []string{"router", "haproxy"} {
		for _, pod := range pods(t, p, "openshift-ingress", routerPods) {
			pid, _, err := p.Cluster.PodPID(t.Context(), "openshift-ingress", pod, container)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(childOf(t, pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		observe(t, 3*time.Second)
	}
	available(t, p)
	b.report(t, 0)
	newRoute(t, p, "after-crash")
}

// childOf returns the one child of a process; the kernel lists children by the
// thread that started them.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil || len(strings.Fields(string(children))) == 0 {
			continue
		}
		child, err := strconv.Atoi(strings.Fields(string(children))[0])
		if err != nil {
			t.Fatal(err)
		}
		return child
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}

// TestKillOperator kills the operator: no request and no route needs it.
func TestKillOperator(t *testing.T) {
	p := installed(t)
	b := startProbe(t, p, plainHost)
	observe(t, time.Second)
	for _, pod := range pods(t, p, "openshift-ingress-operator", "") {
		if err := p.Cluster.KillContainer(t.Context(), "openshift-ingress-operator", pod, "operator", ""); err != nil {
			t.Fatal(err)
		}
	}
	newRoute(t, p, "without-operator")
	if _, err := p.Kubectl(t.Context(), "-n", "openshift-ingress-operator", "rollout", "status", "deployment/ingress-operator", "--timeout=120s"); err != nil {
		t.Error(err)
	}
	b.report(t, 0)
}

// TestKillSpeaker kills the speaker that announces the address. Another node
// takes over, or the same one comes back; then one node announces.
func TestKillSpeaker(t *testing.T) {
	p := installed(t)
	owner, err := p.Owner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Kubectl(t.Context(), "-n", "metallb-system", "get", "pods", "--field-selector", "spec.nodeName="+owner, "-o", "jsonpath={.items[0].metadata.name}")
	if err != nil {
		t.Fatal(err)
	}
	b := startProbe(t, p, plainHost)
	observe(t, time.Second)
	if err := p.Cluster.KillContainer(t.Context(), "metallb-system", out, "speaker", ""); err != nil {
		t.Fatal(err)
	}
	// A client that has forgotten the address asks who has it.
	if _, err := p.Cluster.Exec(t.Context(), "client", "ip", "neigh", "flush", "to", p.Address); err != nil {
		t.Fatal(err)
	}
	observe(t, 8*time.Second)
	b.report(t, 4*time.Second)
	if out, err := p.Kubectl(t.Context(), "-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=60s"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	answers, err := p.Cluster.Exec(t.Context(), "client", "arping", "-c", "3", "-w", "4", "-I", "eth0", p.Address)
	if err != nil {
		t.Fatal(err)
	}
	cards := map[string]bool{}
	for l := range strings.Lines(answers) {
		for word := range strings.FieldsSeq(l) {
			if strings.Count(word, ":") == 5 {
				cards[strings.ToLower(strings.Trim(word, "[]()"))] = true
			}
		}
	}
	if len(cards) != 1 {
		t.Errorf("%d nodes answer for %s:\n%s", len(cards), p.Address, answers)
	}
}

// TestKillAPIServer kills the API server: the data plane keeps its last state,
// and what changes afterwards goes live again.
func TestKillAPIServer(t *testing.T) {
	p := installed(t)
	b := startProbe(t, p, plainHost)
	observe(t, time.Second)
	if err := p.Cluster.KillAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	observe(t, 15*time.Second)
	if err := p.Cluster.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	newRoute(t, p, "after-apiserver")
	b.report(t, 0)
}

// TestBadRoute applies a Route with a broken certificate: its status says so, and
// other Routes are served as before.
func TestBadRoute(t *testing.T) {
	p := installed(t)
	b := startProbe(t, p, plainHost)
	observe(t, time.Second)
	apply(t, p, routeYAML("broken", `  tls: {termination: edge, certificate: "nonsense", key: "nonsense"}`))
	err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "the broken Route is refused", func() error {
		out, err := p.Kubectl(t.Context(), "-n", "demo", "get", "route", "broken", "-o",
			`jsonpath={.status.ingress[0].conditions[0].status} {.status.ingress[0].conditions[0].reason}`)
		if err == nil && out != "False ExtendedValidationFailed" {
			err = fmt.Errorf("status is %q", out)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	b.report(t, 0)
}

func pods(t *testing.T, p *install.Product, namespace, selector string) []string {
	t.Helper()
	out, err := p.Kubectl(t.Context(), "-n", namespace, "get", "pods", "-l", selector, "--field-selector", "status.phase=Running", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(out)
	if len(names) == 0 {
		t.Fatalf("no pods in %s with %q", namespace, selector)
	}
	return names
}

// available waits until the router Deployment is complete again.
func available(t *testing.T, p *install.Product) {
	t.Helper()
	if out, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "rollout", "status", "deployment/router-default", "--timeout=60s"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// newRoute makes a Route and waits until it serves.
func newRoute(t *testing.T, p *install.Product, name string) {
	t.Helper()
	apply(t, p, routeYAML(name, ""))
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	err := wait.Poll{Limit: 30 * time.Second, Every: wait.Slowly}.Until(t.Context(), "the new Route serves", func() error {
		return request(t.Context(), client, "http://"+p.Address+"/text", name+".apps.example.com")
	})
	if err != nil {
		t.Errorf("the new route %s does not serve: %v", name, err)
	}
}

func routeYAML(name, extra string) string {
	return fmt.Sprintf(`apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: %[1]s, namespace: demo}
spec:
  host: %[1]s.apps.example.com
  port: {targetPort: http}
  to: {kind: Service, name: demo-v1}
%[2]s
`, name, extra)
}

func apply(t *testing.T, p *install.Product, yaml string) {
	t.Helper()
	kubectl := func(ctx context.Context, verb string) ([]byte, error) {
		cmd := p.Cluster.KubectlCommand(ctx, verb, "-f", "-")
		cmd.Stdin = strings.NewReader(yaml)
		return cmd.CombinedOutput()
	}
	err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "the objects are accepted", func() error {
		out, err := kubectl(t.Context(), "apply")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := kubectl(context.WithoutCancel(t.Context()), "delete"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// observe lets the probe see some time pass.
func observe(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}
