package cases

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/test/full"
)

// largePair is a certificate, signed by the test's authority, with a text of
// about so many bytes.
func largePair(t *testing.T, bytes int) *keyPair {
	t.Helper()
	return makePair(t, &x509.Certificate{
		Subject:         pkix.Name{CommonName: "large"},
		ExtraExtensions: []pkix.Extension{{Id: []int{1, 3, 6, 1, 4, 1, 99999, 1}, Value: make([]byte, bytes*3/4)}},
	}, pki().ca(t, "ca"), newKey(t))
}

func largeRoute(p *keyPair) string {
	return fmt.Sprintf(`
kind: Route
metadata: {namespace: f, name: large}
spec: {host: large.f.test, to: {kind: Service, name: web}, tls: {termination: edge, certificate: %q, key: %q}}
`, p.certPEM, p.keyPEM)
}

// TestLargeCertificate: certificates that fit no command are refused, however
// often they change, at the start as later. None makes HAProxy reload.
func TestLargeCertificate(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		before, first := b.reloads(), b.pid()
		sizes := []int{32 << 10, 80 << 10, 1000 << 10}
		if b.caps.MaxPayload > 64<<10 {
			sizes = sizes[1:] // the first one fits
		}
		for _, size := range sizes {
			pairs := []*keyPair{largePair(t, size), largePair(t, size)}
			for i := range 50 {
				b.apply(objectsChange(t, largeRoute(pairs[i%2])))
			}
			st, _ := b.statusOf(parseObject("Route", "f/large"))
			if st.Admitted || st.Reason != api.ReasonExtendedValidationFailed || !strings.Contains(st.Message, "bytes") {
				t.Errorf("%d bytes: status %+v", size, st)
			}
		}
		if n := b.reloads() - before; n != 0 || b.pid() != first {
			t.Errorf("%d reloads, worker %d became %d", n, first, b.pid())
		}
		b.serves(k, append([]string{"GET https://large.f.test/ -> 404 cert=default"}, sampleRequests...))
		b.stop()
		b.start()
		b.serves(k, sampleRequests)
		if st, _ := b.statusOf(parseObject("Route", "f/large")); st.Admitted {
			t.Errorf("after a start: status %+v", st)
		}
	})
}

// TestLargeBundle: a list of authorities longer than one command is sent in
// several, and changes without a reload.
func TestLargeBundle(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		route := func(first int) change {
			words := "ca:ca"
			for i := range 40 {
				words = fmt.Sprintf("ca:many-%d ", first+i) + words
			}
			return objectsChange(t, fmt.Sprintf(`
kind: Route
metadata: {namespace: f, name: re, annotations: {haproxy.router.openshift.io/timeout: 3s}}
spec: {host: re.f.test, to: {kind: Service, name: tls}, tls: {termination: reencrypt, destinationCACertificate: %q}}
`, pki().pem(t, words)))
		}
		before := b.reloads()
		for i := range 5 {
			ch := route(i)
			b.apply(ch)
			k.apply(ch)
			b.serves(k, sampleRequests)
		}
		if n := b.reloads() - before; n != 0 {
			t.Errorf("%d reloads", n)
		}
	})
}

// websocket opens a connection that lasts, through a route of the sample.
func (b *bed) websocket(t *testing.T) net.Conn {
	t.Helper()
	conn, err := b.dial("127.0.0.1", b.http)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /a;b HTTP/1.1\r\nHost: plain.f.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("HTTP/1.1 101"))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 101" {
		t.Fatalf("%q, %v", answer, err)
	}
	return conn
}

// open reports whether the other side has not ended a connection.
func open(conn net.Conn) bool {
	buffer := make([]byte, 4096)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := conn.Read(buffer)
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// TestOldWorkers: whatever reloads HAProxy, no more than so many old workers stay
// with their connections. Reloads that HAProxy refuses end nothing.
func TestOldWorkers(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b, k := sampleBed(t, version)
		b.eventually("the files have the routes", func() error {
			text, err := os.ReadFile(b.layout.Config())
			if err == nil && strings.Count(string(text), "\nbackend be_") < 4 {
				err = errors.New("not yet")
			}
			return err
		})
		b.stopEngine() // which would write good files
		rt := b.newRuntime()
		kept := b.websocket(t)
		config, err := os.ReadFile(b.layout.Config())
		if err != nil {
			t.Fatal(err)
		}
		bad := append(slices.Clone(config), "nonsense\n"...)
		if err := os.WriteFile(b.layout.Config(), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 60 {
			if err := rt.Reload(); !haproxy.Refused(err) {
				t.Fatalf("a bad file: %v", err)
			}
		}
		if err := os.WriteFile(b.layout.Config(), config, 0o600); err != nil {
			t.Fatal(err)
		}
		conns := []net.Conn{kept}
		for range haproxy.MaxOldWorkers + 3 {
			if err := rt.Reload(); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, b.websocket(t))
			if len(conns) == haproxy.MaxOldWorkers && !open(kept) {
				t.Error("the connection of the first worker has ended before its time")
			}
		}
		b.eventually("old workers are bounded", func() error {
			old, err := haproxy.OldWorkers(b.layout)
			if err == nil && len(old) != haproxy.MaxOldWorkers {
				err = fmt.Errorf("%d old workers", len(old))
			}
			return err
		})
		// On a busy machine the worker before may still take a connection after a
		// reload, so that two of them share a worker and one worker less has to end.
		b.eventually("the oldest ones have ended", func() error {
			ended := 0
			for ended < len(conns) && !open(conns[ended]) {
				ended++
			}
			if most := len(conns) - 1 - haproxy.MaxOldWorkers; ended < 1 || ended > most {
				return fmt.Errorf("%d of %d connections have ended, want 1 to %d", ended, len(conns), most)
			}
			for i, conn := range conns[ended:] {
				if !open(conn) {
					return fmt.Errorf("connection %d has ended before connection %d", ended+i, ended)
				}
			}
			return nil
		})
		b.startEngine()
		b.waitReady()
		b.serves(k, sampleRequests)
		b.eventually("the metric tells", func() error {
			if n := b.gauge("fairlead_router_old_workers"); n != haproxy.MaxOldWorkers {
				return fmt.Errorf("%v", n)
			}
			return nil
		})
	})
}

// TestReloadsOfATenant: where new routes need reloads, a tenant who makes one
// after the other gets them ever slower while connections last, and those of
// others stay.
func TestReloadsOfATenant(t *testing.T) {
	t.Parallel()
	for _, version := range full.Or([]string{"haproxy-3.0", "haproxy-3.2"}, []string{"haproxy-3.0"}) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b, _ := sampleBed(t, version)
			conn := b.websocket(t)
			conns := []net.Conn{conn}
			before, began := b.reloads(), time.Now()
			for i := 0; time.Since(began) < 12*time.Second; i++ {
				b.cluster.apply(objectsChange(t, fmt.Sprintf(`
kind: Route
metadata: {namespace: f, name: churn-%d}
spec: {host: churn-%d.f.test, to: {kind: Service, name: web}}
`, i, i)))
				if n := b.reloads() - before; n >= len(conns) {
					conns = append(conns, b.websocket(t))
				}
				time.Sleep(50 * time.Millisecond) // the pace of the tenant
			}
			if n := b.reloads() - before; n < 2 || n > 6 {
				t.Errorf("%d reloads in 12 s", n)
			}
			if !open(conn) {
				t.Error("the connection of another tenant has ended")
			}
		})
	}
}
