package cluster_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

const demoManifest = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: demo}
spec:
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec:
      containers:
      - name: demo
        image: fairlead.dev/demo:dev
        imagePullPolicy: IfNotPresent
        readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: demo}
spec:
  type: NodePort
  selector: {app: demo}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
`

// TestAPIServerSurvivesKill is the API-only server: apply, kill, start, and the object is still there.
func TestAPIServerSurvivesKill(t *testing.T) {
	t.Parallel()
	requireTools(t, "etcd", "kube-apiserver", "kubectl")
	ctx := t.Context()
	server, err := cluster.StartAPIServer(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := server.Kubectl(ctx, "create", "configmap", "kept"); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Kubectl(ctx, "get", "configmap", "kept", "--request-timeout=1s"); err == nil {
		t.Fatal("the API server still answers after Kill")
	}
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Kubectl(ctx, "get", "configmap", "kept"); err != nil {
		t.Fatal(err)
	}
}

// TestClusterLife starts two nodes, reaches pods on both, kills and stops things, and checks that nothing is left.
func TestClusterLife(t *testing.T) {
	t.Parallel()
	if testing.Short() || os.Geteuid() != 0 {
		t.Skip("needs root and is not short")
	}
	requireTools(t, "etcd", "kube-apiserver", "kubelet", "kube-proxy", "kube-scheduler", "kube-controller-manager", "kubectl")
	demo, err := toolset.Image("demo")
	if err != nil {
		t.Skip(err)
	}
	ctx := t.Context()
	c, err := cluster.Up(ctx, cluster.Options{Name: "lifetest", Images: []string{demo}, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.Background()); err != nil {
			t.Error(err)
		}
		checkNothingLeft(t)
	})
	manifest := filepath.Join(t.TempDir(), "demo.yaml")
	if err := os.WriteFile(manifest, []byte(demoManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(ctx, manifest); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(ctx, "rollout", "status", "daemonset/demo", "--timeout=60s"); err != nil {
		t.Fatal(err)
	}
	waitPods(t, c, 2)

	out, err := c.Kubectl(ctx, "get", "pod", "-l", "app=demo", "-o", "jsonpath={.items[0].metadata.name}")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.KillContainer(ctx, "default", out, "demo", ""); err != nil {
		t.Fatal(err)
	}
	waitPods(t, c, 2)
	if err := c.StopNode(ctx, "n2"); err != nil {
		t.Fatal(err)
	}
	waitPods(t, c, 1)
	if err := c.StartNode(ctx, "n2"); err != nil {
		t.Fatal(err)
	}
	waitPods(t, c, 2)
}

func requireTools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := toolset.Path(name); err != nil {
			t.Skip(err)
		}
	}
}

// waitPods waits until 20 requests from the client to a node port are answered, all of them, by exactly want pods.
func waitPods(t *testing.T, c *cluster.Cluster, want int) {
	t.Helper()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DialContext: c.Dial("client"), DisableKeepAlives: true}}
	wait.Poll{Limit: time.Minute}.For(t, fmt.Sprintf("%d pods answer", want), func() error {
		pods := map[string]bool{}
		for range 20 {
			answer, err := client.Get("http://" + c.Address("n1") + ":30080/text")
			if err != nil {
				return err
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil {
				return err
			}
			pods[string(text)] = true
		}
		if len(pods) != want {
			return fmt.Errorf("%d pods answered: %v", len(pods), slices.Sorted(maps.Keys(pods)))
		}
		return nil
	})
}

func checkNothingLeft(t *testing.T) {
	t.Helper()
	namespaces, err := exec.Command("ip", "netns").Output()
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := filepath.Glob("/sys/fs/cgroup/*/lifetest*")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(namespaces), "lifetest") || strings.Contains(string(mounts), "lifetest") || len(groups) > 0 {
		t.Errorf("left behind: namespaces %s, mounts or control groups %v", namespaces, groups)
	}
}
