package main

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// TestHandshake: what a server shows is compared with what the router should show.
func TestHandshake(t *testing.T) {
	a, err := txtar.ParseFile("testdata/certificate.txtar")
	if err != nil {
		t.Fatal(err)
	}
	manifests := filepath.Join(t.TempDir(), "all.yaml")
	writeFile(t, manifests, a.Files[0].Data)
	// The first Route of the file brings it, between these words.
	text := strings.ReplaceAll(string(a.Files[0].Data), "\n      ", "\n")
	_, rest, _ := strings.Cut(text, "certificate: |\n")
	chain, rest, _ := strings.Cut(rest, "    key: |\n")
	key, _, _ := strings.Cut(rest, "\n---\n")
	own, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	planned := httptest.NewUnstartedServer(http.NotFoundHandler())
	planned.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	planned.StartTLS()
	t.Cleanup(planned.Close)
	other, plain := httptest.NewTLSServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	t.Cleanup(plain.Close)
	for name, tt := range map[string]struct {
		at   *httptest.Server
		want string
		code int
	}{
		"as planned": {planned, "  as planned, from route web/own\n", exitGood},
		"another":    {other, "  NOT as planned: the router should show the certificate from route web/own, sha256 d879617c", exitBad},
		"no TLS":     {plain, "for the certificate of own.example.com", exitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := &command{in: strings.NewReader(""), out: &out, err: &out, now: testNow}
			code := c.run(t.Context(), []string{"certs", "web/own", "-f", manifests, "--sni", "own.example.com", "--connect", tt.at.Listener.Addr().String()})
			if code != tt.code || !strings.Contains(out.String(), tt.want) {
				t.Errorf("exit code %d:\n%s", code, out.String())
			}
		})
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "12h": 12 * time.Hour, "0d": -1, "-1d": -1, "-5m": -1, "0s": -1, "99999d": -1, "soon": -1, "d": -1} {
		got, err := days(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
