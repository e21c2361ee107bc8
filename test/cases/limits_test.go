package cases

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// limited are routes with the limits of connections, which need more than one
// connection at a time to be seen.
const limited = `
kind: Route
metadata: {namespace: lc, name: once, annotations: {haproxy.router.openshift.io/rate-limit-connections: "true", haproxy.router.openshift.io/rate-limit-connections.concurrent-tcp: "1"}}
spec: {host: once.lc.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: lc, name: slow, annotations: {haproxy.router.openshift.io/rate-limit-connections: "true", haproxy.router.openshift.io/rate-limit-connections.rate-tcp: "1"}}
spec: {host: slow.lc.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: lc, name: ponce, annotations: {haproxy.router.openshift.io/rate-limit-connections: "true", haproxy.router.openshift.io/rate-limit-connections.concurrent-tcp: "1"}}
spec: {host: ponce.lc.test, to: {kind: Service, name: tls}, tls: {termination: passthrough}}
---
kind: Route
metadata: {namespace: lc, name: pslow, annotations: {haproxy.router.openshift.io/rate-limit-connections: "true", haproxy.router.openshift.io/rate-limit-connections.rate-tcp: "1"}}
spec: {host: pslow.lc.test, to: {kind: Service, name: tls}, tls: {termination: passthrough}}
---
kind: Route
metadata: {namespace: lc, name: free}
spec: {host: free.lc.test, to: {kind: Service, name: web}}
`

// TestLimits: so many connections at a time, and so many new ones in three
// seconds, as the annotations say, over HTTP and passthrough, for clients with
// IPv4 and IPv6 addresses, each by itself. One more is refused; other routes do
// not notice.
func TestLimits(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.flags.IPv6 = true
		c := parseStep(t, map[string]string{"in.yaml": limited, "services": "lc/web http=8080 web@198.18.250.92\nlc/tls https=8443 tls@198.18.250.93"})
		for _, o := range c.put {
			ensurePods(t, o)
		}
		b.cluster.apply(c)
		b.start()
		for _, from := range []string{"127.0.0.1", "::1"} {
			get := func(host, query string) (int, error) {
				conn, err := b.dial(from, b.http)
				if err != nil {
					return 0, err
				}
				defer conn.Close()
				_, err = fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", query, host)
				if err != nil {
					return 0, err
				}
				r, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					return 0, err
				}
				_ = r.Body.Close()
				return r.StatusCode, nil
			}
			status := func(host string, want int) {
				t.Helper()
				b.eventually(fmt.Sprintf("%d of %s for %s", want, host, from), func() error {
					got, err := get(host, "")
					if err == nil && got != want {
						err = fmt.Errorf("%d", got)
					}
					return err
				})
			}
			status("slow.lc.test", http.StatusOK)
			status("slow.lc.test", http.StatusTooManyRequests)

			// One request after the other takes its time, until another one has
			// met it.
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = get("once.lc.test", "?sleep=2s")
					}
				}
			}()
			status("once.lc.test", http.StatusTooManyRequests)
			close(stop)
			<-stopped
			status("once.lc.test", http.StatusOK)
			status("free.lc.test", http.StatusOK)

			b.limitedTLS(from)
		}
	})
}

// limitedTLS is the same for passthrough, where a connection is closed.
func (b *bed) limitedTLS(from string) {
	b.t.Helper()
	shake := func(host string) (*tls.Conn, error) {
		conn, err := b.dial(from, b.https)
		if err != nil {
			return nil, err
		}
		c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: host})
		if err := c.Handshake(); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return c, nil
	}
	// try reports a connection that ends as it should not.
	try := func(host string, served bool) {
		b.t.Helper()
		b.eventually(fmt.Sprintf("%s for %s, served: %t", host, from, served), func() error {
			c, err := shake(host)
			if err == nil {
				_ = c.Close()
			}
			if served {
				return err
			}
			if err == nil {
				return errors.New("it is served")
			}
			return nil
		})
	}
	try("pslow.lc.test", true)
	try("pslow.lc.test", false)

	var held *tls.Conn
	b.eventually("a first connection", func() (err error) {
		held, err = shake("ponce.lc.test")
		return err
	})
	try("ponce.lc.test", false)
	_ = held.Close()
	try("ponce.lc.test", true)
}

func (b *bed) dial(from string, port int) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(from, strconv.Itoa(port)), clientTimeout)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(clientTimeout))
}
