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

	"github.com/fairlead/fairlead/router/traffic/top"
	"github.com/fairlead/fairlead/test/wait"
)

// viewerYAML lets a user do what docs/top.md asks for, and nothing else.
const viewerYAML = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fairlead-viewer-top, namespace: openshift-ingress}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: fairlead-viewer}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: top}]
`

// TestTop: a user with the Role fairlead-viewer sees what a Route gets, by a token that is
// not the user's own; one without it is told what to ask for.
func TestTop(t *testing.T) {
	p := installed(t)
	program := plugin(t)
	file := filepath.Join(t.TempDir(), "viewer.yaml")
	if err := os.WriteFile(file, []byte(viewerYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Cluster.Kubectl(t.Context(), "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Cluster.Kubectl(context.Background(), "delete", "-f", file) })
	run := func(user string) (string, error) {
		cmd, err := p.Cluster.Command(t.Context(), "client", program, "top", "--kubeconfig", asUser(t, p.Cluster.Kubeconfig(), user), "--once", "--interval", "3s", "-o", "json")
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
			cmd, err := p.Cluster.Command(ctx, "client", "curl", "-s", "-o", "/dev/null", "-H", "Host: plain.apps.example.com", "http://"+p.Address+"/")
			if err != nil || cmd.Run() != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	wait.Poll{Limit: time.Minute, Every: time.Second}.For(t, "the requests are seen", func() error {
		out, err := run("top")
		if err != nil {
			return err
		}
		v := &top.View{}
		if err := json.Unmarshal([]byte(out), v); err != nil {
			return err
		}
		for _, l := range v.Routes {
			if l.Namespace == "demo" && l.Route == "plain" && l.OK > 0 && l.Endpoints > 0 {
				return nil
			}
		}
		return fmt.Errorf("%s", out)
	})
	if _, err := run("stranger"); err == nil || !strings.Contains(err.Error(), "list the pods of router default") {
		t.Errorf("a stranger: %v", err)
	}
}

// asUser returns a kubeconfig with which the administrator acts as another user.
func asUser(t *testing.T, kubeconfig, user string) string {
	t.Helper()
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), user)
	const own = "user: {client-certificate"
	if !strings.Contains(string(text), own) {
		t.Fatalf("no user in %s", kubeconfig)
	}
	acting := strings.Replace(string(text), own, "user: {as: "+user+", client-certificate", 1)
	if err := os.WriteFile(path, []byte(acting), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
