package agent

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// ann's password is "x".
const htpasswdAnn = "ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n"

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newEngine(t testing.TB, change ...func(*Options)) (*Engine, *clock) {
	t.Helper()
	c := &clock{at: time.Unix(1_800_000_000, 0)}
	registry := prometheus.NewRegistry()
	o := Options{
		Metrics: NewMetrics(registry), Registerer: registry, Log: slog.New(slog.DiscardHandler), Now: c.now,
		// The tests' servers are here.
		Special: func(a netip.Addr) bool { return !a.IsLoopback() && Special(a) },
	}
	for _, f := range change {
		f(&o)
	}
	return New(o), c
}

// use takes policies into use and demands that all are usable.
func use(t *testing.T, e *Engine, generation uint64, policies ...snapshot.Policy) {
	t.Helper()
	whole, err := snapshot.Encode(&snapshot.Snapshot{Generation: generation, Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Decode(whole)
	if err != nil {
		t.Fatal(err)
	}
	if closed := e.Swap(s); len(closed) > 0 {
		t.Fatalf("closed: %v", closed)
	}
}

// ask makes a question with headers, each "Name: value".
func ask(t testing.TB, policy string, headers ...string) *Question {
	t.Helper()
	return &Question{
		Policy: policy, Method: "GET", Target: "/a?b=c&d", Host: "shop.example.com", Client: netip.MustParseAddr("192.0.2.7"), TLS: true,
		Headers: headerList(t, headers...),
	}
}

func headerList(t testing.TB, headers ...string) spop.Headers {
	t.Helper()
	var list []byte
	for _, h := range headers {
		n, v, _ := strings.Cut(h, ": ")
		var err error
		if list, err = spop.AppendHeader(list, n, v); err != nil {
			t.Fatal(err)
		}
	}
	h, err := spop.ParseHeaders(spop.EndHeaders(list))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func userPassword(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// value returns a header of a list.
func value(list []Header, name string) string {
	for _, h := range list {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// authServer answers with what a test sets, and remembers the last request.
type authServer struct {
	*httptest.Server
	mu     sync.Mutex
	asked  int
	last   *http.Request
	body   string
	answer http.HandlerFunc
}

func newAuthServer(t *testing.T, answer http.HandlerFunc) *authServer {
	t.Helper()
	s := &authServer{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		s.mu.Lock()
		s.asked++
		s.last, s.body = r.Clone(t.Context()), b.String()
		answer := s.answer
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *authServer) set(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *authServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			n, v, _ := strings.Cut(h, ": ")
			w.Header().Add(n, v)
		}
		w.WriteHeader(code)
		if code != http.StatusNoContent && code != http.StatusNotModified && code >= 200 {
			_, _ = w.Write([]byte("said the server"))
		}
	}
}

func externalPolicy(id, url string, change ...func(*snapshot.External)) snapshot.Policy {
	x := &snapshot.External{URL: url}
	for _, f := range change {
		f(x)
	}
	return snapshot.Policy{ID: id, Namespace: "demo", External: x}
}

// wants demands an answer's status.
func wants(t testing.TB, what string, a Answer, status int) {
	t.Helper()
	if a.Status != status {
		t.Errorf("%s: status %d (%s), want %d", what, a.Status, a.Reason, status)
	}
}

// until waits for something that happens beside the test.
func until(t testing.TB, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
		<-time.After(time.Millisecond)
	}
}
