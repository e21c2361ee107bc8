package cases

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"golang.org/x/net/http2"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// askingGateway asks clients for certificates: for others at one port than by default, for
// none at another, and at one for any.
const askingGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  tls:
    frontend:
      default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: a}]}}
      perPort:
      - {port: 8444, tls: {validation: {mode: AllowValidOnly, caCertificateRefs: [{group: "", kind: ConfigMap, name: b}, {group: "", kind: ConfigMap, name: none}]}}}
      - {port: 8445, tls: {}}
      - {port: 9443, tls: {validation: {mode: AllowInsecureFallback, caCertificateRefs: [{group: "", kind: ConfigMap, name: a}]}}}
  listeners:
  - {name: plain, port: 80, protocol: HTTP}
  - {name: any, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: any}]}}
  - {name: shop, port: 8443, protocol: HTTPS, hostname: shop.test, tls: {certificateRefs: [{name: any}]}}
  - {name: other, port: 8444, protocol: HTTPS, tls: {certificateRefs: [{name: any}]}}
  - {name: free, port: 8445, protocol: HTTPS, tls: {certificateRefs: [{name: any}]}}
  - {name: open, port: 9443, protocol: HTTPS, tls: {certificateRefs: [{name: any}]}}
---
kind: HTTPRoute
metadata: {namespace: gw, name: all}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{name: one, port: 8080}]}]
---
kind: ConfigMap
metadata: {namespace: gw, name: a}
data: {ca.crt: ${ca client-a}}
---
kind: ConfigMap
metadata: {namespace: gw, name: b}
data: {ca.crt: ${ca client-b}}
`

// askingBed serves askingGateway.
func askingBed(t *testing.T, version string) *bed {
	t.Helper()
	b := newBed(t, version, newMemory())
	b.slots, b.secureSlots, b.fallbackSlots = freeSlots(t), freeSlots(t), freeSlots(t)
	first := int32(b.secureSlots.First)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8443: first, 8444: first + 1, 8445: first + 2, 9443: int32(b.fallbackSlots.First)}
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": tlsSecret(t, "gw", "any", "any")}))
	b.apply(objectsChange(t, askingGateway))
	return b
}

// expectAtPort waits for the answer of a line at a port of the Gateway.
func (b *bed) expectAtPort(t *testing.T, port int32, line string) {
	t.Helper()
	e, err := parseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	b.eventually(fmt.Sprint(port, " ", line), func() error {
		return e.check(e.request.do(b.slots.First, int(b.cluster.slots[port])), "", nil)
	})
}

// askedLines are what the ports answer.
var askedLines = map[int32][]string{
	8443: {
		"GET https://any.test/ as=alice@client-a -> 200 seen:X-Ssl-Client-Cn=alice seen:X-Ssl-Client-Verify=0 seen:Ssl-Client-Verify=SUCCESS seen:Ssl-Client-Subject-Dn=CN=alice",
		"GET https://shop.test/ as=alice@client-a alpn=h2 -> 200 seen:X-Ssl-Client-Cn=alice",
		"GET https://any.test/ as=carol@middle@client-a -> 200 seen:X-Ssl-Client-Cn=carol",
		"GET https://any.test/ as=alice@client-a h:X-SSL-Client-CN=root h:X_SSL_Client_CN=root h:ssl-client-verify=root -> 200 seen:X-Ssl-Client-Cn=alice seen:X_ssl_client_cn= seen:Ssl-Client-Verify=SUCCESS",
		"GET https://any.test/ -> closed",
		"GET https://any.test/ sni=- -> closed",
		"GET https://shop.test/ -> closed",
		"GET https://any.test/ as=mallory@client-b -> closed",
		"GET https://any.test/ as=expired@client-a -> closed",
		"GET https://any.test/ as=carol@middle@client-b -> closed",
	},
	8444: {
		"GET https://any.test/ as=bob@client-b -> 200 seen:X-Ssl-Client-Cn=bob",
		"GET https://any.test/ as=alice@client-a -> closed",
		"GET https://any.test/ -> closed",
	},
	8445: {
		"GET https://any.test/ h:ssl-client-verify=any -> 200 seen:X-Ssl-Client-Cn=",
	},
	9443: {
		"GET https://any.test/ -> 200 seen:Ssl-Client-Verify=NONE seen:X-Ssl-Client-Cn=",
		"GET https://any.test/ h:X-SSL-Client-CN=root h:ssl-client-verify=SUCCESS -> 200 seen:Ssl-Client-Verify=NONE seen:X-Ssl-Client-Cn=",
		"GET https://any.test/ as=alice@client-a -> 200 seen:Ssl-Client-Verify=SUCCESS seen:X-Ssl-Client-Cn=alice seen:X-Ssl-Client-Verify=0",
		"GET https://any.test/ as=mallory@client-b -> 200 seen:Ssl-Client-Verify=FAILED seen:X-Ssl-Client-Cn=mallory",
		"GET https://any.test/ as=expired@client-a -> 200 seen:Ssl-Client-Verify=FAILED",
	},
}

// TestGatewayClientCertificates: each port asks clients for what the Gateway says of it, and
// closes where that cannot be verified; nothing of it needs a reload.
func TestGatewayClientCertificates(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := askingBed(t, version)
		b.expectListener(t, "any", "Programmed", "True Programmed")
		b.expectListener(t, "other", "Programmed", "True Programmed")
		b.expectListener(t, "other", "ResolvedRefs", "False InvalidCACertificateRef") // one of the two
		before := b.reloads()
		expect := func(ports ...int32) {
			t.Helper()
			for _, port := range ports {
				for _, line := range askedLines[port] {
					b.expectAtPort(t, port, line)
					b.expectAtPort(t, port, line) // again, after what it left
				}
			}
		}
		expect(8443, 8444, 8445, 9443)
		res := (&request{method: "GET", tls: true, host: "any.test", target: "/", sni: "any.test", cert: "ev\r\nX-Root: \"1\"@client-b"}).do(0, b.fallbackSlots.First)
		if res.pod == nil || res.pod.Header.Get("X-Root") != "" {
			t.Errorf("a name with a line break: %+v", res)
		}

		put := func(text string) { b.apply(objectsChange(t, text)) }
		closed := func(port int32, listener, reason string) {
			t.Helper()
			b.expectListener(t, listener, "ResolvedRefs", "False "+reason)
			b.expectListener(t, listener, "Accepted", "False NoValidCACertificate")
			b.expectListener(t, listener, "Programmed", "False Invalid")
			for _, as := range []string{"", " as=alice@client-a", " as=bob@client-b"} {
				b.expectAtPort(t, port, "GET https://any.test/"+as+" -> closed")
			}
		}
		b.apply(change{del: []model.Object{{Kind: door.KindConfigMap, Namespace: "gw", Name: "a"}}})
		closed(8443, "any", "InvalidCACertificateRef")
		closed(9443, "open", "InvalidCACertificateRef")
		expect(8444, 8445)
		put("kind: ConfigMap\nmetadata: {namespace: gw, name: a}\ndata: {ca.crt: nonsense}")
		closed(8443, "any", "InvalidCACertificateRef")
		put("kind: ConfigMap\nmetadata: {namespace: gw, name: a}\ndata: {ca.crt: ${ca client-a}}")
		expect(8443, 9443)
		if n := b.reloads() - before; n > 0 && b.caps.DynamicBackends {
			t.Errorf("%d reloads", n)
		}
		// All of it is in the files, too.
		b.stop()
		b.start()
		expect(8443, 8444, 8445, 9443)
	})
}

// openAt opens a connection of HTTP/2 and returns what sends requests over it.
func (b *bed) openAt(t *testing.T, port int, sni, as string) func() (int, error) {
	t.Helper()
	c := &tls.Config{InsecureSkipVerify: true, ServerName: sni, NextProtos: []string{"h2"}}
	if as != "" {
		own, err := pki().client(as)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{*own}
	}
	conn, err := b.dial("127.0.0.1", port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	open, err := (&http2.Transport{}).NewClientConn(tls.Client(conn, c)) //nolint:staticcheck // its successor dials by itself
	if err != nil {
		t.Fatal(err)
	}
	return func() (int, error) {
		req, err := http.NewRequest(http.MethodGet, "https://"+sni+"/", http.NoBody)
		if err != nil {
			return 0, err
		}
		res, err := open.RoundTrip(req)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
}

// TestGatewayClientCertificateRotation: authorities that are added, replaced or taken away
// count at once, for connections and TLS sessions of before, too.
func TestGatewayClientCertificateRotation(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := askingBed(t, version)
		port, free := int(b.cluster.slots[8443]), int(b.cluster.slots[8445])
		b.expectAtPort(t, 8443, "GET https://any.test/ as=alice@client-a -> 200")
		b.expectAtPort(t, 8445, "GET https://any.test/ -> 200")
		put := func(text string) { b.apply(objectsChange(t, text)) }
		answers := func(what string, ask func() (int, error), want int) {
			t.Helper()
			b.eventually(fmt.Sprint(what, " answers ", want), func() error {
				if status, err := ask(); err != nil || status != want {
					return fmt.Errorf("status %d, %w", status, err)
				}
				return nil
			})
		}
		sessions := map[uint16]*oneSession{tls.VersionTLS12: {}, tls.VersionTLS13: {}}
		for v, s := range sessions {
			if status, err := b.talkAt(port, "any.test", "alice@client-a", v, s); err != nil || status != 200 {
				t.Fatalf("TLS %x: %d, %v", v, status, err)
			}
			if s.last == nil && b.caps.BoundSessions {
				t.Errorf("TLS %x: no session", v)
			}
			s.frozen = true
		}
		open, unasked := b.openAt(t, port, "any.test", "alice@client-a"), b.openAt(t, free, "any.test", "")
		answers("the open connection", open, 200)
		answers("the connection that was asked for nothing", unasked, 200)

		put("kind: ConfigMap\nmetadata: {namespace: gw, name: a}\ndata: {ca.crt: ${ca client-c}}")
		answers("the open connection", open, 421)
		b.expectAtPort(t, 8443, "GET https://any.test/ as=dora@client-c -> 200")
		b.expectAtPort(t, 8443, "GET https://any.test/ as=alice@client-a -> closed")
		for v, s := range sessions {
			if status, err := b.talkAt(port, "any.test", "alice@client-a", v, s); err == nil && status == 200 {
				t.Errorf("TLS %x: a session of before opens the port after the authorities were replaced", v)
			}
		}
		put(demandAt8445(t))
		answers("the connection that was asked for nothing", unasked, 421)
		b.expectAtPort(t, 8445, "GET https://any.test/ -> closed")
		b.expectAtPort(t, 8445, "GET https://any.test/ as=bob@client-b -> 200")
	})
}

// demandAt8445 is the Gateway with a demand for certificates of client-b at that port.
func demandAt8445(t *testing.T) string {
	t.Helper()
	const before = "{port: 8445, tls: {}}"
	if !strings.Contains(askingGateway, before) {
		t.Fatal("the port is not there")
	}
	return strings.Replace(askingGateway, before, `{port: 8445, tls: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: b}]}}}`, 1)
}

// TestGatewayClientCertificatesOfAll: where the IngressController asks all clients for
// certificates, a Gateway cannot ask for others, and its listeners are closed.
func TestGatewayClientCertificatesOfAll(t *testing.T) {
	t.Parallel()
	b := settingsBed(t, "haproxy", func(b *bed) {
		b.controller.Store(&operatorv1.IngressController{Spec: operatorv1.IngressControllerSpec{ClientTLS: operatorv1.ClientTLS{ClientCertificatePolicy: operatorv1.ClientCertificatePolicyRequired}}})
		b.flags.ClientCA = pki().ca(t, "clients").certPEM
		b.slots, b.secureSlots, b.fallbackSlots = freeSlots(t), freeSlots(t), freeSlots(t)
		first := int32(b.secureSlots.First)
		b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8443: first, 8444: first + 1, 8445: first + 2, 9443: int32(b.fallbackSlots.First)}
	})
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": tlsSecret(t, "gw", "any", "any")}))
	b.apply(objectsChange(t, askingGateway))
	b.expectListener(t, "any", "Accepted", "False UnsupportedValue")
	b.expectListener(t, "open", "Accepted", "False UnsupportedValue")
	b.expectListener(t, "free", "Programmed", "True Programmed")
	b.expectAtPort(t, 8445, "GET https://any.test/ as=eve@clients -> 200")
	b.expectAtPort(t, 8445, "GET https://any.test/ -> closed")
	for _, port := range []int32{8443, 9443} {
		for _, as := range []string{"", " as=alice@client-a", " as=eve@clients"} {
			b.expectAtPort(t, port, "GET https://any.test/"+as+" -> closed")
		}
	}
}
