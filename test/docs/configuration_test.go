package docs

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

var update = flag.Bool("update", false, "write the rendered configurations into docs/configuration")

// TestConfiguration: the configurations in docs/configuration are what the router
// renders from the example there, and HAProxy of that version takes them.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	for version, program := range map[string]string{"3.0": "haproxy-3.0", "3.2": "haproxy-3.2", "3.4": "haproxy"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			rendered := renderExample(t, version)
			shown := *rendered
			shown.Files = maps.Clone(rendered.Files)
			maps.DeleteFunc(shown.Files, func(name, _ string) bool {
				return name != "haproxy.cfg" && name != "crt.list" && !strings.HasPrefix(name, "maps/")
			})
			var text bytes.Buffer
			if err := shown.Text(&text); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(root, "docs", "configuration", "haproxy-"+version+".txt")
			if *update {
				if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), text.String()); d != "" {
				t.Errorf("docs/configuration is not what is rendered; go test ./test/docs -run TestConfiguration -update (-want +got):\n%s", d)
			}
			path, err := toolset.Path(program)
			if err != nil {
				t.Skip(err)
			}
			checkFiles(t, path, rendered)
		})
	}
}

func renderExample(t *testing.T, version string) *explain.Rendered {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "configuration", "example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r := manifest.NewReader("shop")
	r.Read("example.yaml", text)
	w, err := explain.NewSnapshot(r.Objects(), explain.Options{Domain: "apps.example.com", Now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := w.Render(version)
	if err != nil {
		t.Fatal(err)
	}
	return rendered
}

// checkFiles lets HAProxy read the files, with certificates in place of those that are
// left out.
func checkFiles(t *testing.T, haproxy string, r *explain.Rendered) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range r.Files {
		if strings.HasPrefix(name, "certs/") && !strings.Contains(text, "PRIVATE KEY-----") {
			text = selfSigned(t)
		}
		text = strings.NewReplacer("/var/lib/haproxy", dir, "/var/run/haproxy", dir).Replace(text)
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, haproxy, "-c", "-f", filepath.Join(dir, "haproxy.cfg")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func selfSigned(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
