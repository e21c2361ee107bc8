package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/observe/tail"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// logReaderYAML lets a user do what docs/tail.md asks for, and nothing else.
const logReaderYAML = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fairlead-log-reader-tail, namespace: openshift-ingress}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fairlead-log-reader}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: tail}]
`

// mayReadLogs gives the user tail that right while a test runs.
func mayReadLogs(t *testing.T, p *install.Product) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "reader.yaml")
	if err := os.WriteFile(file, []byte(logReaderYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Cluster.Kubectl(t.Context(), "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Cluster.Kubectl(context.Background(), "delete", "-f", file) })
}

// TestTail: a user with the ClusterRole fairlead-log-reader sees requests of a Route from the
// routers, with the pod; one without it is told what to ask for.
func TestTail(t *testing.T) {
	p := installed(t)
	program := plugin(t)
	mayReadLogs(t, p)
	run := func(user string) (string, error) {
		cmd, err := p.Cluster.Command(t.Context(), "client", program, "tail", "demo/plain", "--kubeconfig", asUser(t, p.Cluster.Kubeconfig(), user), "--max", "2", "--for", "20s", "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, errs.String())
		}
		return string(out), nil
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			cmd, err := p.Cluster.Command(ctx, "client", "curl", "-s", "-o", "/dev/null", "-H", "Host: plain.apps.example.com", "http://"+p.Address+"/tail?query")
			if err != nil || cmd.Run() != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	wait.Poll{Limit: 2 * time.Minute, Every: time.Second}.For(t, "the requests are seen", func() error {
		out, err := run("tail")
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			var s tail.Shown
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				return err
			}
			if s.Path == "/tail" && s.Status == 200 && s.Pod != "" && s.Route == "plain" && strings.HasPrefix(s.Router, "router-default-") && !strings.Contains(line, "query") {
				return nil
			}
		}
		return fmt.Errorf("%q", out)
	})
	_, err := run("stranger")
	if err == nil || !strings.Contains(err.Error(), "kubectl create rolebinding fairlead-log-reader-USER --clusterrole fairlead-log-reader") {
		t.Errorf("a stranger: %v", err)
	}
}

// TestKeptRequest: the ID that a client got with an error leads the same user to what became of the request, whichever
// router had it, and status says what the routers serve.
func TestKeptRequest(t *testing.T) {
	p := installed(t)
	program := plugin(t)
	mayReadLogs(t, p)
	keep := func(ctx context.Context, value string) error {
		_, err := p.Cluster.Kubectl(ctx, "-n", "openshift-ingress-operator", "annotate", "ingresscontroller", "default", "--overwrite", "fairlead.dev/keep-requests"+value)
		return err
	}
	if err := keep(t.Context(), "=failed"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keep(context.Background(), "-") })
	client := func(name string, args ...string) (string, error) {
		cmd, err := p.Cluster.Command(t.Context(), "client", append([]string{name}, args...)...)
		if err != nil {
			return "", err
		}
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, errs.String())
		}
		return string(out), err
	}
	config := asUser(t, p.Cluster.Kubeconfig(), "tail")
	wait.Poll{Limit: 2 * time.Minute, Every: time.Second}.For(t, "a request that failed is found", func() error {
		head, err := client("curl", "-s", "-D", "-", "-o", "/dev/null", "-H", "Host: nothing.apps.example.com", "http://"+p.Address+"/gone?query")
		if err != nil {
			return err
		}
		id := ""
		for line := range strings.Lines(head) {
			if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "x-request-id") {
				id = strings.TrimSpace(value)
			}
		}
		if id == "" {
			return fmt.Errorf("no ID in %q", head)
		}
		out, err := client(program, "explain", "--id", id, "--kubeconfig", config)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		for _, want := range []string{"at router router-default-", "GET http://nothing.apps.example.com/gone\n", "404"} {
			if !strings.Contains(out, want) {
				return fmt.Errorf("no %q in\n%s", want, out)
			}
		}
		return wait.True(!strings.Contains(out, "query"))
	})
	out, err := client(program, "status", "--kubeconfig", p.Cluster.Kubeconfig())
	if !strings.Contains(out, "traffic") || !strings.Contains(out, "requests/s") {
		t.Errorf("%v\n%s", err, out)
	}
}
