package cases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/observe/feed"
	"github.com/fairlead/fairlead/router/observe/tail/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// observedBed is a router with a feed of its requests.
type observedBed struct {
	*bed
	feed   *feed.Feed
	server *httptest.Server
}

func newObservedBed(t *testing.T, version string, prepare func(*bed)) *observedBed {
	t.Helper()
	b := newBed(t, version, newMemory())
	if prepare != nil {
		prepare(b)
	}
	b.start()
	f := feed.New(b.newRuntime(), b.logger(), b.registry)
	stop := background(func(ctx context.Context) { _ = f.Run(ctx) })
	o := &observedBed{bed: b, feed: f, server: httptest.NewServer(f)}
	t.Cleanup(func() {
		o.server.CloseClientConnections()
		o.server.Close()
		stop()
	})
	port := fmt.Sprint(freePort(t)) // where a pod takes requests and never answers
	l, err := net.Listen("tcp", "198.18.250.227:"+port)
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
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
	}()
	b.apply(parseStep(t, map[string]string{"services": "ob/web http=8080 web-a@198.18.250.225\nob/tls https=8443 tls-a@198.18.250.226\nob/dead http=9001 dead-a@198.18.250.228\nob/silent http=" + port +
		" silent-a@198.18.250.227\nelse/web http=8080 web-b@198.18.250.225", "in.yaml": observedRoutes}))
	return o
}

const observedRoutes = `
kind: Route
metadata: {namespace: ob, name: web}
spec: {host: web.ob.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: Route
metadata: {namespace: ob, name: away}
spec: {host: away.ob.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect}}
---
kind: Route
metadata: {namespace: ob, name: pass}
spec: {host: pass.ob.test, to: {kind: Service, name: tls}, tls: {termination: passthrough}}
---
kind: Route
metadata: {namespace: ob, name: dead}
spec: {host: dead.ob.test, to: {kind: Service, name: dead}}
---
kind: Route
metadata: {namespace: ob, name: none}
spec: {host: none.ob.test, to: {kind: Service, name: nothing}}
---
kind: Route
metadata: {namespace: ob, name: silent, annotations: {haproxy.router.openshift.io/timeout: 200ms}}
spec: {host: silent.ob.test, to: {kind: Service, name: silent}}
---
kind: Route
metadata: {namespace: ob, name: closed, annotations: {haproxy.router.openshift.io/ip_whitelist: 192.0.2.1}}
spec: {host: closed.ob.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: ob, name: unlogged, annotations: {fairlead.dev/access-log: "false"}}
spec: {host: unlogged.ob.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: else, name: web}
spec: {host: web.else.test, to: {kind: Service, name: web}}
`

// requestStream is what a client of the feed has got.
type requestStream struct {
	mu      sync.Mutex
	records []observe.Record
	state   observe.Stream
	close   func()
}

func (o *observedBed) read(query string) *requestStream {
	o.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.server.URL+observe.Path+"?"+query, http.NoBody)
	if err != nil {
		o.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	s := &requestStream{close: cancel}
	o.t.Cleanup(cancel)
	go func() {
		defer answer.Body.Close()
		_ = cluster.Lines(answer.Body, s.take)
	}()
	return s
}

func (s *requestStream) take(l observe.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.State != nil {
		s.state = *l.State
	}
	if l.Record != nil {
		s.records = append(s.records, *l.Record)
	}
}

func (s *requestStream) observing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.state.Observing {
		return fmt.Errorf("%+v", s.state)
	}
	return nil
}

// record returns that of a path, or of a server name.
func (s *requestStream) record(of string) (observe.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		if r.Path == of || r.Path == "" && r.ServerName == of {
			return r, nil
		}
	}
	return observe.Record{}, fmt.Errorf("no record of %s among %+v, %+v", of, s.records, s.state)
}

// ring is all that HAProxy has written.
func (o *observedBed) ring() string {
	o.t.Helper()
	return o.ask("show events observe")
}

