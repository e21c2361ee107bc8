package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/check"
)

// pluginOn runs the program for users on the host client, and returns its output, what it
// says on standard error, and its exit code.
func pluginOn(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	p := installed(t)
	cmd, err := p.Cluster.Command(t.Context(), "client", append([]string{plugin(t)}, append(args, "--kubeconfig", p.Cluster.Kubeconfig())...)...)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), said.String(), cmd.ProcessState.ExitCode()
}

// TestCollect: of a whole product everything can be read: objects, logs of all containers,
// metrics of the routers and what the speakers say. No file has a private key.
func TestCollect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	out, errs, code := pluginOn(t, "collect", "--out", path)
	if code != 0 || strings.TrimSpace(out) != path {
		t.Errorf("exit code %d, %q: %s", code, out, errs)
	}
	t.Log(errs)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var listing []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if privateKey.Match(text) {
			t.Errorf("%s has a private key", h.Name)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		listing = append(listing, name)
	}
	t.Log(strings.Join(listing, "\n"))
	for _, want := range []string{
		`^logs/openshift-ingress/router-default-[^/]+/haproxy\.log$`, `^logs/openshift-ingress/router-default-[^/]+/router\.log$`, `^logs/openshift-ingress-operator/ingress-operator-[^/]+/operator\.log$`,
		`^logs/metallb-system/speaker-[^/]+/speaker\.log$`, `^routers/router-default-[^/]+/metrics\.txt$`, `^speakers/n1\.json$`, `^objects/demo/routes\.route\.openshift\.io\.yaml$`, `^status\.txt$`, `^collect\.json$`,
	} {
		if !slices.ContainsFunc(listing, regexp.MustCompile(want).MatchString) {
			t.Errorf("no file %s", want)
		}
	}
}

var privateKey = regexp.MustCompile(`PRIVATE KEY-----\s*[A-Za-z0-9+/]{16}`)

// TestPreflight: a product that is installed can be upgraded.
func TestPreflight(t *testing.T) {
	out, errs, code := pluginOn(t, "preflight")
	t.Log(out)
	if code != 0 || !strings.HasPrefix(out, "READY") || strings.Contains(out, string(check.Unknown)) || !strings.Contains(out, "an upgrade: the operator runs ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
