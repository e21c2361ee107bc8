package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// sharedGateway has listeners of HTTPS and of TLS at one port, and at another one a listener of
// HTTPS that has what no other listener has.
const sharedGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: wild, port: 443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: wild}]}}
  - {name: pass, port: 443, protocol: TLS, hostname: pass.example.com, tls: {mode: Passthrough}}
  - {name: deep, port: 443, protocol: TLS, hostname: "*.b.example.com", tls: {mode: Passthrough}}
  - {name: shop, port: 443, protocol: HTTPS, hostname: shop.b.example.com, tls: {certificateRefs: [{name: shop}]}}
  - {name: broker, port: 443, protocol: TLS, hostname: broker.example.com, tls: {certificateRefs: [{name: broker}]}}
  - {name: any, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: any}]}}
  - {name: some, port: 8443, protocol: TLS, hostname: pass.test, tls: {mode: Passthrough}}
  - {name: all, port: 9443, protocol: TLS, tls: {certificateRefs: [{name: any}]}}
  - {name: web, port: 9443, protocol: HTTPS, hostname: web.test, tls: {certificateRefs: [{name: any}]}}
---
kind: HTTPRoute
metadata: {namespace: gw, name: web}
spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: one, port: 8080}]}]}
---
kind: TLSRoute
metadata: {namespace: gw, name: pass}
spec:
  parentRefs: [{name: gw, sectionName: pass}, {name: gw, sectionName: deep}, {name: gw, sectionName: some}]
  hostnames: ["*.example.com", pass.test]
  rules: [{backendRefs: [{name: tls1, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: broker}
spec:
  parentRefs: [{name: gw, sectionName: broker}, {name: gw, sectionName: all}]
  hostnames: [broker.example.com, broker.test]
  rules: [{backendRefs: [{name: tcp1, port: 80}]}]
`

// sharedBed serves a Gateway whose ports 443, 8443 and 9443 have slots that sort.
func sharedBed(t *testing.T, version, objects string) *bed {
	t.Helper()
	b := newBed(t, version, newMemory())
	b.slots, b.tlsSlots = freeSlots(t), freeSlots(t)
	first := int32(b.tlsSlots.First)
	b.cluster.slots = map[int32]int32{443: first, 8443: first + 1, 9443: first + 2}
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices}))
	all := []string{objects}
	for name, common := range map[string]string{"wild": "wild", "shop": "rsa/shop", "broker": "broker", "any": "any"} {
		all = append(all, tlsSecret(t, "gw", name, common))
	}
	b.applyStreams(t, "gw", map[string]streamService{
		"tcp1": {address: "198.18.250.221", port: 80}, "tls1": {"198.18.250.222", 80, true},
	}, strings.Join(all, "---\n"))
	return b
}

// expectWeb waits for an answer at a port of the Gateway, with the certificate of a name.
func (b *bed) expectWeb(port int32, sni, host, shown string, status int) {
	b.t.Helper()
	r := request{method: "GET", tls: true, host: host, target: "/", sni: sni, alpn: []string{"h2", "http/1.1"}}
	b.eventually(fmt.Sprintf("port %d: %s over %s is shown %q", port, host, sni, shown), func() error {
		if res := r.do(0, int(b.cluster.slots[port])); res.cert != shown || res.status != status {
			return fmt.Errorf("shown %q, status %d: %w", res.cert, res.status, res.err)
		}
		return nil
	})
}

// TestGatewaySharedPort has one port serve requests of some hosts and hand on connections for
// others, as the most specific listener wants it, and changes that without a reload.
func TestGatewaySharedPort(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := sharedBed(t, version, sharedGateway)
		first, second, third := b.tlsSlots.First, b.tlsSlots.First+1, b.tlsSlots.First+2
		check := func() {
			t.Helper()
			b.expectWeb(443, "a.example.com", "a.example.com", "wild", 200)
			b.expectStream(first, "pass.example.com", stream{"tls1", "tls1"})
			b.expectStream(first, "x.b.example.com", stream{"tls1", "tls1"})
			b.expectWeb(443, "shop.b.example.com", "shop.b.example.com", "rsa/shop", 200)
			b.expectStream(first, "broker.example.com", stream{"tcp1", "broker"})
			b.expectStream(first, "other.test", stream{})
			b.expectStream(first, "-", stream{})
			b.expectStream(first, "", stream{}) // no TLS
			// Hosts of other listeners than that of the server name.
			for _, host := range []string{"pass.example.com", "x.b.example.com", "shop.b.example.com", "broker.example.com"} {
				b.expectWeb(443, "a.example.com", host, "wild", 421)
			}
			b.expectWeb(443, "a.example.com", "other.test", "wild", 404)
			// What no listener has a name for.
			b.expectWeb(8443, "-", "any.test", "any", 200)
			b.expectWeb(8443, "odd name!", "any.test", "any", 200)
			b.expectWeb(8443, "unknown.test", "any.test", "any", 200)
			b.expectWeb(8443, "unknown.test", "pass.test", "any", 421)
			b.expectStream(second, "pass.test", stream{"tls1", "tls1"})
			b.expectStream(third, "broker.test", stream{"tcp1", "any"})
			b.expectStream(third, "-", stream{})
			b.expectWeb(9443, "web.test", "web.test", "any", 200)
		}
		check()
		for _, l := range []string{"wild", "pass", "deep", "shop", "broker", "any", "some", "all", "web"} {
			b.expectListener(t, l, "Conflicted", "False NoConflicts")
			b.expectListener(t, l, "Programmed", "True Programmed")
		}
		before := b.reloads()
		b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindTLSRoute, Namespace: "gw", Name: "pass"}}})
		b.expectStream(first, "pass.example.com", stream{})
		b.expectWeb(443, "a.example.com", "a.example.com", "wild", 200)
		b.apply(objectsChange(t, sharedGateway))
		check()
		// A listener of TLS becomes one of HTTPS, and the reverse.
		b.apply(objectsChange(t, strings.Replace(sharedGateway, `broker, port: 443, protocol: TLS`, `broker, port: 443, protocol: HTTPS`, 1)))
		b.expectWeb(443, "broker.example.com", "broker.example.com", "broker", 200)
		b.apply(objectsChange(t, sharedGateway))
		check()
		if b.caps.DynamicBackends && b.reloads() != before {
			t.Errorf("%d reloads", b.reloads()-before)
		}
		b.stop() // All of it is in the files, too.
		b.start()
		check()
		if strings.Contains(b.log.String(), "PRIVATE KEY") {
			t.Error("the log has a private key")
		}
	})
}

// TestGatewaySharedPortClients: no server name of a listener of TLS opens a host of HTTPS to
// clients without a certificate, in whatever way it is asked for.
func TestGatewaySharedPortClients(t *testing.T) {
	t.Parallel()
	asking := strings.Replace(sharedGateway, "  listeners:\n", `  tls: {frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: a}]}}}}
  listeners:
