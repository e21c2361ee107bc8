package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// takenYAML is a Route for a host and path that a Route of another namespace has.
const takenYAML = `apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: taken, namespace: default}
spec: {host: plain.apps.example.com, to: {kind: Service, name: kubernetes}}
`

// plugin returns the program for users, which the first test that wants it builds.
func plugin(t *testing.T) string {
	t.Helper()
	path := filepath.Join(shared.Scratch, "kubectl-fairlead")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, "../../cmd/kubectl-fairlead")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plug-in: %v\n%s", err, out)
	}
	return path
}

// judge runs `kubectl fairlead status` on the host client, for which the name of the
// routers' domain leads to their address. It returns the report and the screen.
func judge(t *testing.T, p *install.Product, program string) (*check.Report, string) {
	t.Helper()
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte(p.Address+" fairlead-status-check.apps.example.com\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(form string) []byte {
		t.Helper()
		cmd, err := p.Cluster.Command(t.Context(), "client", "unshare", "--mount", "sh", "-c", `mount --bind "$1" /etc/hosts && shift && exec "$@"`, "sh", hosts,
			program, "status", "--kubeconfig", p.Cluster.Kubeconfig(), "-o", form)
		if err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output() // the exit code is 1 where something fails
		if len(out) == 0 {
			t.Fatalf("%v: %s", err, errs.String())
		}
		return out
	}
	r := &check.Report{}
	if err := json.Unmarshal(run("json"), r); err != nil {
		t.Fatal(err)
	}
	return r, string(run("text"))
}

// TestStatus: a healthy product is healthy, without a warning and with nothing unread; and
// what breaks is found, and found to be good again.
func TestStatus(t *testing.T) {
	p := installed(t)
	program := plugin(t)
	becomes := func(what string, good func(*check.Report) bool) {
		t.Helper()
		wait.Poll{Limit: 2 * time.Minute, Every: 2 * time.Second}.For(t, what, func() error {
			r, screen := judge(t, p, program)
			if !good(r) {
				return fmt.Errorf("status says\n%s", screen)
			}
			t.Logf("%s:\n%s", what, screen)
			return nil
		})
	}
	has := func(id string, state check.State) func(*check.Report) bool {
		return func(r *check.Report) bool {
			for i := range r.Checks {
				if r.Checks[i].ID == id {
					return r.Checks[i].State == state && (r.Verdict == check.Unhealthy) == (r.Count(check.Fail) > 0)
				}
			}
			return false
		}
	}
	healthy := func(r *check.Report) bool {
		return r.Good(true) && !r.Partial && r.Count(check.OK) == len(check.Rules())
	}
	kubectl := func(args ...string) {
		t.Helper()
		if _, err := p.Cluster.Kubectl(context.WithoutCancel(t.Context()), args...); err != nil {
			t.Error(err)
		}
	}
	becomes("a healthy product is healthy", healthy)

	taken := filepath.Join(t.TempDir(), "taken.yaml")
	if err := os.WriteFile(taken, []byte(takenYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl("apply", "-f", taken)
	becomes("a refused Route is a warning", has("FL221", check.Warn))
	kubectl("delete", "-f", taken)

	kubectl("-n", "metallb-system", "delete", "l2advertisements", "--all")
	becomes("an address that is not announced is a failure", has("FL302", check.Fail))
	becomes("a pool without advertisement is a warning", has("FL310", check.Warn))
	kubectl("apply", "-f", filepath.Join(p.Scratch, "addresses.yaml"))

	kubectl("-n", "openshift-ingress-operator", "scale", "deployment/ingress-operator", "--replicas=0")
	becomes("no operator is a failure", has("FL003", check.Fail))
	kubectl("-n", "openshift-ingress-operator", "scale", "deployment/ingress-operator", "--replicas=2")
	becomes("the repaired product is healthy", healthy)
}

// TestCerts: the routers show the certificates that the command says they do.
func TestCerts(t *testing.T) {
	p := installed(t)
	program := plugin(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-A"}, "edge.apps.example.com"},
		{[]string{"-A"}, "generated"},
		{[]string{"demo/edge"}, "ok    it is for edge.apps.example.com"},
		{[]string{"-n", "demo", "--sni", "edge.apps.example.com"}, "as planned, from route demo/edge"},
		{[]string{"-n", "demo", "--sni", "nothing.apps.example.com"}, "as planned, from default"},
	} {
		argv := append([]string{program, "certs", "--kubeconfig", p.Cluster.Kubeconfig()}, tt.args...)
		cmd, err := p.Cluster.Command(t.Context(), "client", argv...)
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("certs %q: %v, want %q:\n%s", tt.args, err, tt.want, out)
		}
		t.Logf("certs %q\n%s", tt.args, out)
	}
}