// ask runs a command of the runtime socket.
func (o *observedBed) ask(command string) string {
	o.t.Helper()
	conn, err := net.Dial("unix", o.layout.RunDir()+"/admin.sock")
	if err != nil {
		o.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		o.t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}

// off waits until nothing is observed.
func (o *observedBed) off(what string) {
	o.t.Helper()
	o.eventually(what, func() error {
		if keys := strings.TrimSpace(o.ask("show map " + o.layout.ObserveFile())); keys != "" {
			return errors.New(keys)
		}
		return nil
	})
}

// TestObserve: records of the Routes that a client reads have the pod, the status and how the
// request ended, those of other Routes are not written, and nothing is once the client has gone.
func TestObserve(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		o := newObservedBed(t, version, nil)
		o.expectLine("GET http://web.ob.test/before -> 200")
		o.expectLine("GET http://web.else.test/before -> 200")
		if written := strings.TrimSpace(o.ring()); strings.Contains(written, "|") {
			t.Errorf("without a reader HAProxy has written %q", written)
		}
		reloads := o.reloads()
		s := o.read("namespace=ob")
		o.eventually("HAProxy writes", s.observing)
		requests := []request{
			{host: "web.ob.test", target: "/plain?token=secret", header: []string{"Cookie: c=secret", "Authorization: Bearer secret"}},
			{host: "web.ob.test", target: "/odd|%1b[2J%0a", tls: true, sni: "web.ob.test"},
			{host: "dead.ob.test", target: "/dead"},
			{host: "none.ob.test", target: "/none"},
			{host: "silent.ob.test", target: "/silent"},
			{host: "closed.ob.test", target: "/closed"},
			{host: "unlogged.ob.test", target: "/unlogged"},
			{host: "web.else.test", target: "/else"},
			{host: "away.ob.test", target: "/away"},
			{host: "web.ob.test", target: "/" + strings.Repeat("long", 1000)},
			{host: "pass.ob.test", target: "/pass", tls: true, sni: "pass.ob.test"},
		}
		for _, r := range requests {
			r.method = "GET"
			if res := r.do(o.http, o.https); res.err != nil {
				t.Fatalf("%s: %v", r.target, res.err)
			}
		}
		long := "/" + strings.Repeat("long", 1000)
		for path, want := range map[string]observe.Record{
			"/plain":         {Route: "web", Pod: "web-a", Status: 200, Ended: "--", Host: "web.ob.test", Protocol: "HTTP/1", PathBytes: 6},
			"/odd|%1b[2J%0a": {Route: "web", Pod: "web-a", Status: 200, Ended: "--", Host: "web.ob.test", Protocol: "HTTP/1", TLS: "TLSv1.3", ServerName: "web.ob.test", PathBytes: 14},
			"/dead":          {Route: "dead", Pod: "dead-a", Status: 503, Ended: "SC", Host: "dead.ob.test", Protocol: "HTTP/1", PathBytes: 5, Words: "the pod refused the connection (4 attempts)", Retries: 3},
			"/none":          {Route: "none", Status: 503, Ended: "SC", Host: "none.ob.test", Protocol: "HTTP/1", PathBytes: 5, Words: "no pod was ready"},
			"/silent":        {Route: "silent", Pod: "silent-a", Status: 504, Ended: "sH", Host: "silent.ob.test", Protocol: "HTTP/1", PathBytes: 7, Words: "the pod did not answer within the timeout"},
			"/closed":        {Route: "closed", Status: 403, Ended: "PR", Host: "closed.ob.test", Protocol: "HTTP/1", PathBytes: 7, Words: "the router refused the request: it is invalid, or a policy does not admit it"},
			"/unlogged":      {Route: "unlogged", Pod: "web-a", Status: 200, Ended: "--", Host: "unlogged.ob.test", Protocol: "HTTP/1", PathBytes: 9},
			long[:1024]:      {Route: "web", Pod: "web-a", Status: 200, Ended: "--", Host: "web.ob.test", Protocol: "HTTP/1", PathBytes: 4001},
			"pass.ob.test":   {Route: "pass", Pod: "tls-a", Ended: "--", Protocol: "TCP", ServerName: "pass.ob.test"},
		} {
			var got observe.Record
			o.eventually("the record of "+path, func() (err error) {
				got, err = s.record(path)
				return err
			})
			if got.Protocol == "TCP" && got.Ended == "CD" {
				got.Ended, got.Words = "--", "" // the client closes, and the pod's last bytes may be on their way
			}
			if got.Timers.Total < 0 || got.Client != "127.0.0.1" || got.Namespace != "ob" || got.Kind != "Route" || time.Since(got.Time).Abs() > patience*10 {
				t.Errorf("%s: %+v", path, got)
			}
			if got.Route != want.Route || got.Pod != want.Pod || got.Status != want.Status || got.Ended != want.Ended || got.Host != want.Host || got.Words != want.Words ||
				got.Protocol != want.Protocol || got.TLS != want.TLS && got.TLS != "TLSv1.2" || got.ServerName != want.ServerName || got.PathBytes != want.PathBytes || got.Retries != want.Retries {
				t.Errorf("%s: %+v, want %+v", path, got, want)
			}
		}
		written := o.ring()
		for _, text := range []string{"secret", "be_http:else:", "/away"} {
			if strings.Contains(written, text) {
				t.Errorf("%q is in HAProxy's ring:\n%s", text, written)
			}
		}
		s.close()
		o.off("the reader has gone")
		o.expectLine("GET http://web.ob.test/after -> 200")
		o.expectLine("GET https://web.ob.test/after -> 200")
		if written := o.ring(); strings.Contains(written, "after") {
			t.Errorf("a request after the reader has gone is written:\n%s", written)
		}
		if n := o.reloads() - reloads; n != 0 {
			t.Errorf("%d reloads", n)
		}
	})
}

