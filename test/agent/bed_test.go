package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent"
	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

const workerMark = "FAIRLEAD_TEST_AGENT_WORKER"

// TestMain makes the test's own program a worker, if the supervisor starts it as one.
func TestMain(m *testing.M) {
	parts := strings.Split(os.Getenv(workerMark), "|")
	if len(parts) != 3 {
		os.Exit(m.Run())
	}
	w := &process.Worker{
		Name: parts[0], Dir: parts[1], Snapshot: parts[2], Orders: os.Stdin, Beats: os.NewFile(3, "beats"),
		Log: slog.New(slog.DiscardHandler),
		// The test's auth servers are on the loopback interface.
		Special: func(a netip.Addr) bool { return !a.IsLoopback() && agent.Special(a) },
	}
	if err := w.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// bed is HAProxy with an agent and a pod.
type bed struct {
	t       *testing.T
	dir     string
	address string
	pod     *httptest.Server
	client  *http.Client
	// served counts what reached the pod.
	served atomic.Int64
	// down keeps workers from starting.
	down atomic.Bool
	stop context.CancelFunc
	done chan struct{}
}

// newBed starts HAProxy, and an agent unless a test plays it.
func newBed(t *testing.T, withAgent bool) *bed {
	t.Helper()
	haproxy, err := toolset.Path("haproxy")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // names of sockets must be short, and t.TempDir has the test's in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bed{t: t, dir: dir, client: &http.Client{
		Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	b.pod = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.served.Add(1)
		w.Header().Set("Content-Type", "text/x-pod")
		_ = r.Header.Write(w)
	}))
	t.Cleanup(b.pod.Close)
	if withAgent {
		b.startAgent()
	}
	b.startHAProxy(haproxy)
	return b
}

func (b *bed) startAgent() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.stop, b.done = cancel, make(chan struct{})
	s := &process.Supervisor{
		Dir: b.dir, Snapshot: filepath.Join(b.dir, "snapshot"), Log: slog.New(slog.DiscardHandler), Silence: 2 * time.Second,
		Command: func(name string) *exec.Cmd {
			if b.down.Load() {
				return exec.Command("/bin/false")
			}
			c := exec.Command("/proc/self/exe")
			c.Env = append(os.Environ(), workerMark+"="+strings.Join([]string{name, b.dir, filepath.Join(b.dir, "snapshot")}, "|"))
			c.Stderr = os.Stderr
			return c
		},
	}
	go func() {
		defer close(b.done)
		if err := s.Run(ctx); err != nil {
			b.t.Error(err)
		}
	}()
	b.t.Cleanup(func() { cancel(); <-b.done })
}

const skeleton = `global
  maxconn 2000
  nbthread 2
%s
defaults d_front
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout http-request 10s
frontend public
  bind %s
  %s
  http-request set-var(txn.ask) req.hdr(x-test-policy) if { req.hdr(x-test-policy) -m found }
  http-request set-var(txn.ask_by) req.hdr(x-test-by) if { req.hdr(x-test-by) -m found }
  http-request set-var(txn.ask_strip) bool(true) if { req.hdr(x-test-strip) -m found }
%s
  default_backend pod
backend pod
  server pod %s
%s
`

func (b *bed) startHAProxy(binary string) {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.address = l.Addr().String()
	_ = l.Close()
	a := render.Agent{
		SocketDir: b.dir, ConfigFile: filepath.Join(b.dir, "spoe.cfg"), Processing: "600ms",
	}
	lines := func(indent string, list ...string) string { return indent + strings.Join(list, "\n"+indent) }
	config := fmt.Sprintf(skeleton, lines("  ", render.Globals("dGhlIGtleSBvZiBhIHRlc3Q=")...), b.address, a.Filter(),
		lines("  ", append(a.Rules(), a.ResponseRules()...)...), strings.TrimPrefix(b.pod.URL, "http://"), lines("", a.Sections()...))
	for name, text := range map[string]string{"haproxy.cfg": config, "spoe.cfg": lines("", a.Config()...) + "\n"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	c := exec.Command(binary, "-db", "-f", filepath.Join(b.dir, "haproxy.cfg"))
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if b.t.Failed() {
			b.t.Logf("HAProxy said:\n%s", log.String())
		}
	})
	b.until("HAProxy serves", func() bool { r, _, err := b.try(request{}); return err == nil && r.StatusCode == 200 })
}

// until waits for something that happens beside the test.
func (b *bed) until(what string, done func() bool) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(end) {
			b.t.Fatalf("not within 30 s: %s", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// load hands policies to the agent and waits until HAProxy knows that both workers
// answer.
func (b *bed) load(generation uint64, policies ...snapshot.Policy) {
	b.t.Helper()
	b.until("both workers decide by the snapshot", func() bool {
		r, err := process.Send(b.t.Context(), b.dir, &snapshot.Snapshot{Generation: generation, Policies: policies})
		return err == nil && r.Error == ""
	})
	b.until("HAProxy reaches the agent", func() bool {
		r, _, err := b.try(request{policy: "no such policy"})
		return err == nil && r.StatusCode == 503 && r.Header.Get("Retry-After") == "1"
	})
}

// request is what a client sends.
type request struct {
	policy, by string
	strip      bool
	method     string
	path       string
	headers    []string
}

func (b *bed) try(q request) (*http.Response, string, error) {
	method, path := q.method, q.path
	if method == "" {
		method = http.MethodGet
	}
	if path == "" {
		path = "/"
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.address+path, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	r.Host = "shop.example.com"
	for name, v := range map[string]string{"X-Test-Policy": q.policy, "X-Test-By": q.by} {
		if v != "" {
			r.Header.Set(name, v)
		}
	}
	if q.strip {
		r.Header.Set("X-Test-Strip", "1")
	}
	for _, h := range q.headers {
		n, v, _ := strings.Cut(h, ": ")
		r.Header[n] = append(r.Header[n], v)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, string(body), err
}

// get demands a status, and that only 200 comes from the pod.
func (b *bed) get(what string, q request, want int) (*http.Response, string) {
	b.t.Helper()
	before := b.served.Load()
	r, body, err := b.try(q)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	if r.StatusCode != want {
		b.t.Errorf("%s: status %d, want %d: %.100q", what, r.StatusCode, want, body)
	}
	if reached := b.served.Load() > before; reached != (want == 200) {
		b.t.Errorf("%s: reached the pod: %v", what, reached)
	}
	return r, body
}

func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// users is a policy whose user ann has the password "x".
func users(id string) snapshot.Policy {
	return snapshot.Policy{ID: id, Namespace: "demo", Basic: &snapshot.Basic{Htpasswd: "ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n", MaxFailures: 1 << 30}}
}
