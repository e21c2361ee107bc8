package cases

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const secureGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: plain, port: 80, protocol: HTTP}
  - {name: any, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: any}, {name: any-rsa}]}}
  - {name: wild, port: 8443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: wild}]}}
  - {name: shop, port: 8443, protocol: HTTPS, hostname: shop.example.com, tls: {certificateRefs: [{name: shop}]}}
  - {name: far, port: 8443, protocol: HTTPS, hostname: far.test, tls: {certificateRefs: [{name: far, namespace: other}]}}
  - {name: broken, port: 8443, protocol: HTTPS, hostname: broken.test, tls: {certificateRefs: [{name: broken}]}}
  - {name: missing, port: 8443, protocol: HTTPS, hostname: missing.test, tls: {certificateRefs: [{name: missing}]}}
  - {name: half, port: 8443, protocol: HTTPS, hostname: half.test, tls: {certificateRefs: [{name: missing}, {name: half}]}}
---
kind: HTTPRoute
metadata: {namespace: gw, name: all}
spec:
  parentRefs: [{name: gw}]
  rules:
  - backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /moved}}]
    filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /there}}}]
`

const secretGrant = `
kind: ReferenceGrant
metadata: {namespace: other, name: keys}
spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: gw}], to: [{group: "", kind: Secret, name: far}]}
`

// tlsSecret is a Secret with the certificate of that common name.
func tlsSecret(t *testing.T, namespace, name, common string) string {
	t.Helper()
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	pair := pki().leaf(t, common)
	return fmt.Sprintf("kind: Secret\nmetadata: {namespace: %s, name: %s}\ntype: kubernetes.io/tls\ndata: {tls.crt: %s, tls.key: %s}\n", namespace, name, encode(pair.certPEM), encode(pair.keyPEM))
}

// TestGatewayTLS has HAProxy serve listeners of HTTPS: Secrets come, go, change and hold
// nonsense, without a reload.
func TestGatewayTLS(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.slots, b.secureSlots = freeSlots(t), freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8443: int32(b.secureSlots.First)}
	b.start()
	objects := []string{secureGateway}
	for name, common := range map[string]string{"any": "any", "any-rsa": "rsa/any", "wild": "wild", "shop": "rsa/shop", "half": "half"} {
		objects = append(objects, tlsSecret(t, "gw", name, common))
	}
	objects = append(objects, tlsSecret(t, "other", "far", "far"), "kind: Secret\nmetadata: {namespace: gw, name: broken}\ntype: kubernetes.io/tls\ndata: {tls.crt: eHg=, tls.key: eHg=}\n")
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": strings.Join(objects, "---\n")}))
	put := func(text string) { b.cluster.apply(parseStep(t, map[string]string{"in.yaml": text})) }

	b.expectShown(t, "shop.example.com", "rsa/shop", 200)
	b.expectShown(t, "www.example.com", "wild", 200)
	b.expectShown(t, "unknown.test", "any", 200)
	b.expectShown(t, "-", "any", 200)
	b.expectShown(t, "half.test", "half", 200)
	for _, name := range []string{"far.test", "broken.test", "missing.test"} {
		b.expectShown(t, name, "any", 200) // that of the listener for all others
	}
	b.expectListener(t, "any", "ResolvedRefs", "True ResolvedRefs")
	b.expectListener(t, "any", "Programmed", "True Programmed")
	b.expectListener(t, "far", "ResolvedRefs", "False RefNotPermitted")
	b.expectListener(t, "far", "Programmed", "False Invalid")
	b.expectListener(t, "broken", "ResolvedRefs", "False InvalidCertificateRef")
	b.expectListener(t, "missing", "ResolvedRefs", "False InvalidCertificateRef")
	b.expectListener(t, "missing", "Programmed", "False Invalid")
	b.expectListener(t, "missing", "Accepted", "True Accepted")
	b.expectListener(t, "half", "ResolvedRefs", "False InvalidCertificateRef")
	b.expectListener(t, "half", "Programmed", "True Programmed")

	r := request{method: "GET", tls: true, host: "www.example.com:8443", target: "/moved", sni: "www.example.com"}
	if res := r.do(0, b.secureSlots.First); res.header.Get("Location") != "https://www.example.com:8443/there" {
		t.Errorf("redirected to %q", res.header.Get("Location"))
	}
	r = request{method: "GET", tls: true, host: "shop.example.com", target: "/", sni: "www.example.com", alpn: []string{"h2"}}
	if res := r.do(0, b.secureSlots.First); res.status != 421 {
		t.Errorf("a host of another listener has status %d: %v", res.status, res.err)
	}
	b.expectListener(t, "shop", "OverlappingTLSConfig", "True OverlappingCertificates") // their names include any.test

	put(secretGrant)
	b.expectShown(t, "far.test", "far", 200)
	b.expectListener(t, "far", "Programmed", "True Programmed")
	b.cluster.apply(change{del: []model.Object{{Kind: door.KindGrants, Namespace: "other", Name: "keys"}}})
	b.expectShown(t, "far.test", "any", 200)
	put(tlsSecret(t, "gw", "shop", "shop renewed"))
	b.expectShown(t, "shop.example.com", "shop renewed", 200)
	put("kind: Secret\nmetadata: {namespace: gw, name: shop}\ntype: kubernetes.io/tls\ndata: {tls.crt: eHg=, tls.key: eHg=}\n")
	b.expectListener(t, "shop", "ResolvedRefs", "False InvalidCertificateRef")
	b.expectShown(t, "shop.example.com", "shop renewed", 200) // the last good one
	b.cluster.apply(change{del: []model.Object{{Kind: door.KindSecret, Namespace: "gw", Name: "shop"}}})
	b.expectShown(t, "shop.example.com", "wild", 200)
	put(tlsSecret(t, "gw", "missing", "ed25519/found"))
	b.expectShown(t, "missing.test", "ed25519/found", 200)
	put(tlsSecret(t, "gw", "any", "ed25519/any")) // which cannot be shown without a name
	b.expectListener(t, "any", "ResolvedRefs", "False InvalidCertificateRef")
	b.expectShown(t, "-", "rsa/any", 200)
	b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindGateway, Namespace: "gw", Name: "gw"}}})
	b.eventually("no handshake succeeds", func() error {
		if res := (&request{method: "GET", tls: true, host: "x", target: "/", sni: "www.example.com"}).do(0, b.secureSlots.First); res.cert != "" {
			return fmt.Errorf("shown %s", res.cert)
		}
		return nil
	})
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
	if strings.Contains(b.log.String(), "PRIVATE KEY") {
		t.Error("the log has a private key")
	}
}

// expectShown asks with a server name until the answer and the certificate are as they
// should be.
func (b *bed) expectShown(t *testing.T, name, common string, status int) {
	t.Helper()
	host := name
	if name == "-" {
		host = "unknown.test"
	}
	r := request{method: "GET", tls: true, host: host, target: "/", sni: name}
	b.eventually(fmt.Sprintf("%s is shown %q", name, common), func() error {
		if res := r.do(0, b.secureSlots.First); res.cert != common || res.status != status {
			return fmt.Errorf("shown %q, status %d: %w", res.cert, res.status, res.err)
		}
		return nil
	})
}

// expectListener waits for a condition of a listener of Gateway gw/gw.
func (b *bed) expectListener(t *testing.T, listener, kind, want string) {
	t.Helper()
	b.eventually(listener+" has "+kind+" "+want, func() error {
		st, _ := b.statusOf(model.Object{Kind: gateway.KindGateway, Namespace: "gw", Name: "gw"})
		for _, l := range st.Listeners {
			for _, c := range l.Conditions {
				if is := map[bool]string{true: "True ", false: "False "}[c.True] + c.Reason; l.Name == listener && c.Type == kind && is == want {
					return nil
				}
			}
		}
		return fmt.Errorf("%+v", st.Listeners)
	})
}
