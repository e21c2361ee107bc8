package cases

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/settings"
)

const verifiedStreams = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: pass, port: 443, protocol: TLS, hostname: pass.test, tls: {mode: Passthrough}}
  - {name: shop, port: 443, protocol: TLS, hostname: shop.test, tls: {certificateRefs: [{name: shop}]}}
---
kind: TLSRoute
metadata: {namespace: gw, name: all}
spec:
  parentRefs: [{name: gw}]
  hostnames: [pass.test, shop.test]
  rules: [{backendRefs: [{name: tls1, port: 80}]}]
`

// TestTerminateUpstreamTLS: what was within TLS that the router ends goes to pods as a
// BackendTLSPolicy says, verified and encrypted, or not at all; what is handed on as it came is not
// touched.
func TestTerminateUpstreamTLS(t *testing.T) {
	t.Parallel()
	onAllVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.tlsSlots = freeSlots(t)
		system, err := certificate.SystemCA(pki().ca(t, "ca").certPEM)
		if err != nil {
			t.Fatal(err)
		}
		b.adjust = func(s *settings.Settings) { s.Ingest.SystemCA = system }
		slot := b.tlsSlots.First
		b.cluster.slots = map[int32]int32{443: int32(slot)}
		b.start()
		put := func(texts ...string) {
			b.cluster.apply(parseStep(t, map[string]string{"in.yaml": strings.Join(texts, "\n---\n")}))
		}
		closed, verified := stream{shown: "shop"}, stream{"tls1", "shop"}
		b.applyStreams(t, "gw", map[string]streamService{"tls1": {"198.18.250.236", 80, true}, "plain": {address: "198.18.250.237", port: 80}}, verifiedStreams+"---\n"+tlsSecret(t, "gw", "shop", "shop"))
		b.expectStream(slot, "pass.test", stream{"tls1", "tls1"})
		put(caMap(t, "good", "ca"), caMap(t, "strange", "other"), tlsPolicyText("tls", "tls1", "good", "any.test", ""))
		b.expectStream(slot, "shop.test", verified)
		b.expectStream(slot, "pass.test", stream{"tls1", "tls1"})
		for what, policy := range map[string]string{
			"another authority":   tlsPolicyText("tls", "tls1", "strange", "any.test", ""),
			"another name":        tlsPolicyText("tls", "tls1", "good", "other.test", ""),
			"no such ConfigMap":   tlsPolicyText("tls", "tls1", "missing", "any.test", ""),
			"an unknown option":   tlsPolicyText("tls", "tls1", "good", "any.test", "") + "  options: {example.com/x: y}\n",
			"no name that can be": tlsPolicyText("tls", "tls1", "good", "'*.test'", ""),
		} {
			t.Log(what)
			put(policy)
			b.expectStream(slot, "shop.test", closed)
			b.expectStream(slot, "pass.test", stream{"tls1", "tls1"})
			put(tlsPolicyText("tls", "tls1", "good", "any.test", ""))
			b.expectStream(slot, "shop.test", verified)
		}
		put(strings.Replace(tlsPolicyText("tls", "tls1", "good", "any.test", ""), "    caCertificateRefs: [{group: \"\", kind: ConfigMap, name: good}]\n", "    wellKnownCACertificates: System\n", 1))
		b.expectStream(slot, "shop.test", verified)
		// A pod without TLS gets nothing where TLS is wanted.
		put(tlsPolicyText("plain", "plain", "good", "any.test", ""), strings.Replace(verifiedStreams, "name: tls1", "name: plain", 1))
		b.expectStream(slot, "shop.test", closed)
		b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindBackendTLSPolicy, Namespace: "gw", Name: "plain"}}})
		b.expectStream(slot, "shop.test", stream{"plain", "shop"})
		if b.caps.DynamicBackends && b.reloads() != 0 {
			t.Errorf("%d reloads", b.reloads())
		}
	})
}