`, 1) + "---\nkind: ConfigMap\nmetadata: {namespace: gw, name: a}\ndata: {ca.crt: ${ca client-a}}\n"
	onVersions(t, func(t *testing.T, version string) {
		b := sharedBed(t, version, sharedGateway)
		b.apply(objectsChange(t, asking))
		for _, line := range []string{
			"GET https://a.example.com/ as=alice@client-a alpn=h2 -> 200 seen:X-Ssl-Client-Cn=alice seen:X-Ssl-Client-Verify=0 seen:Ssl-Client-Verify=SUCCESS",
			"GET https://a.example.com/ -> closed",
			"GET https://a.example.com/ as=mallory@client-b -> closed",
			"GET https://shop.b.example.com/ sni=a.example.com as=alice@client-a -> 421",
			// The router ends TLS of the listener and asks there, too.
			"GET https://a.example.com/ sni=broker.example.com -> closed",
			"GET https://a.example.com/ sni=other.test -> closed",
			"GET https://a.example.com/ sni=- -> closed",
		} {
			b.expectAtPort(t, 443, line)
		}
		b.expectAtPort(t, 8443, "GET https://any.test/ sni=- as=alice@client-a -> 200 seen:X-Ssl-Client-Cn=alice")
		b.expectAtPort(t, 8443, "GET https://any.test/ sni=- -> closed")
		// With passthrough the pod has the connection, and no request comes to the other pods.
		for _, name := range []string{"pass.example.com", "x.b.example.com"} {
			b.expectStream(b.tlsSlots.First, name, stream{"tls1", "tls1"})
			res := (&request{method: "GET", tls: true, host: "a.example.com", target: "/", sni: name}).do(0, b.tlsSlots.First)
			if res.pod != nil || res.cert != "tls1" {
				t.Errorf("server name %s opens another listener's host: %+v", name, res)
			}
		}
		// Authorities that are replaced count for connections that are open.
		open := b.openAt(t, b.tlsSlots.First, "a.example.com", "alice@client-a")
		if status, err := open(); err != nil || status != 200 {
			t.Fatalf("status %d, %v", status, err)
		}
		b.apply(objectsChange(t, "kind: ConfigMap\nmetadata: {namespace: gw, name: a}\ndata: {ca.crt: ${ca client-c}}"))
		b.eventually("the open connection answers 421", func() error {
			if status, err := open(); err != nil || status != 421 {
				return fmt.Errorf("status %d, %w", status, err)
			}
			return nil
		})
		b.expectAtPort(t, 443, "GET https://a.example.com/ as=dora@client-c -> 200")
		b.expectAtPort(t, 443, "GET https://a.example.com/ as=alice@client-a -> closed")
	})
}
