package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// sample is a cluster with routes of every kind.
const sample = `
kind: Route
metadata: {namespace: f, name: plain}
spec: {host: plain.f.test, path: "/a;b", to: {kind: Service, name: web, weight: 80}, alternateBackends: [{kind: Service, name: two, weight: 20}]}
---
kind: Route
metadata: {namespace: f, name: edge}
spec: {host: edge.f.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect, certificate: ${cert fedge}, key: ${key fedge}}}
---
kind: Route
metadata: {namespace: f, name: re, annotations: {haproxy.router.openshift.io/timeout: 3s}}
spec: {host: re.f.test, to: {kind: Service, name: tls}, tls: {termination: reencrypt, destinationCACertificate: ${ca ca}}}
---
kind: Route
metadata: {namespace: f, name: pass}
spec: {host: pass.f.test, to: {kind: Service, name: tls}, tls: {termination: passthrough}}
`

func sampleChange(t *testing.T) change {
	t.Helper()
	var s step
	if err := s.objects(strings.TrimSpace(pki().expand(t, sample))); err != nil {
		t.Fatal(err)
	}
	if err := s.services([]string{
		"f/web http=8080 a@198.18.250.50 b@198.18.250.51", "f/two http=8080 c@198.18.250.52", "f/tls https=8443 d@198.18.250.53",
	}); err != nil {
		t.Fatal(err)
	}
	return s.change
}

// sampleRequests must be answered whatever happens.
var sampleRequests = []string{
	"GET http://plain.f.test/ target=/a;b -> 200 pod=a|b|c",
	"GET https://edge.f.test/ -> 200 pod=a|b cert=fedge",
	"GET http://edge.f.test/ -> 302",
	"GET https://re.f.test/ -> 200 pod=d",
	"GET https://pass.f.test/ -> 200 pod=d",
}

// sampleBed returns a running router that serves the sample.
func sampleBed(t *testing.T, version string) (*bed, *core) {
	t.Helper()
	b := newBed(t, version, newMemory())
	k := newCore(t)
	ch := sampleChange(t)
	b.start()
	b.apply(ch)
	k.apply(ch)
	b.serves(k, sampleRequests)
	return b, k
}

// serves waits until all lines are answered as they should be.
func (b *bed) serves(k *core, lines []string) {
	b.t.Helper()
	b.eventually("the routes are served", func() error {
		return errors.Join(b.expectAll(lines, k.pipeline.Want(), map[string]saved{}, 0)...)
	})
}

func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	onEach(t, supported(), test)
}

// onEach runs a test on these versions side by side.
func onEach(t *testing.T, programs []string, test func(t *testing.T, version string)) {
	t.Helper()
	t.Parallel()
	for _, v := range programs {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

// TestKillWorker kills the process that carries the traffic.
func TestKillWorker(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		before := b.pid()
		kill(t, before)
		b.eventually("a new worker", func() error {
			pid, err := workerPID(b)
			if err == nil && pid == before {
				err = errors.New("the killed worker still answers")
			}
			return err
		})
		b.serves(k, sampleRequests)
		b.apply(change{del: []model.Object{parseObject("Route", "f/pass")}})
		b.serves(newCoreOf(t, b), []string{"GET https://pass.f.test/ -> 404 cert=default"})
	})
}

// newCoreOf returns what a bed's cluster asks for now.
func newCoreOf(t *testing.T, b *bed) *core {
	t.Helper()
	k := newCore(t)
	b.cluster.mu.Lock()
	var ch change
	for _, o := range b.cluster.routes {
		ch.put = append(ch.put, o)
	}
	for _, o := range b.cluster.services {
		ch.put = append(ch.put, o)
	}
	for _, o := range b.cluster.slices {
		ch.put = append(ch.put, o)
	}
	b.cluster.mu.Unlock()
	k.apply(ch)
	return k
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// TestKillMaster kills HAProxy's master; the supervisor starts another.
func TestKillMaster(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		before := b.pid()
		kill(t, parentOf(t, before))
		b.eventually("a new worker", func() error {
			pid, err := workerPID(b)
			if err == nil && pid == before {
				err = errors.New("the worker of the killed master still answers")
			}
			return err
		})
		b.serves(k, sampleRequests)
	})
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var state string
	var parent int
	_, rest, _ := strings.Cut(string(stat), ") ")
	if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}