// TestObserveAll: everything has redirects to https and what no Route takes, too; it goes on
// when HAProxy is replaced, and keys that an earlier router has left are cleared.
func TestObserveAll(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		o := newObservedBed(t, version, nil)
		s := o.read("")
		o.eventually("HAProxy writes", s.observing)
		for path, status := range map[string]int{"GET http://away.ob.test/away -> 302": 302, "GET http://unknown.test/unknown -> 404": 404} {
			o.expectLine(path)
			o.eventually(path, func() error {
				r, err := s.record(strings.TrimPrefix(strings.Fields(path)[1], "http://"+strings.Split(strings.Fields(path)[1], "/")[2]))
				if err == nil && (r.Status != status || r.Route != "") {
					err = fmt.Errorf("%+v", r)
				}
				return err
			})
		}
		before := o.pid()
		kill(t, before)
		o.eventually("a new worker serves, and its requests are seen", func() error {
			if pid, err := workerPID(o.bed); err != nil || pid == before {
				return fmt.Errorf("worker %d: %w", pid, err)
			}
			(&request{method: "GET", host: "web.ob.test", target: "/again"}).do(o.http, o.https)
			_, err := s.record("/again")
			return err
		})
		s.close()
		o.off("the reader has gone")

		o.ask("add map " + o.layout.ObserveFile() + " be_ 1")
		f := feed.New(o.newRuntime(), o.logger(), prometheus.NewRegistry())
		defer background(func(ctx context.Context) { _ = f.Run(ctx) })()
		o.off("a router that starts clears what is left")
	})
}

// TestObserveAccessLog: beside an access log only those requests are observed that a client
// reads, and the log has all of them. HAProxy 3.0 cannot do both, and the stream says so.
func TestObserveAccessLog(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		lines := syslog(t)
		o := newObservedBed(t, version, func(b *bed) {
			ic := &operatorv1.IngressController{}
			everySetting(&ic.Spec, lines.port)
			ic.Spec.HTTPHeaders, ic.Spec.TLSSecurityProfile = nil, nil
			ic.Spec.Logging.Access.HttpLogFormat = "path=%HP status=%ST."
			b.controller.Store(ic)
		})
		s := o.read("route=ob/web")
		if !o.caps.LogProfiles {
			o.eventually("the stream says why", func() error {
				s.mu.Lock()
				defer s.mu.Unlock()
				return wait.True(strings.Contains(s.state.Problem, "access log"))
			})
			return
		}
		o.eventually("HAProxy writes", s.observing)
		o.expectLine("GET http://web.ob.test/both -> 200")
		o.expectLine("GET http://web.else.test/one -> 200")
		o.expectLine("GET http://unlogged.ob.test/neither -> 200")
		o.expectLine("GET http://web.ob.test/last -> 200")
		for _, path := range []string{"/both", "/last"} {
			o.eventually("the record of "+path, func() error {
				_, err := s.record(path)
				return err
			})
		}
		got := lines.gather([]string{"path=/both ", "path=/one ", "path=/last "})
		if strings.Contains(got, "neither") || strings.Contains(got, "|") {
			t.Errorf("the access log:\n%s", got)
		}
		if written := o.ring(); strings.Contains(written, "one") || strings.Contains(written, "neither") || strings.Contains(written, "status=") {
			t.Errorf("the ring:\n%s", written)
		}
	})
}
