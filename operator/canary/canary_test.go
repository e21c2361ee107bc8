package canary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestServer: the canary's server answers on both ports, and its answer counts
// only for the port that the Route leads to.
func TestServer(t *testing.T) {
	t.Parallel()
	listeners := make([]net.Listener, 2)
	ports := make([]int32, 2)
	for i := range listeners {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the server
		if err != nil {
			t.Fatal(err)
		}
		tcp, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			t.Fatal(l.Addr())
		}
		listeners[i], ports[i] = l, int32(tcp.Port)
	}
	certificate, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, listeners, certificate) }()
	dial := (&net.Dialer{}).DialContext
	for i := range ports {
		target := Target{Host: "canary.example.com", Port: ports[i], Backend: ports[i]}
		if err := probe(t.Context(), dial, target, "127.0.0.1"); err != nil {
			t.Errorf("port %d: %v", i, err)
		}
		target.Backend = ports[1-i]
		if err := probe(t.Context(), dial, target, "127.0.0.1"); !errors.Is(err, errWrongPort) {
			t.Errorf("port %d, but the Route leads to the other one: %v", i, err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// hostile answers are no answers of the canary.
func hostile() map[string]struct {
	answer http.HandlerFunc
	want   string
} {
	type row = struct {
		answer http.HandlerFunc
		want   string
	}
	say := func(status int, header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set(headerPort, header)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	return map[string]row{
		"a page":          {say(200, "8443", "<h1>It works</h1>"), "something else answers"},
		"no port":         {say(200, "", answer), "something else answers"},
		"the other port":  {say(200, "8888", answer), "another port"},
		"a port and more": {say(200, "8443, 8443", answer), "another port"},
		"503":             {say(503, "8443", answer), "status code 503: the router"},
		"404":             {say(404, "8443", answer), "expected 200"},
		"201":             {say(201, "8443", answer), "expected 200"},
		"late in a long body": {
			say(200, "8443", strings.Repeat("x", mostBody)+answer), "something else answers",
		},
		"a redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://198.18.255.255/")
			w.WriteHeader(http.StatusFound)
		}, "status code 302"},
		"long headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 2*mostHeader))
		}, "exceeded"},
		"hung up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed without an answer"},
	}
}

func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(tt.answer)
			defer server.Close()
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
			}
			err := probe(t.Context(), dial, Target{Host: "canary.example.com", Port: 443, Backend: Port1}, "198.18.0.1")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNoTLS: text of a foreign answer does not reach a terminal or a status as it
// is, and a message stays short and the same.
func TestNoTLS(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the test
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "\x1b[2J\n"+strings.Repeat("evil", 10_000))
			_ = c.Close()
		}
	}()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
	}
	target := Target{Host: "canary.example.com", Addresses: []string{"198.18.0.1"}, Port: 443, Backend: Port1}
	got := ask(t.Context(), dial, target, 0)
	if got == nil || len(got.Error()) > 2*mostText || strings.ContainsAny(got.Error(), "\x1b\n") || strings.Contains(got.Error(), "127.0.0.1") {
		t.Errorf("got %v", got)
	}
}

// TestAsk: one address with the right answer is enough, and few are asked.
func TestAsk(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(headerPort, "8443")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	asked := 0
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if asked++; address != "198.18.0.9:443" {
			return nil, &net.OpError{Op: "dial", Err: errors.New("no route to host")}
		}
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	target := Target{Host: "canary.example.com", Addresses: []string{"198.18.0.8", "2001:db8::1", "198.18.0.9"}, Port: 443, Backend: Port1}
	if err := ask(t.Context(), dial, target, 1); err != nil || asked != 2 {
		t.Errorf("asked %d addresses: %v", asked, err)
	}
	asked, target.Addresses = 0, nil
	for i := range 20 {
		target.Addresses = append(target.Addresses, fmt.Sprintf("198.18.1.%d", i))
	}
	err := ask(t.Context(), dial, target, 18)
	if err == nil || asked != mostAddresses || !strings.Contains(err.Error(), "at 198.18.1.19:443: dial: no route to host") || !strings.Contains(err.Error(), "198.18.1.1:443") {
		t.Errorf("asked %d addresses: %v", asked, err)
	}
	lookup := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "lb.example.com", Server: "198.18.0.53:53"}
	}
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	target.Addresses = []string{"lb.example.com"}
	m.observe(target.Host, time.Second, ask(t.Context(), lookup, target, 0))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			got[f.GetName()] = strings.ReplaceAll(series.String(), "  ", " ")
		}
	}
	if text := got["ingress_canary_route_DNS_error"]; !strings.Contains(text, `value:"198.18.0.53:53"`) || !strings.Contains(text, "counter:{value:1") {
		t.Errorf("ingress_canary_route_DNS_error is %s", text)
	}
	if text := got["ingress_canary_route_reachable"]; !strings.Contains(text, "gauge:{value:0}") {
		t.Errorf("ingress_canary_route_reachable is %s", text)
	}
}

// TestTracker: five failures in a row are told, with few different causes, whose
// text does not change with each of them; one success ends that.
func TestTracker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var tr tracker
	fail := func(text string) {
		now = now.Add(time.Minute)
		tr.add(now, errors.New(text))
	}
	tr.add(now, nil)
	for range FailuresToFail - 1 {
		fail("refused")
	}
	if tr.state != Succeeding {
		t.Errorf("after %d failures: %v", FailuresToFail-1, tr.state)
	}
	fail("refused")
	first := tr.shown()
	fail("refused")
	if tr.state != Failing || first != "refused (since 2026-01-02T03:05:05Z)" || tr.shown() != first {
		t.Errorf("%v: %q, then %q", tr.state, first, tr.shown())
	}
	for i := range 5 {
		fail(fmt.Sprint("other ", i))
	}
	if len(tr.errors) != mostErrors {
		t.Errorf("%d errors are told", len(tr.errors))
	}
	tr.add(now, nil)
	if tr.state != Succeeding || tr.shown() != "" || tr.failures != 0 {
		t.Errorf("after a success: %+v", tr)
	}
}

// TestProber: what was known of another target does not count, and a port that has
// been well may be left.
func TestProber(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var fails bool
	changes := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(headerPort, "8443")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	p, err := New(Options{
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			if fails {
				return nil, broken
			}
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}, func(context.Context) { changes++ })
	if err != nil {
		t.Fatal(err)
	}
	if again := p.once(t.Context()); again != DefaultInterval || p.Verdict().State != Pending {
		t.Errorf("without a target: %v, %+v", again, p.Verdict())
	}
	target := Target{Host: "canary.example.com", Addresses: []string{"198.18.0.1"}, Port: 443, Backend: Port1, Rotate: true}
	p.Aim(&target)
	for range SuccessesToRotate {
		p.once(t.Context())
	}
	if v := p.Verdict(); v.State != Succeeding || !v.Rotate || changes != 2 {
		t.Errorf("all is well: %+v, %d changes", v, changes)
	}
	turned := target
	turned.Backend = Port2
	p.Aim(&turned)
	if p.Verdict().Rotate {
		t.Error("the other port was not asked yet")
	}
	p.Aim(&target)
	fails = true
	for range FailuresToFail {
		if again := p.once(t.Context()); again >= DefaultInterval {
			t.Errorf("a failed probe is repeated after %v", again)
		}
	}
	if v := p.Verdict(); v.State != Failing || !strings.Contains(v.Errors, "at 198.18.0.1:443: broken") {
		t.Errorf("broken: %+v", v)
	}
	p.Aim(nil)
	if v := p.Verdict(); v != (Verdict{}) {
		t.Errorf("without a target: %+v", v)
	}
}
