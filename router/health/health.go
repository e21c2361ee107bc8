// Package health is the router's HTTP side: probes, metrics and the way to
// HAProxy's statistics page.
package health

import (
	"cmp"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/http/pprof"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead/fairlead/router/observe"
)

// Server answers:
//
//	/healthz          200 while the process works
//	/healthz/ready    200 while every known route is served and no stop is under way
//	/healthz…/NAME    one check of these, by the names of OpenShift's router
//	/metrics          the router's metrics
//	/metrics/haproxy  HAProxy's metrics, by its own exporter, with namespace and route
//	/debug/pprof/     profiles of the router process
//	/inspect/v1/log   requests as they end, as lines of JSON, with a token that has the right to "log"
//	/inspect/v1/trace/ID  what is kept of one request, with the same right
//	/                 HAProxy's statistics page
//
// All but those of /healthz ask for user and password, or for a token; see Access.
// The port speaks HTTP and, with a certificate, HTTPS; then it takes neither
// passwords nor tokens over HTTP.
//
// RunProbes answers those of /healthz alone on a port of its own.
type Server struct {
	// Ready reports whether HAProxy serves all known routes.
	Ready func() bool
	// Address is the only one to listen on; empty for all.
	Address string
	// Metrics are the router's own.
	Metrics prometheus.Gatherer
	// Routes, if set, writes the series of Routes, in the text format, after those of Metrics.
	Routes func(io.Writer) error
	// StatsSocket is HAProxy's UNIX socket for statistics.
	StatsSocket string
	// AuthDir holds files statsUsername and statsPassword; empty leaves
	// everything open, for a router on a developer's machine.
	AuthDir string
	// Observed, if set, streams requests, and answers what is kept of one.
	Observed http.Handler
	// Access says whether a bearer token is known, and whether its user may do
	// verb with the router's subresource "metrics", for profiles "debug", or for
	// requests "log"; nil refuses every token.
	Access func(ctx context.Context, token, verb, subresource string) (known, allowed bool, err error)
	// Certificate is for HTTPS; nil leaves HTTP only.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	stopping atomic.Bool
}

// Stop makes the router not ready, so that load balancers look elsewhere.
func (s *Server) Stop() { s.stopping.Store(true) }

// Limits of a request. A profile may take a minute, all of HAProxy's metrics too.
const (
	headerTime = 5 * time.Second
	readTime   = 10 * time.Second
	writeTime  = 2 * time.Minute
	idleTime   = time.Minute
	// probeTime bounds all of a probe's connection, which serves one request.
	probeTime   = 2 * time.Second
	headerBytes = 16 << 10
)

// Run serves on a TCP port until the context ends.
func (s *Server) Run(ctx context.Context, port int) error {
	var config *tls.Config
	if s.Certificate != nil {
		config = &tls.Config{GetCertificate: s.Certificate, MinVersion: tls.VersionTLS12}
	}
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
	}
	l, err := listen(ctx, s.Address, port, "--stats-port")
	if err != nil {
		return err
	}
	return run(ctx, server, newEither(l, config))
}

// RunProbes serves /healthz on a TCP port until the context ends.
func (s *Server) RunProbes(ctx context.Context, port int) error {
	mux := http.NewServeMux()
	s.handleProbes(mux)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: probeTime, ReadTimeout: probeTime, WriteTimeout: probeTime, MaxHeaderBytes: headerBytes,
	}
	server.SetKeepAlivesEnabled(false)
	l, err := listen(ctx, s.Address, port, "--health-port")
	if err != nil {
		return err
	}
	return run(ctx, server, l)
}

func listen(ctx context.Context, address string, port int, flag string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("serve health and statistics: %w; choose another port with %s", err, flag)
	}
	return newLimited(l), nil
}

func run(ctx context.Context, server *http.Server, l net.Listener) error {
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return fmt.Errorf("serve health and statistics: %w", err)
	}
	return nil
}

func (s *Server) handler() http.Handler {
	const metrics, debug = "metrics", "debug"
	mux := http.NewServeMux()
	s.handleProbes(mux)
	mux.Handle("/metrics", s.authorized(metrics, s.metrics()))
	mux.Handle("/metrics/haproxy", s.authorized(metrics, s.haproxy("/metrics")))
	mux.Handle("/debug/pprof/", s.authorized(debug, http.HandlerFunc(pprof.Index)))
	mux.Handle("/debug/pprof/profile", s.authorized(debug, http.HandlerFunc(pprof.Profile)))
	mux.Handle("/debug/pprof/trace", s.authorized(debug, http.HandlerFunc(pprof.Trace)))
	if s.Observed != nil {
		mux.Handle(observe.Path, s.authorized(logRight, s.Observed))
		mux.Handle(observe.KeptPath, s.authorized(logRight, s.Observed))
	}
	mux.Handle("/", s.authorized(metrics, s.haproxy("")))
	return mux
}

