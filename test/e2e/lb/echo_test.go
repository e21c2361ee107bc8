package lb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// echoYAML is a Service with an address of its own and a pod on every node.
func echoYAML(name, policy string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %[1]s, namespace: default}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists}]
      containers:
      - {name: echo, image: "fairlead.dev/demo:dev", imagePullPolicy: IfNotPresent}
---
%[2]s`, name, serviceYAML(name, name, policy))
}

// serviceYAML is another Service for the pods of an echo.
func serviceYAML(name, app, policy string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %s, namespace: default}
spec:
  type: LoadBalancer
  externalTrafficPolicy: %s
  selector: {app: %s}
  ports: [{name: http, port: 80, targetPort: 8080}]
`, name, policy, app)
}

// apply applies the manifests until the test ends.
func apply(t *testing.T, p *install.Product, yaml string) {
	t.Helper()
	leave(t, p, yaml)
	t.Cleanup(func() {
		if out, err := kubectlWith(context.WithoutCancel(t.Context()), p, yaml, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// leave applies manifests that stay for the tests that follow: pods take seconds to come and to go.
func leave(t *testing.T, p *install.Product, yaml string) {
	t.Helper()
	eventually(t, func() error {
		out, err := kubectlWith(t.Context(), p, yaml, "apply", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// kubectlWith runs a command that reads yaml.
func kubectlWith(ctx context.Context, p *install.Product, yaml string, args ...string) ([]byte, error) {
	cmd := p.Cluster.KubectlCommand(ctx, args...)
	cmd.Stdin = strings.NewReader(yaml)
	return cmd.CombinedOutput()
}

// patience is how long to wait for what happens within seconds on a machine with
// nothing else to do. How fast it has to be is the monitor's to say. An owner
// that the others had lost stands back for up to some minutes before it takes
// its addresses back (package liveness).
const patience = 3 * time.Minute

// eventually polls until try succeeds, and ends the test when patience is over.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	wait.Poll{Limit: patience, Every: wait.Slowly}.For(t, "the cluster", try)
}

// kubectl runs a command that must succeed.
func kubectl(t *testing.T, p *install.Product, args ...string) string {
	t.Helper()
	out, err := p.Cluster.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// addressOf waits until the Service has an address.
func addressOf(t *testing.T, p *install.Product, service string) string {
	t.Helper()
	address := ""
	eventually(t, func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "-n", "default", "get", "service", service, "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err == nil && out == "" {
			err = fmt.Errorf("service %s has no address", service)
		}
		address = out
		return err
	})
	return address
}

// ownerOf waits until a node answers for the address and returns its name.
func ownerOf(t *testing.T, p *install.Product, address string) string {
	t.Helper()
	at, owner := *p, ""
	at.Address = address
	eventually(t, func() error {
		var err error
		owner, err = at.Owner(t.Context())
		return err
	})
	return owner
}

// observe lets some time pass.
func observe(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// childrenOf returns the children of a process; the kernel lists them by the
// thread that started them.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
	}
	return children
}

// delivered waits until kube-proxy delivers the Service to its pods of now, on
// every node. After a time without the API server it may take half a minute to
// ask it again, longer than anything of ours.
func delivered(t *testing.T, p *install.Product, name, address string) {
	t.Helper()
	rule := regexp.MustCompile(`chain service-\w+-default/` + name + `/tcp/http \{[^{]*\{([^}]*)\}`)
	pod := regexp.MustCompile(`([0-9.]+) \. 8080`)
	eventually(t, func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "-n", "default", "get", "pods", "-l", "app="+name, "-o", "jsonpath={.items[*].status.podIP}")
		if err != nil {
			return err
		}
		pods := strings.Fields(out)
		slices.Sort(pods)
		for _, node := range p.Cluster.Nodes() {
			out, err := p.Cluster.Exec(t.Context(), node, "nft", "list", "table", "ip", "kube-proxy")
			if err != nil {
				return fmt.Errorf("list the rules of %s: %w: %s", node, err, out)
			}
			var known []string
			if chain := rule.FindString(out); chain != "" {
				for _, found := range pod.FindAllStringSubmatch(chain, -1) {
					known = append(known, found[1])
				}
			}
			slices.Sort(known)
			if !slices.Equal(known, pods) || !strings.Contains(out, address+" . tcp . 80 ") {
				return fmt.Errorf("kube-proxy of %s delivers %s to %v, want %s to %v", node, name, known, address, pods)
			}
		}
		return nil
	})
}
