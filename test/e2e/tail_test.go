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
	"github.com/fairlead/fairlead/test/wait"
)

// logReaderYAML lets a user do what docs/tail.md asks for, and nothing else.
const logReaderYAML = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fairlead-log-reader-tail, namespace: openshift-ingress}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fairlead-log-reader}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: tail}]
`

// TestTail: a user with the ClusterRole fairlead-log-reader sees requests of a Route from the
// routers, with the pod; one without it is told what to ask for.
func TestTail(t *testing.T) {
	p := installed(t)
	program := plugin(t)
	file := filepath.Join(t.TempDir(), "reader.yaml")
	if err := os.WriteFile(file, []byte(logReaderYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Cluster.Kubectl(t.Context(), "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Cluster.Kubectl(context.Background(), "delete", "-f", file) })
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