// metrics answers with the text format, whatever else a client would take, because Routes writes no other. It does not
// compress: that takes longer than the rest.
func (s *Server) metrics() http.Handler {
	own := promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{DisableCompression: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Del("Accept")
		status := &statusWriter{ResponseWriter: w}
		own.ServeHTTP(status, r)
		if s.Routes != nil && status.code < http.StatusBadRequest {
			_ = s.Routes(w) // the client has gone
		}
	})
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

func (s *Server) handleProbes(mux *http.ServeMux) {
	mux.HandleFunc("/healthz", s.healthz(""))
	mux.HandleFunc("/healthz/ready", s.healthz("ready"))
	mux.HandleFunc("/healthz/", http.NotFound) // an unknown check needs no password
	for _, c := range checks {
		mux.HandleFunc("/"+path.Join("healthz", c.of, c.name), s.healthz(c.of, c))
	}
}

// check is one thing that a probe looks at.
type check struct {
	// of is the probe, the path below /healthz/, name that of OpenShift's router.
	of, name string
	// problem says what is wrong, or nothing.
	problem func(s *Server) string
}

// The router's process has no check of HAProxy's socket: HAProxy is kept by a
// process of its own, and to end this one would not mend it.
var checks = []check{
	{"", "controller", func(*Server) string { return "" }},
	{"ready", "process-running", func(s *Server) string {
		if s.stopping.Load() {
			return "process is terminating"
		}
		return ""
	}},
	{"ready", "has-synced", (*Server).notServed},
	{"ready", "backend-http", (*Server).notServed},
}

func (s *Server) notServed() string {
	if s.Ready() {
		return ""
	}
	return "not every route is served yet"
}

// healthz answers a probe: 503 with the first thing that is wrong. Without
// checks to look at it looks at all of the probe.
func (s *Server) healthz(probe string, only ...check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		look := only
		if len(look) == 0 {
			look = checks
		}
		for _, c := range look {
			if c.of != probe {
				continue
			}
			if problem := c.problem(s); problem != "" {
				http.Error(w, problem, http.StatusServiceUnavailable)
				return
			}
		}
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

// authorized asks for a token with the right to a subresource of the router,
// or for the user and password in AuthDir. The files are read at each request,
// so a changed Secret counts at once. Files that cannot be read refuse
// everybody.
func (s *Server) authorized(subresource string, next http.Handler) http.Handler {
	if s.AuthDir == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil && s.Certificate != nil {
			http.Error(w, "this needs HTTPS: passwords and tokens are not taken over HTTP; change those that you have sent", http.StatusForbidden)
			return
		}
		if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") && s.Access != nil {
			s.byToken(w, r, strings.TrimSpace(token), subresource, next)
			return
		}
		if subresource == logRight {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send a token with the right to get routers/"+logRight+" of route.openshift.io", http.StatusUnauthorized)
			return
		}
		user, pass, _ := r.BasicAuth()
		wantUser, err1 := os.ReadFile(filepath.Join(s.AuthDir, "statsUsername"))
		wantPass, err2 := os.ReadFile(filepath.Join(s.AuthDir, "statsPassword"))
		if err1 != nil || err2 != nil || !equal(user, wantUser) || !equal(pass, wantPass) {
			w.Header().Set("WWW-Authenticate", `Basic realm="router statistics"`)
			http.Error(w, "send a token with the right to get routers/"+subresource+
				" of route.openshift.io, or user and password of the Secret router-stats-<name>", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// logRight is a right of its own, which no password has: addresses of clients and paths are
// personal data, and those who may read metrics need not see them.
const logRight = "log"

// grants are the ClusterRoles with a right.
var grants = map[string]string{logRight: "fairlead-router-log"}

// verbs are Kubernetes' words for methods; the other methods change something.
var verbs = map[string]string{http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create"}

func (s *Server) byToken(w http.ResponseWriter, r *http.Request, token, subresource string, next http.Handler) {
	verb := verbs[r.Method]
	if verb == "" {
		http.Error(w, "only GET, HEAD and POST are served", http.StatusMethodNotAllowed)
		return
	}
	known, allowed, err := s.Access(r.Context(), token, verb, subresource)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !known:
		http.Error(w, "the cluster does not know this token", http.StatusUnauthorized)
	case !allowed:
		http.Error(w, "the token's user may not "+verb+" routers/"+subresource+" of route.openshift.io; bind it to the ClusterRole "+cmp.Or(grants[subresource], "router-monitoring"), http.StatusForbidden)
	default:
		next.ServeHTTP(w, r)
	}
}

func equal(got string, want []byte) bool {
	w := strings.TrimSpace(string(want))
	return w != "" && subtle.ConstantTimeCompare([]byte(got), []byte(w)) == 1
}
