package cases

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"
)

const waiting = `
kind: Route
metadata: {namespace: tw, name: busy, annotations: {haproxy.router.openshift.io/pod-concurrent-connections: "1"}}
spec: {host: busy.tw.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: tw, name: deaf, annotations: {fairlead.dev/connect-timeout: 100ms}}
spec: {host: deaf.tw.test, to: {kind: Service, name: deaf}}
---
kind: RoutePolicy
metadata: {namespace: tw, name: busy}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: busy}]
  timeouts: {queue: 100ms}
`

// TestWaitingForPods: a request waits for a pod that has no free connection, and for
// one that takes none, as long as its route says. HAProxy before 3.4 cannot change
// this for a request.
func TestWaitingForPods(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	const deafPort = 9100
	listenDeaf(t, [4]byte{198, 18, 250, 230}, deafPort)
	b := newBed(t, "haproxy", newMemory())
	c := parseStep(t, map[string]string{"in.yaml": waiting, "services": fmt.Sprintf("tw/web http=8080 web@198.18.250.94\ntw/deaf http=%d deaf@198.18.250.230", deafPort)})
	for _, o := range c.put {
		ensurePods(t, o)
	}
	b.cluster.apply(c)
	b.start()
	get := func(host, target string) (response, time.Duration) {
		begin := time.Now()
		r := (&request{method: "GET", host: host, target: target}).do(b.http, b.https)
		return r, time.Since(begin)
	}

	first := make(chan response, 1)
	go func() {
		r, _ := get("busy.tw.test", "/?sleep=9s")
		first <- r
	}()
	b.eventually("the pod is busy", func() error {
		if r, took := get("busy.tw.test", "/"); r.status != http.StatusServiceUnavailable || took > 4*time.Second {
			return fmt.Errorf("status %d after %s, error: %w", r.status, took, r.err)
		}
		return nil
	})
	if r := <-first; r.status != http.StatusOK {
		t.Errorf("the request that the pod was busy with: status %d, error %v", r.status, r.err)
	}

	// HAProxy tries three times again: with its 5 s this would take 20.
	if r, took := get("deaf.tw.test", "/"); r.status != http.StatusServiceUnavailable || took > 15*time.Second {
		t.Errorf("a pod that takes no connection: status %d after %s, error %v", r.status, took, r.err)
	}
}

// listenDeaf listens, and has a full queue of connections, so that no further one is
// answered.
func listenDeaf(t *testing.T, address [4]byte, port int) {
	t.Helper()
	open := func() (int, error) {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err == nil {
			t.Cleanup(func() { _ = syscall.Close(fd) })
		}
		return fd, err
	}
	at := &syscall.SockaddrInet4{Addr: address, Port: port}
	fd, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, at); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		fd, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Connect(fd, at); err != nil && err != syscall.EINPROGRESS {
			t.Fatal(err)
		}
	}
}
