package cases

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// TestOddRequests: a malformed request gets a well-formed answer, or none, and never
// a page of a pod.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			s.TuningOptions.TLSInspectDelay, s.TuningOptions.ClientTimeout = seconds(1), seconds(1)
		})
		b.expectLine("GET http://plain.set.test/ -> 200")
		const head = "GET / HTTP/1.1\r\nHost: plain.set.test\r\nConnection: close\r\n"
		for name, text := range map[string]string{
			"headers beyond the buffer": head + "X-Large: " + strings.Repeat("x", 40000) + "\r\n\r\n",
			"an empty Content-Length":   head + "Content-Length: \r\n\r\n",
			"a blank in a header name":  head + "X Odd: 1\r\n\r\n",
			"no HTTP at all":            "HELLO\r\n\r\n",
			"TLS on the port for HTTP":  "\x16\x03\x01\x00\x05hello\r\n\r\n",
		} {
			b.eventually(name, func() error { return b.raw(text, "HTTP/1.1 4") }) // 400; 3.4 has 431 for the first
		}
		// Bytes that are no TLS, and a client that says nothing: both end
		// without an answer, the latter after the time for a hello and that for
		// a handshake.
		for name, text := range map[string]string{"HTTP on the port for TLS": head + "\r\n", "silence": ""} {
			conn, err := b.dial("127.0.0.1", b.https)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, text)
			answer, err := io.ReadAll(conn)
			if timeout, ok := errors.AsType[net.Error](err); strings.Contains(string(answer), "HTTP/") || ok && timeout.Timeout() {
				t.Errorf("%s: answered %q, %v", name, answer, err)
			}
			_ = conn.Close()
		}
		b.expectLine("GET https://edge.set.test/ -> 200")
	})
}

// TestPriorKnowledge: a client that begins with HTTP/2 on the port for HTTP is
// served.
func TestPriorKnowledge(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, nil)
		b.eventually("an answer by HTTP/2", func() error {
			transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", strconv.Itoa(b.http)))
			}}
			transport.Protocols.SetUnencryptedHTTP2(true)
			defer transport.CloseIdleConnections()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://plain.set.test/", nil)
			if err != nil {
				return err
			}
			answer, err := transport.RoundTrip(r)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
				return fmt.Errorf("%s %s", answer.Proto, answer.Status)
			}
			return nil
		})
	})
}

// TestOddPods: a pod that takes no connections is passed over for one that
// does; what one makes of a request that it has taken is its answer, be it
// none.
func TestOddPods(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, nil)
		garbage := oddPod(t, "this is no HTTP\r\n\r\n")
		nothing := oddPod(t, "")
		b.apply(parseStep(t, map[string]string{"in.yaml": fmt.Sprintf(`
kind: Service
metadata: {namespace: s, name: odd}
spec: {ports: [{name: garbage, port: %[1]s}, {name: nothing, port: %[2]s}]}
---
kind: EndpointSlice
metadata: {namespace: s, name: odd-1, labels: {kubernetes.io/service-name: odd}}
addressType: IPv4
ports: [{name: garbage, port: %[1]s}, {name: nothing, port: %[2]s}]
endpoints: [{addresses: [198.18.250.91]}]
---
kind: Service
metadata: {namespace: s, name: half}
spec: {ports: [{name: http, port: 8080}]}
---
kind: EndpointSlice
metadata: {namespace: s, name: half-1, labels: {kubernetes.io/service-name: half}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [198.18.250.90]}]
---
kind: EndpointSlice
metadata: {namespace: s, name: half-2, labels: {kubernetes.io/service-name: half}}
addressType: IPv4
ports: [{name: http, port: 9001}]
endpoints: [{addresses: [198.18.250.90]}]
---
kind: Route
metadata: {namespace: s, name: garbage}
spec: {host: garbage.set.test, port: {targetPort: garbage}, to: {kind: Service, name: odd}}
---
kind: Route
metadata: {namespace: s, name: nothing}
spec: {host: nothing.set.test, port: {targetPort: nothing}, to: {kind: Service, name: odd}}
---
kind: Route
metadata: {namespace: s, name: half, annotations: {haproxy.router.openshift.io/balance: roundrobin, haproxy.router.openshift.io/disable_cookies: "true"}}
spec: {host: half.set.test, to: {kind: Service, name: half}}
`, garbage, nothing)}))
		b.expectLine("GET http://garbage.set.test/ -> 502")
		b.expectLine("GET http://nothing.set.test/ -> 502")
		for range 6 {
			res := (&request{method: "GET", host: "half.set.test", target: "/"}).do(b.http, b.https)
			if res.status != http.StatusOK {
				t.Errorf("status %d, %v: a pod that takes no connections was not passed over", res.status, res.err)
			}
		}
	})
}

// oddPod answers every request with a text and closes. It returns its port.
func oddPod(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "198.18.250.91:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(clientTimeout))
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.WriteString(conn, answer)
				}
			}()
		}
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