// TestRestartEngine ends the router's own process, as far as HAProxy is
// concerned, and starts it again: it adopts what runs.
func TestRestartEngine(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		before := b.pid()
		var failed atomic.Int64
		var first atomic.Value
		stop := make(chan struct{})
		var clients sync.WaitGroup
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := errors.Join(b.expectAll(sampleRequests, k.pipeline.Want(), nil, 0)...); err != nil {
					failed.Add(1)
					first.CompareAndSwap(nil, err.Error())
				}
			}
		})
		b.stopEngine()
		b.startEngine()
		b.waitReady()
		b.apply(change{}) // everything of the first state has been applied
		close(stop)
		clients.Wait()
		if n := failed.Load(); n > 0 {
			t.Errorf("%d rounds of requests failed, first: %v", n, first.Load())
		}
		if after := b.pid(); after != before || b.reloads() != 0 {
			t.Errorf("worker %d became %d with %d reloads; the running HAProxy should be adopted", before, after, b.reloads())
		}
		b.apply(change{del: []model.Object{parseObject("Route", "f/edge")}})
		b.serves(newCoreOf(t, b), []string{"GET https://edge.f.test/ -> 404 cert=default"})
	})
}

// TestRestartAfterChanges starts the router on a HAProxy whose state fits
// neither the cluster nor the files.
func TestRestartAfterChanges(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, _ := sampleBed(t, version)
		b.stopEngine()
		var s step
		if err := s.services([]string{"f/web http=8080 b@198.18.250.51 x@198.18.250.54"}); err != nil {
			t.Fatal(err)
		}
		for _, o := range s.change.put {
			ensurePods(t, o)
		}
		s.change.del = []model.Object{parseObject("Route", "f/pass")}
		b.cluster.apply(s.change)
		b.startEngine()
		b.waitReady()
		b.apply(change{})
		if version == "haproxy" && b.reloads() != 0 {
			t.Errorf("%d reloads", b.reloads())
		}
		b.serves(newCoreOf(t, b), []string{
			"GET https://edge.f.test/ -> 200 pod=b|x cert=fedge",
			"GET https://pass.f.test/ -> 404",
			"GET https://re.f.test/ -> 200 pod=d",
		})
	})
}

// TestReadBack compares what HAProxy says it has with what was applied.
func TestReadBack(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		want, got := k.pipeline.Want(), b.readBack()
		ignore := cmp.Options{
			cmpopts.IgnoreFields(plan.Backend{}, "Profile"), cmpopts.IgnoreFields(plan.Server{}, "Options"),
			cmpopts.EquateComparable(plan.Server{}.Address),
		}
		if d := cmp.Diff(want.Backends, got.Backends, ignore); d != "" {
			t.Errorf("backends (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want.Entries, got.Entries); d != "" {
			t.Errorf("entries (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want.Lines, got.Lines); d != "" {
			t.Errorf("certificate list (-want +got):\n%s", d)
		}
		for id := range want.Certs {
			if _, ok := got.Certs[id]; !ok {
				t.Errorf("certificate %s is not read back: %v", id, got.Certs)
			}
		}
		for id := range want.CAs {
			if _, ok := got.CAs[id]; !ok {
				t.Errorf("CA %s is not read back: %v", id, got.CAs)
			}
		}
	})
}

// TestDetect says what is wrong with a HAProxy that cannot be used.
func TestDetect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct{ path, want string }{
		{filepath.Join(dir, "missing"), "--haproxy"},
		{script("old", `echo "HAProxy version 2.6.12-1+deb12u1 2023/12/16 - https://haproxy.org/"`), "3.0 or newer is needed"},
		{script("other", `echo "nginx version: 1.26"`), "does not answer like HAProxy"},
		{script("fails", `exit 1`), "--haproxy"},
	} {
		_, _, err := haproxy.Detect(t.Context(), tt.path)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.path, err, tt.want)
		}
	}
}

