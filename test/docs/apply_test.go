package docs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// TestExamplesApply gives every example to a real API server with all of
// Fairlead's CRDs and policies, and those of the Gateway API. Routes and IngressControllers are not stored,
// so that examples do not meet; what they need, such as Roles, is.
func TestExamplesApply(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	server := startServer(t)
	applied := 0
	for _, p := range pages(t) {
		if p.path == "docs/explain.md" {
			continue // wrong on purpose; the test of kubectl fairlead holds them
		}
		if p.path == "docs/operator/configuration.md" {
			continue // a file of the operator and no object; the test of cmd/operator reads it
		}
		for _, e := range p.examples(t) {
			if strings.HasPrefix(e.text, "apiVersion: config.fairlead.dev/") {
				continue // a file of a program, which its own test reads
			}
			apply(t, server, e)
			applied++
		}
	}
	if applied < 30 {
		t.Errorf("only %d examples; have they moved?", applied)
	}
}

// startServer starts an API server with Fairlead's manifests, or skips.
func startServer(t *testing.T) *cluster.APIServer {
	t.Helper()
	server, err := cluster.StartAPIServer(t.Context(), t.TempDir())
	if err != nil {
		t.Skipf("no API server (run \"make tools\"): %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Log("stop API server:", err)
		}
	})
	kubectl := func(args ...string) {
		t.Helper()
		if _, err := server.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	kubectl("apply", "--server-side", "-k", filepath.Join(root, "config", "default"))
	kubectl("apply", "--server-side", "-k", filepath.Join(root, "config", "gateway"))
	kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	for _, namespace := range []string{"demo", "help", "infra", "shop"} {
		kubectl("create", "namespace", namespace)
	}
	probe := example{page: "probe", denied: "does not have permission to get this secret", text: `apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: probe, namespace: demo}
spec:
  host: probe.example.com
  to: {kind: Service, name: probe}
  tls: {termination: edge, externalCertificate: {name: nobody}}
`}
	apply(t, server, probe) // from now on the policies are in force
	return server
}

// patience is how long the API server may take to learn of policies and roles.
const patience = 30 * time.Second

// apply asks the API server about one example until it answers as expected.
func apply(t *testing.T, server *cluster.APIServer, e example) {
	t.Helper()
	stored, asked := split(e.text)
	dir := t.TempDir()
	err := wait.Poll{Limit: patience, Every: 100 * time.Millisecond}.Until(t.Context(), "the expected answer", func() error {
		return check(t.Context(), server, dir, e, stored, asked)
	})
	if err != nil {
		t.Errorf("%s:%d: %v\n%s", e.page, e.line, err, e.text)
	}
}

func check(ctx context.Context, server *cluster.APIServer, dir string, e example, stored, asked string) error {
	file := filepath.Join(dir, "example.yaml")
	run := func(text string, args ...string) error {
		if text == "" {
			return nil
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		_, err := server.Kubectl(ctx, append(args, "-f", file)...)
		return err
	}
	if err := run(stored, "apply"); err != nil {
		return err
	}
	err := run(asked, "create", "--dry-run=server")
	if e.denied == "" {
		return err
	}
	switch {
	case err == nil:
		return fmt.Errorf("was accepted, want a refusal with %q", e.denied)
	case !strings.Contains(err.Error(), e.denied):
		return fmt.Errorf("want a refusal with %q: %w", e.denied, err)
	}
	return nil
}

// split parts an example into what is stored and what is only asked.
func split(text string) (stored, asked string) {
	var keep, ask []string
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if strings.Contains(doc, "\nkind: Route\n") || strings.Contains(doc, "\nkind: IngressController\n") {
			ask = append(ask, doc)
			continue
		}
		keep = append(keep, doc)
	}
	return strings.Join(keep, "\n---\n"), strings.Join(ask, "\n---\n")
}
