package cases

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/test/wait"
)

// copyTarget gets copies of requests.
type copyTarget struct {
	mu     sync.Mutex
	copies []answer
	bodies []string
	// hold keeps copies waiting until it is closed; nil answers at once.
	hold chan struct{}
}

func (c *copyTarget) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.copies = append(c.copies, answer{Method: r.Method, Path: r.RequestURI, Host: r.Host, Header: r.Header})
	c.bodies = append(c.bodies, string(body))
	hold := c.hold
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
}

// of returns the first copy of the requests for a path, its body, and how many there are.
func (c *copyTarget) of(path string) (first *answer, body string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.copies {
		if c.copies[i].Path != path {
			continue
		}
		if n++; n == 1 {
			first, body = &c.copies[i], c.bodies[i]
		}
	}
	return first, body, n
}

// keep has copies wait until the result is called.
func (c *copyTarget) keep() (letGo func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hold := make(chan struct{})
	c.hold = hold
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(hold)
		c.hold = nil
	}
}

// mirrorBed serves one Route whose policy copies requests to a target.
func mirrorBed(t *testing.T, mirror string) (*bed, *copyTarget) {
	t.Helper()
	target := &copyTarget{}
	l, err := net.Listen("tcp", "198.18.250.131:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: target, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	port := l.Addr().(*net.TCPAddr).Port
	c := parseStep(t, map[string]string{
		"in.yaml": mirrorPolicy(mirror) + `
---
kind: Route
metadata: {namespace: mi, name: web, annotations: {haproxy.router.openshift.io/rewrite-target: /pod}}
spec: {host: mi.test, path: /a, to: {kind: Service, name: web}}
`,
		"services": fmt.Sprintf("mi/web http=8080 web@198.18.250.130\nmi/copy http=%d copy@198.18.250.131", port),
	})
	for _, o := range c.put {
		if !strings.HasPrefix(o.GetName(), "copy") {
			ensurePods(t, o)
		}
	}
	b.cluster.apply(c)
	b.start()
	b.expectLine("GET http://mi.test/a -> 200")
	return b, target
}

func mirrorPolicy(mirror string) string {
	return "kind: RoutePolicy\nmetadata: {namespace: mi, name: copies}\nspec:\n  targetRefs: [{group: route.openshift.io, kind: Route, name: web}]\n  mirror: " + mirror
}

// mirrored returns a metric of the agent: the copies that were sent, or were not for a
// reason.
func (b *bed) mirrored(reason string) (n int) {
	b.t.Helper()
	families, err := process.Gatherer(b.agent.dir).Gather()
	if err != nil {
		return -1
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "fairlead_agent_mirror_skipped_total" && l.GetName() == "reason" && l.GetValue() == reason {
					n += int(m.GetCounter().GetValue())
				}
			}
			if f.GetName() == "fairlead_agent_mirror_sent_total" && reason == "" {
				n += int(m.GetCounter().GetValue())
			}
		}
	}
	return n
}

func (b *bed) copiedRequest(method string, edit func(*request)) {
	b.t.Helper()
	r := &request{method: method, host: "mi.test", target: "/a/b?x=%2F&y"}
	if edit != nil {
		edit(r)
	}
	if res := r.do(b.http, b.https); res.status != http.StatusOK && !r.ws {
		b.t.Fatalf("%+v: status %d, %v", r, res.status, res.err)
	}
}