// refuse stands between the router and HAProxy's socket and answers all commands
// of a line that holds a text with an error, as HAProxy does for what it does not
// like. The router ends each of its steps with "show version".
func (b *bed) refuse(text string) {
	b.t.Helper()
	path := filepath.Join(b.layout.RunDir(), "admin.sock")
	if err := os.Rename(path, path+".real"); err != nil {
		b.t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = l.Close() })
	forward := func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("unix", path+".real")
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		}()
		buffer := make([]byte, 1<<20)
		for {
			n, err := client.Read(buffer)
			if err != nil {
				return
			}
			if bytes.Contains(buffer[:n], []byte(text)) {
				for range bytes.Count(buffer[:n], []byte("show version")) {
					_, _ = io.WriteString(client, "\n[3]: refused by the test\n\n[6]: 3.4.7-1\n\n")
				}
				return
			}
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go forward(client)
		}
	}()
	b.endConnections(path + ".real")
}

// endConnections ends all connections to HAProxy's socket, of which the router holds one.
func (b *bed) endConnections(path string) {
	b.t.Helper()
	var socket runtime.SingleRuntime
	if err := socket.Init(path, 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		b.t.Fatal(err)
	}
	sessions, err := socket.ExecuteRaw("show sess")
	if err != nil {
		b.t.Fatal(err)
	}
	for l := range strings.Lines(sessions) {
		if id, _, ok := strings.Cut(l, ": "); ok && strings.Contains(l, "fe=GLOBAL") {
			if _, err := socket.ExecuteRaw("shutdown session " + strings.TrimPrefix(id, "[6]: ")); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

const otherRoute = `
kind: Route
metadata: {namespace: f, name: other}
spec: {host: other.f.test, to: {kind: Service, name: web}}
`

// TestRefused lets HAProxy refuse a route's new certificate. The route is
// isolated and its last good version serves on; everything else goes live.
// Before 3.4 the same change must not need another backend, which takes a
// reload: TestPoisonedReload is about those.
func TestRefused(t *testing.T) {
	eachVersion(t, testRefused)
}

func testRefused(t *testing.T, version string) {
	b, k := sampleBed(t, version)
	balance := "leastconn"
	if !b.caps.DynamicBackends {
		balance = `""`
		other := objectsChange(t, otherRoute)
		b.apply(other)
		k.apply(other)
	}
	reloads := b.reloads()
	b.refuse("new ssl cert " + b.layout.CertsDir() + "/f_edge")
	var s step
	if err := s.objects(strings.TrimSpace(pki().expand(t, `
kind: Route
metadata: {namespace: f, name: edge, annotations: {haproxy.router.openshift.io/balance: `+balance+`}}
spec: {host: moved.f.test, to: {kind: Service, name: two}, tls: {termination: edge, certificate: ${cert fedge2}, key: ${key fedge2}}}
---`+otherRoute))); err != nil {
		t.Fatal(err)
	}
	b.apply(s.change)
	b.refused("f/edge", "refused by the test")
	if err := checkStatus("f/other admitted", b.statusOf); err != nil {
		t.Error(err)
	}
	k.apply(change{put: s.change.put[1:]})
	lines := append([]string{"GET http://other.f.test/ -> 200 pod=a|b"}, sampleRequests...)
	b.serves(k, lines)
	// Removals come after a second, before 3.4 with the next reload; the refused
	// route must keep what it uses.
	if b.caps.DynamicBackends {
		b.settled()
		b.serves(k, lines)
	}
	if n := b.reloads() - reloads; n != 0 {
		t.Errorf("%d reloads", n)
	}
	// Its pods are followed, and a new HAProxy has it as well.
	move := change{put: []metav1.Object{s.change.put[0]}}
	var moved step
	if err := moved.services([]string{"f/web http=8080 b@198.18.250.51 x@198.18.250.54"}); err != nil {
		t.Fatal(err)
	}
	b.apply(moved.change)
	k.apply(moved.change)
	lines = []string{"GET https://edge.f.test/ -> 200 pod=b|x cert=fedge", "GET http://edge.f.test/ -> 302", "GET http://other.f.test/ -> 200 pod=b|x"}
	b.serves(k, lines)
	b.eventually("the files follow", func() error {
		text, err := os.ReadFile(b.layout.Config())
		if err == nil && !strings.Contains(string(text), "198.18.250.54") {
			err = errors.New("not yet")
		}
		return err
	})
	b.stop()
	b.start()
	b.serves(k, lines)
	// The route has been accepted now, since nothing refuses it any more.
	b.apply(move)
	k.apply(move)
	b.serves(k, []string{"GET https://moved.f.test/ -> 200 pod=c cert=fedge2", "GET https://edge.f.test/ -> 404"})
}

// TestRefusedBatch lets HAProxy refuse some routes of many that come at once,
// with everything that stands in one line with them: only they are left out.
func TestRefusedBatch(t *testing.T) {
	t.Parallel()
	b, k := sampleBed(t, "haproxy")
	b.refuse("poison")
	var good, all strings.Builder
	var lines []string
	for i := range 40 {
		name := fmt.Sprintf("r%d", i)
		if i%13 == 5 {
			name = fmt.Sprintf("poison%d", i)
		}
		route := fmt.Sprintf("kind: Route\nmetadata: {namespace: f, name: %[1]s}\nspec: {host: %[1]s.f.test, to: {kind: Service, name: two}}\n---\n", name)
		all.WriteString(route)
		if i%13 == 5 {
			lines = append(lines, "GET http://"+name+".f.test/ -> 404")
			continue
		}
		good.WriteString(route)
		lines = append(lines, "GET http://"+name+".f.test/ -> 200 pod=c")
	}
	b.apply(objectsChange(t, strings.TrimSuffix(all.String(), "---\n")))
	k.apply(objectsChange(t, strings.TrimSuffix(good.String(), "---\n")))
	b.serves(k, append(lines, sampleRequests...))
	for _, name := range []string{"f/poison5", "f/poison18", "f/poison31"} {
		b.refused(name, "refused by the test")
	}
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// TestRefusedMoves lets HAProxy refuse new hosts of some routes of many: those
// stay at their old ones, without a reload, and all others move.
func TestRefusedMoves(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		routes := func(host func(i int) string, only func(i int) bool) change {
			var all strings.Builder
			for i := range 20 {
				if only(i) {
					fmt.Fprintf(&all, "---\nkind: Route\nmetadata: {namespace: f, name: r%d}\nspec: {host: %s.f.test, to: {kind: Service, name: two}}\n", i, host(i))
				}
			}
			return objectsChange(t, strings.TrimPrefix(all.String(), "---\n"))
		}
		refused := func(i int) bool { return i%13 == 5 }
		before := func(i int) string { return fmt.Sprintf("before%d", i) }
		after := func(i int) string {
			if refused(i) {
				return fmt.Sprintf("poison%d", i)
			}
			return fmt.Sprintf("after%d", i)
		}
		first := routes(before, func(int) bool { return true })
		b.apply(first)
		k.apply(first)
		b.serves(k, []string{"GET http://before5.f.test/ -> 200 pod=c", "GET http://before19.f.test/ -> 200 pod=c"})
		reloads := b.reloads()
		b.refuse("poison")
		b.apply(routes(after, func(int) bool { return true }))
		k.apply(routes(after, func(i int) bool { return !refused(i) }))
		b.serves(k, append([]string{
			"GET http://before5.f.test/ -> 200 pod=c", "GET http://before18.f.test/ -> 200 pod=c",
			"GET http://poison5.f.test/ -> 404", "GET http://before6.f.test/ -> 404",
			"GET http://after6.f.test/ -> 200 pod=c", "GET http://after19.f.test/ -> 200 pod=c",
		}, sampleRequests...))
		b.refused("f/r5", "refused by the test")
		b.refused("f/r18", "refused by the test")
		if n := b.reloads() - reloads; n != 0 {
			t.Errorf("%d reloads", n)
		}
	})
}

// settled waits until the removals that follow a change are over: a route that
// goes takes its backend along after a pause.
func (b *bed) settled() {
	b.t.Helper()
	var s step
	if err := s.objects("kind: Route\nmetadata: {namespace: settle, name: r}\nspec: {host: settle.test, to: {kind: Service, name: none}}"); err != nil {
		b.t.Fatal(err)
	}
	b.apply(s.change)
	b.apply(change{del: []model.Object{parseObject("Route", "settle/r")}})
	b.eventually("removals are over", func() error {
		st := b.readBack()
		for name := range st.Backends {
			if strings.Contains(name, ":settle:") {
				return errors.New("the backend is still there")
			}
		}
		for entry := range st.Entries {
			if strings.Contains(entry.Key, ":settle:") {
				return fmt.Errorf("%v is still there", entry)
			}
		}
		return nil
	})
}
