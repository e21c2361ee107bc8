package cases

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// streamPod answers each connection at once with its name, and then sends back what it gets.
// With TLS it shows a certificate of its name. One with the name "silent" only sends back.
func streamPod(t *testing.T, name, address string, secure bool) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	if secure {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pki().leaf(t, name).servable}})
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
				if name != "silent" {
					_, _ = io.WriteString(conn, name+"\n")
				}
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return port
}

// streamService is a Service with one pod, of the same name.
type streamService struct {
	address string
	// port is that of the Service.
	port int32
	// secure pods speak TLS.
	secure bool
}

// applyStreams applies objects, and Services of a namespace, one of which has no pod.
func (b *bed) applyStreams(t *testing.T, namespace string, all map[string]streamService, objects string) {
	t.Helper()
	services := namespace + "/none 8080\n"
	for name, s := range all {
		services += fmt.Sprintf("%[1]s/%[2]s %[3]d %[2]s@%[4]s\n", namespace, name, streamPod(t, name, s.address, s.secure), s.address)
	}
	c := parseStep(t, map[string]string{"services": services, "in.yaml": objects})
	for _, o := range c.put {
		if s, ok := o.(*corev1.Service); ok && all[s.Name].port != 0 {
			s.Spec.Ports[0].Port = all[s.Name].port
		}
	}
	b.cluster.apply(c)
}

// stream is one connection of a client.
type stream struct {
	// pod is which one answered, and shown the name in the certificate.
	pod, shown string
}

// openStream connects to a slot, with TLS if there is a server name ("-" for TLS without one), has
// the pod send something back, and closes the connection.
func openStream(slot int, name string, own ...tls.Certificate) (got stream, err error) {
	return openStreamAs(slot, name, &tls.Config{Certificates: own})
}

// openStreamAs does so with what the client has beside its server name.
func openStreamAs(slot int, name string, client *tls.Config) (got stream, err error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(slot)), clientTimeout)
	if err != nil {
		return got, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	if name != "" {
		client.InsecureSkipVerify, client.ServerName = true, strings.TrimPrefix(name, "-") // which certificate is shown is what is asked
		secure := tls.Client(conn, client)
		if err := secure.Handshake(); err != nil {
			return got, err
		}
		got.shown = secure.ConnectionState().PeerCertificates[0].Subject.CommonName
		conn = secure
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return got, err
	}
	got.pod = strings.TrimSpace(line)
	if _, err := io.WriteString(conn, "again\n"); err != nil {
		return got, err
	}
	if back, err := r.ReadString('\n'); err != nil || back != "again\n" {
		return got, fmt.Errorf("the pod sent back %q: %w", back, err)
	}
	return got, nil
}

// expectStream opens connections until one is as it should be. One that is closed without an
// answer has no pod.
func (b *bed) expectStream(slot int, name string, want stream, own ...tls.Certificate) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("slot %d and name %q lead to %+v", slot, name, want), func() error {
		got, err := openStream(slot, name, own...)
		if timeout := net.Error(nil); got == want && (err == nil || want.pod == "" && (!errors.As(err, &timeout) || !timeout.Timeout())) {
			return nil
		}
		return fmt.Errorf("%+v: %w", got, err)
	})
}

const passthroughGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: wild, port: 443, protocol: TLS, hostname: "*.example.com", tls: {mode: Passthrough}}
  - {name: shop, port: 443, protocol: TLS, hostname: shop.example.com, tls: {mode: Passthrough}}
  - {name: any, port: 8443, protocol: TLS, tls: {mode: Passthrough}}
