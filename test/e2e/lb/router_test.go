package lb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/netmonitor"
)

const (
	routerNamespace = "openshift-ingress"
	routerPods      = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default"
	routerHost      = "lb.apps.example.com"
)

// route makes the router serve the echo pods, and returns the router's address.
func route(t *testing.T, p *install.Product) string {
	t.Helper()
	apply(t, p, echoYAML("echo", "Cluster"))
	kubectl(t, p, "-n", "default", "rollout", "status", "daemonset/echo", "--timeout=180s")
	apply(t, p, fmt.Sprintf(`apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: lb, namespace: default}
spec:
  host: %s
  port: {targetPort: http}
  to: {kind: Service, name: echo}
`, routerHost))
	eventually(t, func() error {
		out, err := p.Cluster.Exec(t.Context(), "client", "curl", "-sS", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}",
			"-H", "Host: "+routerHost, "http://"+p.Address+"/text")
		if err == nil && out != "200" {
			err = fmt.Errorf("the router answers %s", out)
		}
		return err
	})
	return p.Address
}

func watchRouter(t *testing.T, p *install.Product) *netmonitor.Monitor {
	t.Helper()
	w, err := netmonitor.Start(t.Context(), p.Cluster, netmonitor.Options{
		Addresses: []string{p.Address}, Target: p.Address + ":80", Path: "/text", Host: routerHost, Hosts: p.Cluster.Hosts(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = w.Stop() })
	observe(t, time.Second)
	return w
}

// routersReady waits until the Deployment of the routers is complete.
func routersReady(t *testing.T, p *install.Product) {
	t.Helper()
	kubectl(t, p, "-n", routerNamespace, "rollout", "status", "deployment/router-default", "--timeout=180s")
}

// routers returns the pods that are routers and stay so, by their nodes, once
// the one of them announces the address that comes first.
func routers(t *testing.T, p *install.Product, address string) (pods map[string]string, owner string) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name              string
				DeletionTimestamp string
			}
			Spec struct{ NodeName string }
		}
	}
	out := kubectl(t, p, "-n", routerNamespace, "get", "pods", "-l", routerPods, "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	pods = map[string]string{}
	for _, pod := range list.Items {
		if pod.Metadata.DeletionTimestamp == "" {
			pods[pod.Spec.NodeName] = pod.Metadata.Name
		}
	}
	return pods, awaitOwner(t, p, address, firstFor(t, address, slices.Sorted(maps.Keys(pods))))
}

// TestDrainNode drains the node that announces the router's address, as one
// does for maintenance.
func TestDrainNode(t *testing.T) {
	p := installed(t)
	routersReady(t, p)
	address := route(t, p)
	_, owner := routers(t, p, address)
	w := watchRouter(t, p)
	t.Cleanup(func() { _, _ = p.Cluster.Kubectl(context.WithoutCancel(t.Context()), "uncordon", owner) })
	// The pods end after an hour or when no connection is left; it suffices that they are asked to.
	kubectl(t, p, "drain", owner, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=180s")
	next := awaitOwner(t, p, address, "!"+owner)
	observe(t, 3*time.Second)
	kubectl(t, p, "uncordon", owner)
	routersReady(t, p)
	observe(t, 3*time.Second)
	check(t, p, w, limits{silence: plannedSilence, moves: 2, double: handoverTime})
	t.Logf("%s drained, %s took over", owner, next)
}

// TestRouterRollout replaces all routers.
func TestRouterRollout(t *testing.T) {
	p := installed(t)
	routersReady(t, p)
	routers(t, p, route(t, p))
	w := watchRouter(t, p)
	kubectl(t, p, "-n", routerNamespace, "rollout", "restart", "deployment/router-default")
	routersReady(t, p)
	observe(t, 8*time.Second)
	check(t, p, w, limits{silence: plannedSilence, moves: 4, double: handoverTime})
}

// TestSilentRouter stops the process that answers a router's probe, without
// which HAProxy goes on. The address moves to a node whose router answers, and
// the event says why.
func TestSilentRouter(t *testing.T) {
	p := installed(t)
	routersReady(t, p)
	address := route(t, p)
	pods, owner := routers(t, p, address)
	pid, _, err := p.Cluster.PodPID(t.Context(), routerNamespace, pods[owner], "router")
	if err != nil {
		t.Fatal(err)
	}
	w := watchRouter(t, p)
	all := append(childrenOf(t, pid), pid)
	signal := func(s syscall.Signal) {
		for _, pid := range all {
			_ = syscall.Kill(pid, s)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	awaitOwner(t, p, address, "!"+owner)
	eventually(t, func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "-n", routerNamespace, "get", "events", "--field-selector", "involvedObject.name=router-default,reason=nodeAssigned",
			"-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(out, fmt.Sprintf("taken over from node %q: the Service's pod there does not answer its probe", owner)) {
			err = fmt.Errorf("no event says why the address moved: %s", out)
		}
		return err
	})
	signal(syscall.SIGCONT)
	awaitOwner(t, p, address, owner)
	routersReady(t, p)
	check(t, p, w, limits{silence: plannedSilence, moves: 2, double: handoverTime})
}
