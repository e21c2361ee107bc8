// Package health is the router's HTTP side: probes, metrics and the way to
// HAProxy's statistics page.
package health

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server answers:
//
//	/healthz          200 while the process works
//	/healthz/ready    200 while every known route is served and no stop is under way
//	/metrics          the router's metrics
//	/metrics/haproxy  HAProxy's metrics, by its own exporter, with namespace and route
//	/debug/pprof/     profiles of the router process, with user and password
//	/                 HAProxy's statistics page, with user and password
type Server struct {
	// Ready reports whether HAProxy serves all known routes.
	Ready func() bool
	// Metrics are the router's own.
	Metrics prometheus.Gatherer
	// StatsSocket is HAProxy's UNIX socket for statistics.
	StatsSocket string
	// AuthDir holds files statsUsername and statsPassword; empty leaves the
	// statistics page open, for a router on a developer's machine.
	AuthDir string

	stopping atomic.Bool
}

// Stop makes the router not ready, so that load balancers look elsewhere.
func (s *Server) Stop() { s.stopping.Store(true) }

// Run serves on a TCP port until the context ends.
func (s *Server) Run(ctx context.Context, port int) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("/healthz/ready", s.ready)
	mux.Handle("/metrics", promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{}))
	mux.Handle("/metrics/haproxy", s.authorized(s.haproxy("/metrics")))
	mux.Handle("/debug/pprof/", s.authorized(http.HandlerFunc(pprof.Index)))
	mux.Handle("/debug/pprof/profile", s.authorized(http.HandlerFunc(pprof.Profile)))
	mux.Handle("/debug/pprof/trace", s.authorized(http.HandlerFunc(pprof.Trace)))
	mux.Handle("/", s.authorized(s.haproxy("")))
	server := &http.Server{Addr: fmt.Sprintf(":%d", port), Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health and statistics: %w; choose another port with --stats-port", err)
	}
	return nil
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	switch {
	case s.stopping.Load():
		http.Error(w, "process is terminating", http.StatusServiceUnavailable)
	case !s.Ready():
		http.Error(w, "not every route is served yet", http.StatusServiceUnavailable)
	default:
		_, _ = w.Write([]byte("ok\n"))
	}
}

// haproxy hands requests on to HAProxy's statistics socket; path replaces the
// request's unless it is empty.
func (s *Server) haproxy(path string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "haproxy"
			if path != "" {
				r.Out.URL.Path = path
			}
			if path == "/metrics" && r.Out.URL.RawQuery == "" {
				r.Out.URL.RawQuery = defaultQuery()
			}
			r.Out.Header.Del("Authorization")
			r.Out.Header.Del("Accept-Encoding")
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.StatsSocket)
		}},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "HAProxy does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
	if path == "/metrics" {
		proxy.ModifyResponse = func(r *http.Response) error {
			r.Body = addLabels(r.Body)
			r.ContentLength = -1
			r.Header.Del("Content-Length")
			return nil
		}
	}
	return proxy
}

// authorized asks for the user and password in AuthDir. The files are read at
// each request, so a changed Secret counts at once. Files that cannot be read
// refuse everybody.
func (s *Server) authorized(next http.Handler) http.Handler {
	if s.AuthDir == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		wantUser, err1 := os.ReadFile(filepath.Join(s.AuthDir, "statsUsername"))
		wantPass, err2 := os.ReadFile(filepath.Join(s.AuthDir, "statsPassword"))
		if err1 != nil || err2 != nil || !equal(user, wantUser) || !equal(pass, wantPass) {
			w.Header().Set("WWW-Authenticate", `Basic realm="router statistics"`)
			http.Error(w, "user and password are in the Secret router-stats-<name>", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func equal(got string, want []byte) bool {
	w := strings.TrimSpace(string(want))
	return w != "" && subtle.ConstantTimeCompare([]byte(got), []byte(w)) == 1
}
