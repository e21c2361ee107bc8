package agent

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/test/closedport"
	"github.com/fairlead/fairlead/test/openid"
)

// rawServer listens at an address, and does with each connection what a test says.
func rawServer(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// neighbours are addresses as a tenant might name them to learn what is there. All but the
// last two lots look alike.
func neighbours(t *testing.T) map[string]string {
	t.Helper()
	closed := closedport.Address(t)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	silent := rawServer(t, func(net.Conn) { <-end })
	hasty := rawServer(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) })
	foreign := rawServer(t, func(c net.Conn) { _, _ = c.Write([]byte("220 mail ESMTP\r\n")) })
	cut := rawServer(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1000))
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"))
	})
	return map[string]string{
		"a closed port":                "http://" + closed,
		"a closed port, by TLS":        "https://" + closed,
		"a silent port":                "http://" + silent,
		"a silent port, by TLS":        "https://" + silent,
		"a reset":                      "http://" + hasty,
		"another protocol":             "http://" + foreign,
		"another protocol, by TLS":     "https://" + foreign,
		"an answer that ends too soon": "http://" + cut,
		"an unknown name":              "http://nothing.invalid",
		"an unknown name, by TLS":      "https://nothing.invalid",
	}
}

// TestCauses: what a tenant reads about an address that its policy names is one of few classes,
// so that it learns nothing about networks that it does not reach; the log has the error.
func TestCauses(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	addresses := neighbours(t)
	for name := range addresses {
		want[name] = causeNoAnswer
	}
	add := func(name, address, class string) { addresses[name], want[name] = address, class }
	for _, code := range []int{204, 302, 401, 404, 500} {
		add(fmt.Sprint("status ", code), newAuthServer(t, says(code, "")).URL, causeNoKeys)
	}
	add("HTML", newAuthServer(t, says(200, "<html>")).URL, causeNoKeys)
	add("no keys", newAuthServer(t, says(200, `["keys"]`)).URL, causeNoKeys)
	add("an unknown CA", openid.New(t).URL, causeUntrusted)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(openid.New(t).URL, "https://"))
	add("a certificate of another name", "https://localhost:"+port, causeUntrusted)

	var log lockedBuffer
	e, _ := newEngine(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	use(t, e, 1)
	f, err := e.newFetcher("", groupJWT)
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			// Only what never answers is waited for in full; the others may be slow on a busy machine.
			limit := 30 * time.Second
			if want[name] == causeNoAnswer {
				limit = 300 * time.Millisecond
			}
			within := func() context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				t.Cleanup(cancel)
				return ctx
			}
			_, _, err := readKeys(within(), f, address)
			if got := whyNot(err); got != want[name] {
				t.Errorf("%q, want %q, for %v", got, want[name], err)
			}
			_, _, err = readProvider(within(), f, address, snapshot.Endpoints{})
			issuer := want[name]
			if issuer == causeNoKeys {
				issuer = causeNoIssuer
			}
			if got := whyNot(err); got != issuer {
				t.Errorf("as a provider: %q, want %q, for %v", got, issuer, err)
			}
		})
	}

	settle(t, e)
	use(t, e, 2, tokenPolicy("keys", addresses["a closed port"]))
	settle(t, e)
	if got := trouble(t, e, "keys"); got.Cause != causeNoAnswer {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(log.String(), "connection refused") {
		t.Errorf("the log has no error: %s", log.String())
	}
}

// TestCausesBeforeDialing are those of addresses that are not connected to.
func TestCausesBeforeDialing(t *testing.T) {
	t.Parallel()
	forbids, _ := newEngine(t, func(o *Options) { o.Special = Special })
	use(t, forbids, 1)
	unknown, _ := newEngine(t)
	for want, e := range map[string]*Engine{causeForbidden: forbids, causeNoNodes: unknown} {
		f, err := e.newFetcher("", groupJWT)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = f.get(t.Context(), "http://127.0.0.1:1/", acceptKeys); whyNot(err) != want {
			t.Errorf("%v: %q", err, whyNot(err))
		}
	}
}

// TestDocumentCauses: of a discovery document that is one, its owner hears what is wrong.
func TestDocumentCauses(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	use(t, e, 1)
	f, err := e.newFetcher("", groupOIDC)
	if err != nil {
		t.Fatal(err)
	}
	s := newAuthServer(t, nil)
	for text, want := range map[string]string{
		"[]":                                causeNoIssuer,
		"<html>":                            causeNoIssuer,
		`{"issuer":"https://other"}`:        causeOtherOne,
		`{"issuer":"` + s.URL + `"}`:        causeNoHTTPS,
		strings.Repeat(" ", 100<<10) + "{}": causeNoIssuer,
	} {
		s.set(says(200, text))
		if _, _, err := readProvider(t.Context(), f, s.URL, snapshot.Endpoints{}); whyNot(err) != want {
			t.Errorf("%.40q: %q, want %q, for %v", text, whyNot(err), want, err)
		}
	}
}

// TestAuthServerCauses: of a Service the tenant hears what happened, of other addresses the class.
func TestAuthServerCauses(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	e, _ := newEngine(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	wrong := newAuthServer(t, says(404, ""))
	at := func(url string) netip.AddrPort {
		_, rest, _ := strings.Cut(url, "://")
		return netip.MustParseAddrPort(rest)
	}
	fast := func(x *snapshot.External) { x.Timeout = 200 * time.Millisecond }
	var policies []snapshot.Policy
	want := map[string]string{}
	for name, address := range neighbours(t) {
		policies, want[name] = append(policies, externalPolicy(name, address+"/?key=secret", fast)), causeNoAnswer
	}
	add := func(name, cause, url string, change func(*snapshot.External)) {
		policies, want[name] = append(policies, externalPolicy(name, url, fast, change)), cause
	}
	all := neighbours(t)
	add("status", causeUndecided, wrong.URL, func(*snapshot.External) {})
	add("an unknown CA", causeUntrusted, openid.New(t).URL, func(*snapshot.External) {})
	service := func(name, cause string, endpoints ...netip.AddrPort) {
		add(name, cause, fmt.Sprintf("http://auth%d.demo.svc", len(policies)), func(x *snapshot.External) { x.ByEndpoints, x.Endpoints = true, endpoints })
	}
	service("a Service's status", "status 404", at(wrong.URL))
	service("a silent Service", "no answer within 200ms", at(all["a silent port"]))
	service("a Service whose pod is gone", causeNoAnswer, at(all["a closed port"]))
	service("a Service without pods", "no pod of the Service is ready")
	use(t, e, 1, policies...)
	for name, cause := range want {
		for range authFailures {
			wants(t, name, e.Decide(t.Context(), ask(t, name)), 503)
		}
		if got := trouble(t, e, name); got.Cause != cause {
			t.Errorf("%s: %q, want %q", name, got.Cause, cause)
		}
	}
	if text := log.String(); !strings.Contains(text, "connection refused") || strings.Contains(text, "secret") {
		t.Errorf("the log: %s", text)
	}
}

// lockedBuffer is written to by several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