`

const passthroughRoutes = `
kind: TLSRoute
metadata: {namespace: gw, name: wild, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: gw, sectionName: wild}]
  hostnames: ["*.example.com", other.test]
  rules: [{backendRefs: [{name: tls1, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: deep}
spec:
  parentRefs: [{name: gw}]
  hostnames: ["*.b.example.com", shop.example.com, shop.test]
  rules: [{backendRefs: [{name: tls2, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: young, creationTimestamp: "2026-02-02T00:00:00Z"}
spec:
  parentRefs: [{name: gw, sectionName: wild}]
  hostnames: ["*.example.com"]
  rules: [{backendRefs: [{name: tls2, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: broken}
spec:
  parentRefs: [{name: gw, sectionName: any}]
  hostnames: [missing.test]
  rules: [{backendRefs: [{name: missing, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: empty}
spec:
  parentRefs: [{name: gw, sectionName: any}]
  hostnames: [empty.test]
  rules: [{backendRefs: [{name: none, port: 8080}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: stranger}
spec:
  parentRefs: [{name: gw, sectionName: shop}]
  hostnames: [x.example.com]
  rules: [{backendRefs: [{name: tls1, port: 80}]}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: http}
spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: tls1, port: 80}]}]}
`

// TestGatewayPassthrough has HAProxy hand TLS connections on by the server name.
func TestGatewayPassthrough(t *testing.T) {
	t.Parallel()
	onAllVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.tlsSlots = freeSlots(t)
		first, second := b.tlsSlots.First, b.tlsSlots.First+1
		b.cluster.slots = map[int32]int32{443: int32(first), 8443: int32(second)}
		b.start()
		b.applyStreams(t, "gw", map[string]streamService{"tls1": {"198.18.250.207", 80, true}, "tls2": {"198.18.250.208", 80, true}}, passthroughGateway+"---"+passthroughRoutes)
		one, two, closed := stream{"tls1", "tls1"}, stream{"tls2", "tls2"}, stream{}
		for _, test := range []struct {
			slot int
			name string
			want stream
		}{
			{first, "a.example.com", one}, // the older route
			{first, "A.Example.Com", one},
			{first, "x.a.example.com", one},
			{first, "x.b.example.com", two}, // the longer wildcard
			{first, "x.y.b.example.com", two},
			{first, "b.example.com", one},
			{first, "shop.example.com", two},
			{first, "example.com", closed},
			{first, "other.test", closed}, // no hostname of the listener
			{first, "shop.test", closed},
			{first, "-", closed},
			{second, "shop.test", two},
			{second, "shop.example.com", two},
			{second, "a.example.com", closed}, // a route of another listener
			{second, "missing.test", closed},
			{second, "empty.test", closed},
			{second, "shop.test/x", closed},
			{second, "*", closed},
			{second, "+", closed},
		} {
			b.expectStream(test.slot, test.name, test.want)
		}
		if res := (&request{method: "GET", host: "shop.test", target: "/"}).do(second, second); res.err == nil {
			t.Error("a connection without TLS had an answer")
		}
		for route, want := range map[string]string{"wild": "True Accepted", "stranger": "False NoMatchingListenerHostname"} {
			b.expectParent(t, model.Object{Kind: gateway.KindTLSRoute, Namespace: "gw", Name: route}, "Accepted", want)
		}
		b.expectParent(t, model.Object{Kind: gateway.KindTLSRoute, Namespace: "gw", Name: "broken"}, "ResolvedRefs", "False BackendNotFound")
		b.expectParent(t, model.Object{Kind: gateway.KindHTTPRoute, Namespace: "gw", Name: "http"}, "Accepted", "False NotAllowedByListeners")

		b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindTLSRoute, Namespace: "gw", Name: "wild"}}})
		b.expectStream(first, "a.example.com", two) // the younger route
		b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindGateway, Namespace: "gw", Name: "gw"}}})
		b.expectStream(first, "shop.example.com", closed)
		if b.caps.DynamicBackends && b.reloads() != 0 {
			t.Errorf("%d reloads", b.reloads())
		}
	})
}

// expectParent waits for a condition of the first parentRef of a route.
func (b *bed) expectParent(t *testing.T, route model.Object, kind, want string) {
	t.Helper()
	b.eventually(route.String()+" has "+kind+" "+want, func() error {
		st, _ := b.statusOf(route)
		for _, p := range st.Parents {
			for _, c := range p.Conditions {
				if is := map[bool]string{true: "True ", false: "False "}[c.True] + c.Reason; c.Type == kind && is == want {
					return nil
				}
			}
		}
		return fmt.Errorf("%+v", st.Parents)
	})
}
