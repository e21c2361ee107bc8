package cases

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// checkedPod is a pod that sees only health checks, and remembers what they were.
type checkedPod struct {
	mu         sync.Mutex
	handshakes map[string]int // by server name
	bare       int            // connections without a handshake
}

func newCheckedPod(t *testing.T, at string) *checkedPod {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &checkedPod{handshakes: map[string]int{}}
	config := &tls.Config{Certificates: []tls.Certificate{pki().leaf(t, "pod-checked").servable}, MinVersion: tls.VersionTLS12}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(tls.Server(conn, config))
		}
	}()
	return p
}

func (p *checkedPod) serve(conn *tls.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	err := conn.Handshake()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.bare++
	} else {
		p.handshakes["server name "+conn.ConnectionState().ServerName]++
	}
}

// saw demands some handshakes, and nothing else.
func (p *checkedPod) saw() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bare > 0 || p.handshakes["server name any.test"] < 2 || len(p.handshakes) > 1 {
		return fmt.Errorf("handshakes %v, and %d connections without one", p.handshakes, p.bare)
	}
	return nil
}

func (p *checkedPod) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.handshakes)
	p.bare = 0
}

// TestReencryptChecks: pods of a re-encrypt route see the same health checks of
// servers that were added at run time and of those from the file.
func TestReencryptChecks(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		port := map[string]string{"haproxy": "9443", "haproxy-3.2": "9444", "haproxy-3.0": "9445"}[version] // all run at a time
		seen := []*checkedPod{newCheckedPod(t, "198.18.250.210:"+port), newCheckedPod(t, "198.18.250.211:"+port), newCheckedPod(t, "198.18.250.212:"+port)}
		b := newBed(t, version, newMemory())
		b.start()
		var s step
		if err := s.services([]string{"checks/enc https=" + port + " a@198.18.250.210 b@198.18.250.211"}); err != nil {
			t.Fatal(err)
		}
		b.apply(s.change)
		b.apply(objectsChange(t, pki().expand(t, `
kind: Route
metadata:
  namespace: checks
  name: r
  annotations:
    router.openshift.io/haproxy.health.check.interval: 1s
    fairlead.dev/destination-server-name: any.test
spec: {host: checks.test, to: {kind: Service, name: enc}, tls: {termination: reencrypt, destinationCACertificate: ${ca ca}}}
`)))
		// One more comes at run time, where HAProxy before 3.4 had the others
		// from a reload.
		var more step
		if err := more.services([]string{"checks/enc https=" + port + " a@198.18.250.210 b@198.18.250.211 c@198.18.250.212"}); err != nil {
			t.Fatal(err)
		}
		b.apply(more.change)
		for _, when := range []string{"at run time", "after a restart"} {
			for i, p := range seen {
				b.eventually(fmt.Sprintf("pod %d is checked %s", i, when), p.saw)
			}
			b.stop()
			for _, p := range seen {
				p.forget()
			}
			b.start()
		}
	})
}
