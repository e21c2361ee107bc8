package health

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/test/wait"
)

// serve runs a server until the test ends, and returns its port.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	return serveWith(t, s.Run)
}

func serveWith(t *testing.T, run func(context.Context, int) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, port) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	wait.Poll{}.For(t, "the port is open", func() error {
		c, err := net.Dial("tcp", "127.0.0.1:"+text)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	return text
}

// TestAccess: who may read what, over HTTP and HTTPS on one port.
func TestAccess(t *testing.T) {
	t.Parallel()
	auth := t.TempDir()
	for name, text := range map[string]string{"statsUsername": "operator", "statsPassword": "secret"} {
		if err := os.WriteFile(filepath.Join(auth, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := certfile.SelfSigned("apps.example.com")
	if err != nil {
		t.Fatal(err)
	}
	port := serve(t, &Server{
		Ready: func() bool { return true }, Metrics: prometheus.NewRegistry(), AuthDir: auth, StatsSocket: "/nowhere",
		Certificate: certfile.TLS("", cert),
		Observed:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "requests") }),
		Access: func(_ context.Context, token, verb, subresource string) (bool, bool, error) {
			switch token {
			case "broken":
				return false, false, errors.New("the API server does not answer")
			case "prometheus":
				return true, verb == "get" && subresource == "metrics", nil
			case "reader":
				return true, verb == "get" && subresource == "log", nil
			}
			return false, false, nil
		},
	})
	// A client that says nothing keeps nobody else waiting.
	silent, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, test := range []struct {
		path, auth string
		want       int
		says       string
	}{
		{"/healthz", "", 200, "ok"},
		{"/healthz/ready", "", 200, "ok"},
		{"/healthz/controller", "", 200, "ok"},
		{"/healthz/ready/has-synced", "", 200, "ok"},
		{"/healthz/unknown", "", 404, ""},
		{"/metrics", "", 401, "routers/metrics"},
		{"/metrics", "Basic operator:secret", 200, ""},
		{"/metrics", "Basic operator:wrong", 401, "router-stats-"},
		{"/metrics", "Basic :", 401, ""},
		{"/metrics", "Bearer prometheus", 200, ""},
		{"/metrics", "bearer prometheus", 200, ""},
		{"/metrics", "Bearer stranger", 401, "does not know this token"},
		{"/metrics", "Bearer ", 401, "does not know this token"},
		{"/metrics", "Bearer broken", 500, "does not answer"},
		{"/metrics/haproxy", "", 401, ""},
		{"/metrics/haproxy", "Bearer prometheus", 502, "HAProxy does not answer"},
		{"/debug/pprof/", "Bearer prometheus", 403, "may not get routers/debug"},
		{"/debug/pprof/", "Basic operator:secret", 200, ""},
		{"/inspect/v1/log", "", 401, "routers/log"},
		{"/inspect/v1/log", "Basic operator:secret", 401, "routers/log"},
		{"/inspect/v1/log", "Bearer prometheus", 403, "fairlead-router-log"},
		{"/inspect/v1/log", "Bearer reader", 200, "requests"},
		{"/inspect/v1/trace/a%2Fb", "Basic operator:secret", 401, "routers/log"},
		{"/inspect/v1/trace/a%2Fb", "Bearer prometheus", 403, "fairlead-router-log"},
		{"/inspect/v1/trace/a%2Fb", "Bearer reader", 200, "requests"},
		{"/metrics", "Bearer reader", 403, "router-monitoring"},
		{"/", "", 401, ""},
		{"/", "Basic operator:secret", 502, ""},
	} {
		for _, scheme := range []string{"http", "https"} {
			t.Run(scheme+test.path+" "+test.auth, func(t *testing.T) {
				t.Parallel()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://127.0.0.1:"+port+test.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				kind, value, _ := strings.Cut(test.auth, " ")
				switch user, password, _ := strings.Cut(value, ":"); {
				case kind == "Basic":
					r.SetBasicAuth(user, password)
				case test.auth != "":
					r.Header.Set("Authorization", test.auth)
				}
				answer, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				want, says := test.want, test.says
				if scheme == "http" && !strings.HasPrefix(test.path, "/healthz") {
					want, says = 403, "needs HTTPS"
				}
				body, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				if answer.StatusCode != want || !strings.Contains(string(body), says) {
					t.Errorf("got %d %q, want %d with %q", answer.StatusCode, body, want, says)
				}
			})
		}
	}
}

// TestProbes: which check fails when, and that its probe does, too.
func TestProbes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ready, stopping bool
		want            map[string]int
	}{
		"serving":  {true, false, map[string]int{"": 200, "/controller": 200, "/ready": 200, "/ready/process-running": 200, "/ready/has-synced": 200, "/ready/backend-http": 200}},
		"starting": {false, false, map[string]int{"": 200, "/controller": 200, "/ready": 503, "/ready/process-running": 200, "/ready/has-synced": 503, "/ready/backend-http": 503}},
		"stopping": {true, true, map[string]int{"": 200, "/controller": 200, "/ready": 503, "/ready/process-running": 503, "/ready/has-synced": 200, "/ready/backend-http": 200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Server{Ready: func() bool { return test.ready }, Metrics: prometheus.NewRegistry()}
			if test.stopping {
				s.Stop()
			}
			h := s.handler()
			for path, want := range test.want {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz"+path, nil))
				if w.Code != want {
					t.Errorf("/healthz%s: %d %q, want %d", path, w.Code, w.Body, want)
				}
			}
		})
	}
}
