package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/nameserver"
	"github.com/fairlead/fairlead/test/wait"
)

// TestDNSPage does what docs/cloud/dns.md says, word by word, with real DNS
// servers: their configuration, the Secret, the kustomization, a DNSRecord. Only
// paths, the address and the port of the server are the test's own.
func TestDNSPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	all := pages(t)
	page := all[slices.IndexFunc(all, func(p page) bool { return p.path == "docs/cloud/dns.md" })]
	servers := map[string]nameserver.Server{
		"BIND": nameserver.StartWith(t, func(dir string) string {
			return strings.ReplaceAll(page.indented(t, "BIND:"), "/var/lib/bind/", dir+"/")
		}),
		"Knot": nameserver.StartKnotWith(t, page.indented(t, "Knot:")),
	}
	api := startServer(t)
	operator := filepath.Join(t.TempDir(), "operator")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", operator, "../../cmd/operator").CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v: %s", err, out)
	}
	secret, record := page.example(t, "kind: Secret"), page.example(t, "kind: DNSRecord")
	args := install(t, api, secret, page.indented(t, "and a kustomization that gives both to the operator:"))
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			started := append(slices.Clone(args), "--rfc2136-server="+server.Address, // the last one counts
				"--dns-drain=0",
				"--kubeconfig="+api.Kubeconfig(), "--leader-elect=false", "--health-address=0", "--metrics-address=0")
			stop := run(t, operator, started)
			mustKubectl(t, api, record, "apply", "-f")
			answers(t, server, "mail.example.com.", "198.18.0.25")
			mustKubectl(t, api, record, "delete", "--timeout=30s", "-f")
			answers(t, server, "mail.example.com.")
			stop()
		})
	}
}

// install gives the Secret and the kustomization to an API server and returns
// the operator's arguments, with a folder of the Secret's files in the place of
// what is mounted.
func install(t *testing.T, api *cluster.APIServer, secret, kustomization string) []string {
	t.Helper()
	dir := t.TempDir()
	base, err := filepath.Abs(filepath.Join(root, "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.Rel(dir, base); err != nil {
		t.Fatal(err)
	}
	const remote = "https://github.com/fairlead/fairlead//config/default"
	if !strings.Contains(kustomization, remote) {
		t.Fatalf("the kustomization does not name %s", remote)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.Replace(kustomization, remote, base, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, api, secret, "apply", "-f")
	if out, err := api.Kubectl(t.Context(), "apply", "--server-side", "-k", dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var d appsv1.Deployment
	read(t, api, &d, "deployment/ingress-operator")
	c := d.Spec.Template.Spec.Containers[0]
	env := []string{}
	for _, e := range c.Env {
		env = append(env, "$("+e.Name+")", e.Value)
	}
	mounts := []string{}
	for _, m := range c.VolumeMounts {
		i := slices.IndexFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name && v.Secret != nil })
		if i < 0 {
			continue
		}
		var s corev1.Secret
		read(t, api, &s, "secret/"+d.Spec.Template.Spec.Volumes[i].Secret.SecretName)
		files := t.TempDir()
		for name, data := range s.Data {
			if err := os.WriteFile(filepath.Join(files, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		mounts = append(mounts, "="+m.MountPath, "="+files)
	}
	if len(mounts) == 0 {
		t.Fatal("the Secret is mounted nowhere")
	}
	replace := strings.NewReplacer(append(env, mounts...)...)
	args := make([]string, 0, len(c.Args))
	for _, a := range c.Args {
		args = append(args, replace.Replace(a))
	}
	return args
}

// run starts a program until the function that it returns is called.
func run(t *testing.T, program string, args []string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // It was ended, or was ended before.
	}
	t.Cleanup(func() {
		stop()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s %q\n%s", program, args, text)
		}
	})
	return stop
}

// answers waits until a server answers so.
func answers(t *testing.T, s nameserver.Server, name string, want ...string) {
	t.Helper()
	wait.Poll{Limit: time.Minute, Every: 50 * time.Millisecond}.For(t, "the addresses of "+name, func() error {
		got, err := s.Ask(name, mdns.TypeA)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("they are %v, want %v", got, want)
		}
		return err
	})
}

func mustKubectl(t *testing.T, api *cluster.APIServer, text string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := api.Kubectl(t.Context(), append(args, file)...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func read(t *testing.T, api *cluster.APIServer, into any, name string) {
	t.Helper()
	out, err := api.Kubectl(t.Context(), "get", "-n", "openshift-ingress-operator", "-o", "json", name)
	if err == nil {
		err = json.Unmarshal([]byte(out), into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// indented returns the block of indented lines behind a line.
func (p page) indented(t *testing.T, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(p.text, after+"\n\n")
	var lines []string
	for line := range strings.Lines(rest) {
		text, ok := strings.CutPrefix(line, "    ")
		if !ok {
			break
		}
		lines = append(lines, text)
	}
	if !found || len(lines) == 0 {
		t.Fatalf("%s has no block behind %q", p.path, after)
	}
	return strings.Join(lines, "")
}

// example returns the yaml block with a line.
func (p page) example(t *testing.T, line string) string {
	t.Helper()
	for _, e := range p.examples(t) {
		if strings.Contains(e.text, "\n"+line+"\n") {
			return e.text
		}
	}
	t.Fatalf("%s has no example with %q", p.path, line)
	return ""
}