// TestMirrorCopies: what a copy looks like, and what is never copied.
func TestMirrorCopies(t *testing.T) {
	t.Parallel()
	b, target := mirrorBed(t, "{targets: [{service: {name: copy}, bodyBytes: 64, headers: {set: [{name: X-Set, value: me}], remove: [X-Gone]}}]}")
	b.t = t
	for _, method := range []string{"GET", "DELETE", "POST"} {
		path := "/b?x=%2F&" + method
		ask := func(r *request) {
			r.target, r.header = "/a"+path, []string{"Authorization: Bearer secret", "Cookie: a=b", "X-Gone: 1", "X-Set: client", "X-Kept: 1"}
			if method == "POST" {
				r.body = 50
			}
		}
		b.eventually("a copy of "+method, func() error {
			b.copiedRequest(method, ask) // again, because a busy machine may keep a copy from being sent
			_, _, n := target.of("/pod" + path)
			return wait.True(n > 0)
		})
		c, body, _ := target.of("/pod" + path)
		h := c.Header
		if c.Method != method || c.Host != "mi.test" || method == "POST" && len(body) != 50 || method != "POST" && body != "" {
			t.Errorf("copy %+v with a body of %d", c, len(body))
		}
		if h.Get("X-Fairlead-Mirror") != "1" || h.Get("Authorization")+h.Get("Cookie")+h.Get("X-Gone") != "" || h.Get("X-Set") != "me" || len(h["X-Set"]) != 1 || h.Get("X-Kept") != "1" || h.Get("X-Forwarded-Host") != "mi.test" {
			t.Errorf("headers of a copy: %v", h)
		}
	}
	for path, ask := range map[string]func(*request){
		"/long":    func(r *request) { r.method, r.body = "POST", 65 },
		"/untold":  func(r *request) { r.method, r.body, r.untold = "POST", 10, true },
		"/upgrade": func(r *request) { r.ws = true },
		"/copy":    func(r *request) { r.header = []string{"X-Fairlead-Mirror: 1"} },
	} {
		b.copiedRequest("GET", func(r *request) { ask(r); r.target = "/a" + path })
	}
	b.eventually("counts come with a copy", func() error {
		b.copiedRequest("GET", nil)
		if body, upgrade := b.mirrored("body"), b.mirrored("upgrade"); body != 2 || upgrade != 1 {
			return fmt.Errorf("%d and %d", body, upgrade)
		}
		return nil
	})
	for _, path := range []string{"/pod/long", "/pod/untold", "/pod/upgrade", "/pod/copy"} {
		if c, _, n := target.of(path); n > 0 {
			t.Errorf("%d copies of %s: %+v", n, path, c)
		}
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestMirrorShare: a share of the requests is copied, within four standard deviations.
func TestMirrorShare(t *testing.T) {
	t.Parallel()
	b, _ := mirrorBed(t, "{targets: [{service: {name: copy}, percent: 0}]}")
	b.t = t
	copyTo := func(percent string) {
		b.apply(parseStep(t, map[string]string{"in.yaml": mirrorPolicy("{targets: [{service: {name: copy}, percent: '" + percent + "'}]}")}))
	}
	// A busy machine may keep copies from being sent, or from being acknowledged in time: the
	// latter may have been sent.
	chosen := func() (n, late int) {
		late = b.mirrored("agent")
		return b.mirrored("") + late + b.mirrored("busy") + b.mirrored("failed"), late
	}
	for _, percent := range []string{"0.5", "20", "99.99", "0"} {
		copyTo(percent)
		var share float64
		_, _ = fmt.Sscan(percent, &share)
		const n = 1000
		before, lateBefore := chosen()
		for range n {
			b.copiedRequest("GET", nil)
		}
		copyTo("100")
		sent, more, got, late := b.mirrored(""), 0, -1, 0
		b.eventually("a copy brings the counts", func() error {
			b.copiedRequest("GET", nil)
			more++
			return wait.True(b.mirrored("") > sent)
		})
		b.eventually("all copies are counted", func() error {
			last := got
			got, late = chosen()
			got -= before + more
			return wait.True(got == last)
		})
		if fair := int(n * share / 100); got > fair {
			got = max(got-(late-lateBefore), fair)
		}
		near(t, percent+" %", got, n, share/100)
	}
}

// TestMirrorHangs: a target that hangs holds as many copies as it may, and no request.
// Without the agent, or with one that hangs, requests go on and copies are counted.
func TestMirrorHangs(t *testing.T) {
	t.Parallel()
	b, target := mirrorBed(t, "{targets: [{service: {name: copy}, maxInFlight: 4}]}")
	b.t = t
	letGo := target.keep()
	for range 50 {
		b.copiedRequest("GET", func(r *request) { r.target = "/a/held" })
	}
	b.eventually("others are not sent", func() error { return wait.True(b.mirrored("busy") >= 30) })
	if _, _, n := target.of("/pod/held"); n < 1 || n > 4 {
		t.Errorf("%d copies wait, want up to 4", n)
	}
	letGo()
	b.eventually("copies are sent again", func() error {
		b.copiedRequest("GET", func(r *request) { r.target = "/a/free" })
		_, _, n := target.of("/pod/free")
		return wait.True(n > 0)
	})

	b.signalWorkers(syscall.SIGSTOP)
	began := time.Now()
	for range 50 {
		b.copiedRequest("GET", nil)
	}
	// Each worker is waited for once, for less than 20 ms. The bound is for a slow machine.
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("50 requests took %v beside an agent that hangs", took)
	}
	b.killWorkers()
	for range 50 {
		b.copiedRequest("GET", nil)
	}
	b.agent.down.Store(false)
	b.eventually("copies are sent again, and those that were not are counted", func() error {
		b.copiedRequest("GET", nil)
		if sent, missed := b.mirrored(""), b.mirrored("agent"); sent < 1 || missed < 90 {
			return fmt.Errorf("%d sent, %d not handed over", sent, missed)
		}
		return nil
	})
}

// TestMirrorStalls: workers that stand still for a moment, as on a busy machine, lose few
// copies of requests that come side by side. A stall is one, however many requests it makes late.
func TestMirrorStalls(t *testing.T) {
	t.Parallel()
	b, target := mirrorBed(t, "{targets: [{service: {name: copy}, maxInFlight: 256}]}")
	b.t = t
	// The stall is longer than a request waits for its hand-over, and much shorter than what lies between two.
	const clients, stalls, between, stall = 10, 8, 200 * time.Millisecond, 25 * time.Millisecond
	var asked atomic.Int64
	var running sync.WaitGroup
	stop := make(chan struct{})
	for range clients {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					b.copiedRequest("GET", func(r *request) { r.target = "/a/stall" })
					asked.Add(1)
				}
			}
		})
	}
	for range stalls {
		time.Sleep(between)
		b.signalWorkers(syscall.SIGSTOP)
		time.Sleep(stall)
		b.signalWorkers(syscall.SIGCONT)
	}
	close(stop)
	running.Wait()
	n, last := 0, -1
	b.eventually("all copies have arrived", func() error {
		last = n
		_, _, n = target.of("/pod/stall")
		return wait.True(n == last)
	})
	t.Logf("%d of %d copied, %d not acknowledged, %d busy", n, asked.Load(), b.mirrored("agent"), b.mirrored("busy"))
	if float64(n) < 0.9*float64(asked.Load()) {
		t.Errorf("%d requests, and only %d copies", asked.Load(), n)
	}
}
