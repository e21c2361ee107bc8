package cases

import (
	"crypto/tls"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const mixedGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: wild, port: 443, protocol: TLS, hostname: "*.example.com", tls: {certificateRefs: [{name: wild}]}}
  - {name: pass, port: 443, protocol: TLS, hostname: pass.example.com, tls: {mode: Passthrough}}
  - {name: shop, port: 443, protocol: TLS, hostname: shop.example.com, tls: {mode: Terminate, certificateRefs: [{name: shop}]}}
  - {name: later, port: 443, protocol: TLS, hostname: later.test, tls: {certificateRefs: [{name: later}]}}
  - {name: any, port: 8443, protocol: TLS, tls: {certificateRefs: [{name: any}]}}
---
kind: TLSRoute
metadata: {namespace: gw, name: plain}
spec:
  parentRefs: [{name: gw, sectionName: wild}, {name: gw, sectionName: shop}, {name: gw, sectionName: later}]
  hostnames: ["*.example.com", later.test]
  rules: [{backendRefs: [{name: tcp1, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: pass}
spec:
  parentRefs: [{name: gw, sectionName: pass}]
  hostnames: [pass.example.com]
  rules: [{backendRefs: [{name: tls1, port: 80}]}]
---
kind: TLSRoute
metadata: {namespace: gw, name: weights}
spec:
  parentRefs: [{name: gw, port: 8443}]
  hostnames: [any.test]
  rules: [{backendRefs: [{name: tcp1, port: 80}, {name: tcp2, port: 80}, {name: missing, port: 80}]}]
`

// TestGatewayTerminate has HAProxy end TLS of some listeners of a port and hand on what comes in by
// others.
func TestGatewayTerminate(t *testing.T) {
	t.Parallel()
	onAllVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.tlsSlots = freeSlots(t)
		first, second := b.tlsSlots.First, b.tlsSlots.First+1
		b.cluster.slots = map[int32]int32{443: int32(first), 8443: int32(second)}
		b.start()
		objects := []string{mixedGateway}
		for name, common := range map[string]string{"wild": "wild", "shop": "rsa/shop", "any": "any"} {
			objects = append(objects, tlsSecret(t, "gw", name, common))
		}
		b.applyStreams(t, "gw", map[string]streamService{
			"tcp1": {address: "198.18.250.217", port: 80}, "tcp2": {address: "198.18.250.218", port: 80}, "tls1": {"198.18.250.219", 80, true},
		}, strings.Join(objects, "---\n"))
		b.expectStream(first, "a.example.com", stream{"tcp1", "wild"})
		b.expectStream(first, "x.a.example.com", stream{}) // certificates have one label for a wildcard
		b.expectStream(first, "shop.example.com", stream{"tcp1", "rsa/shop"})
		b.expectStream(first, "pass.example.com", stream{"tls1", "tls1"})
		b.expectStream(first, "later.test", stream{}) // no certificate
		b.expectStream(first, "other.test", stream{})
		b.expectStream(first, "-", stream{})
		b.expectStream(second, "any.test", stream{"tcp1", "any"})
		b.expectStream(second, "any.test", stream{"tcp2", "any"})
		b.expectStream(second, "any.test", stream{shown: "any"}) // the share that is not valid
		b.expectStream(second, "other.test", stream{shown: "any"})
		b.expectListener(t, "shop", "Programmed", "True Programmed")
		b.expectListener(t, "later", "Programmed", "False Invalid")

		put := func(text string) { b.cluster.apply(parseStep(t, map[string]string{"in.yaml": text})) }
		put(tlsSecret(t, "gw", "later", "later"))
		b.expectStream(first, "later.test", stream{"tcp1", "later"})
		put(tlsSecret(t, "gw", "shop", "shop renewed"))
		b.expectStream(first, "shop.example.com", stream{"tcp1", "shop renewed"})
		b.cluster.apply(change{del: []model.Object{{Kind: door.KindSecret, Namespace: "gw", Name: "later"}}})
		b.expectStream(first, "later.test", stream{})
		b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindTLSRoute, Namespace: "gw", Name: "pass"}}})
		b.expectStream(first, "pass.example.com", stream{})
		if b.caps.DynamicBackends && b.reloads() != 0 {
			t.Errorf("%d reloads", b.reloads())
		}
		if strings.Contains(b.log.String(), "PRIVATE KEY") {
			t.Error("the log has a private key")
		}
	})
}

// TestTerminateClientTLS: where an IngressController asks all clients for certificates, listeners
// that end TLS ask, too, and take the subjects that it names.
func TestTerminateClientTLS(t *testing.T) {
	t.Parallel()
	onAllVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.tlsSlots = freeSlots(t)
		b.cluster.slots = map[int32]int32{443: int32(b.tlsSlots.First)}
		b.flags.ClientCA = pki().ca(t, "ca").certPEM
		ic := &operatorv1.IngressController{}
		ic.Spec.ClientTLS = operatorv1.ClientTLS{ClientCertificatePolicy: operatorv1.ClientCertificatePolicyRequired, AllowedSubjectPatterns: []string{"^/CN=staff$"}}
		ic.Spec.ClientTLS.ClientCA.Name = "ca"
		b.controller.Store(ic)
		b.start()
		b.applyStreams(t, "gw", map[string]streamService{"tcp1": {address: "198.18.250.217", port: 80}}, `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec: {gatewayClassName: fairlead, listeners: [{name: a, port: 443, protocol: TLS, tls: {certificateRefs: [{name: a}]}}]}
---
kind: TLSRoute
metadata: {namespace: gw, name: a}
spec: {parentRefs: [{name: gw}], hostnames: [a.test], rules: [{backendRefs: [{name: tcp1, port: 80}]}]}
---
`+tlsSecret(t, "gw", "a", "a"))
		staff, guest := pki().leaf(t, "staff").servable, pki().leaf(t, "guest").servable
		b.expectStream(b.tlsSlots.First, "a.test", stream{pod: "tcp1", shown: "a"}, staff)
		for _, refused := range [][]tls.Certificate{nil, {guest}} {
			if got, err := openStream(b.tlsSlots.First, "a.test", refused...); err == nil || got.pod != "" {
				t.Errorf("%d certificates of no allowed client: %+v", len(refused), got)
			}
		}
	})
}

// TestGatewayTerminateSessions: no TLS session of a time when a port asked clients for nothing, or
// for certificates of other authorities, is resumed after it asks.
func TestGatewayTerminateSessions(t *testing.T) {
	t.Parallel()
	onAllVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.tlsSlots = freeSlots(t)
		slot := b.tlsSlots.First
		b.cluster.slots = map[int32]int32{443: int32(slot)}
		b.start()
		asks := func(what string) string {
			return "kind: Gateway\nmetadata: {namespace: gw, name: gw, uid: g}\nspec: {gatewayClassName: fairlead, " + what +
				"listeners: [{name: a, port: 443, protocol: TLS, tls: {certificateRefs: [{name: a}]}}]}\n"
		}
		const demand = "tls: {frontend: {default: {validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: clients}]}}}}, "
		authority := func(name string) string {
			return "---\nkind: ConfigMap\nmetadata: {namespace: gw, name: clients}\ndata: {ca.crt: ${ca " + name + "}}\n"
		}
		b.applyStreams(t, "gw", map[string]streamService{"tcp1": {address: "198.18.250.217", port: 80}}, asks("")+`---
kind: TLSRoute
metadata: {namespace: gw, name: a}
spec: {parentRefs: [{name: gw}], hostnames: [a.test], rules: [{backendRefs: [{name: tcp1, port: 80}]}]}
---
`+tlsSecret(t, "gw", "a", "a"))
		served := stream{pod: "tcp1", shown: "a"}
		b.expectStream(slot, "a.test", served)
		// begin keeps sessions of connections that are served, one for each version of TLS.
		begin := func(own ...tls.Certificate) (all []*tls.Config) {
			for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				session := &oneSession{}
				c := &tls.Config{MinVersion: v, MaxVersion: v, Certificates: own, ClientSessionCache: session}
				if got, err := openStreamAs(slot, "a.test", c); err != nil || got != served {
					t.Fatalf("TLS %x: %+v, %v", v, got, err)
				}
				if session.last == nil && b.caps.BoundSessions {
					t.Errorf("TLS %x: no session", v)
				}
				session.frozen = true
				all = append(all, c)
			}
			return all
		}
		refused := func(all []*tls.Config) {
			t.Helper()
			for _, c := range all {
				if got, err := openStreamAs(slot, "a.test", c); err == nil {
					t.Errorf("TLS %x: a session of before opens the port: %+v", c.MinVersion, got)
				}
			}
		}
		own := func(name, authority string) tls.Certificate {
			pki().ca(t, authority)
			c, err := pki().client(name + "@" + authority)
			if err != nil {
				t.Fatal(err)
			}
			return *c
		}
		alice, dora := own("alice", "client-a"), own("dora", "client-c")
		unasked := begin()
		b.apply(objectsChange(t, asks(demand)+authority("client-a")))
		b.expectStream(slot, "a.test", stream{shown: "a"})
		b.expectStream(slot, "a.test", served, alice)
		refused(unasked)
		asked := begin(alice)
		b.apply(objectsChange(t, authority("client-c")))
		b.expectStream(slot, "a.test", served, dora)
		refused(asked)
	})
}
