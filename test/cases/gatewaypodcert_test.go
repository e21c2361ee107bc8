package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// askingPods let in clients of the authority "ca" only; the others ask for nothing.
const askingPods = `
gw/asks https=8453 asks@198.18.250.221
gw/free https=8443 free@198.18.250.222
gw/plain http=8080 plain@198.18.250.223
`

// showingGateways have a port each, and a route together.
const showingGateways = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  tls: {backend: {clientCertificateRef: {name: own}}}
  listeners: [{name: any, port: 80, protocol: HTTP}]
---
kind: Gateway
metadata: {namespace: gw, name: bare, uid: h}
spec:
  gatewayClassName: fairlead
  listeners: [{name: any, port: 8080, protocol: HTTP}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: tls}
spec:
  parentRefs: [{name: gw}, {name: bare}]
  rules:
  - matches: [{path: {value: /asks}}]
    backendRefs: [{name: asks, port: 8453}]
  - matches: [{path: {value: /free}}]
    backendRefs: [{name: free, port: 8443}]
  - matches: [{path: {value: /plain}}]
    backendRefs: [{name: plain, port: 8080}]
  - matches: [{path: {value: /both}}]
    backendRefs: [{name: plain, port: 8080}, {name: asks, port: 8453}]
---
`

// TestGatewayPodCertificate: pods that are verified are shown the certificate of the Gateway by
// which a request came in, and get nothing where that cannot be used.
func TestGatewayPodCertificate(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.slots = freeSlots(t)
		b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8080: int32(b.slots.First + 1)}
		b.start()
		join := func(parts ...string) string { return strings.Join(parts, "\n---\n") }
		put := func(parts ...string) {
			t.Helper()
			b.applyWithPods(parseStep(t, map[string]string{"in.yaml": join(parts...)}))
		}
		// asked is what the pod says of the certificate, after the status.
		expect := func(port int32, path, want string) {
			t.Helper()
			b.eventually(fmt.Sprint(port, " ", path, " is ", want), func() error {
				res := (&request{method: "GET", host: "h.test", target: path}).do(int(b.cluster.slots[port]), 0)
				got := fmt.Sprint(res.status)
				if res.pod != nil {
					got += " " + res.pod.Client
				}
				if strings.TrimSpace(got) != want {
					return fmt.Errorf("%s: %w", got, res.err)
				}
				return nil
			})
		}
		resolved := func(want string) {
			t.Helper()
			b.eventually("the Gateway is "+want, func() error {
				st, _ := b.statusOf(model.Object{Kind: gateway.KindGateway, Namespace: "gw", Name: "gw"})
				got := ""
				for _, c := range st.Conditions {
					got += fmt.Sprint(c.Type, " ", c.True, " ", c.Reason)
				}
				if got != want {
					return fmt.Errorf("the conditions are %q, want %q", got, want)
				}
				return nil
			})
		}
		gateways := showingGateways[:len(showingGateways)-len("---\n")]
		b.applyWithPods(parseStep(t, map[string]string{"services": askingPods, "in.yaml": join(gateways, tlsSecret(t, "gw", "own", "shown-one"),
			caMap(t, "good", "ca"), tlsPolicyText("asks", "asks", "good", "any.test", ""), tlsPolicyText("free", "free", "good", "any.test", ""))}))
		expect(80, "/asks", "200 shown-one")
		expect(80, "/plain", "200")
		expect(80, "/free", "200")
		expect(8080, "/free", "200")
		expect(8080, "/asks", "502") // the handshake of the pod fails
		expect(8080, "/plain", "200")
		expect(80, "/both", "200")
		expect(80, "/both", "200 shown-one")
		resolved("ResolvedRefs true ResolvedRefs")
		before := b.reloads()

		put(tlsSecret(t, "gw", "own", "shown-two"))
		expect(80, "/asks", "200 shown-two")
		b.cluster.apply(change{del: []model.Object{{Kind: door.KindSecret, Namespace: "gw", Name: "own"}}})
		resolved("ResolvedRefs false InvalidClientCertificateRef")
		expect(80, "/asks", "500")
		expect(80, "/free", "500")
		expect(80, "/plain", "200")
		expect(80, "/both", "200")
		expect(80, "/both", "500")
		expect(8080, "/free", "200") // of the other Gateway
		put("kind: Secret\nmetadata: {namespace: gw, name: own}\ntype: Opaque\ndata: {}")
		resolved("ResolvedRefs false InvalidClientCertificateRef")
		put(tlsSecret(t, "gw", "own", "shown-three"))
		expect(80, "/asks", "200 shown-three")

		put(strings.Replace(gateways, "{name: own}", "{name: far, namespace: other}", 1), tlsSecret(t, "other", "far", "shown-far"))
		resolved("ResolvedRefs false RefNotPermitted")
		expect(80, "/asks", "500")
		put(secretGrant)
		resolved("ResolvedRefs true ResolvedRefs")
		expect(80, "/asks", "200 shown-far")
		put(strings.Replace(gateways, "{name: own}", "{name: own, kind: ConfigMap}", 1))
		resolved("ResolvedRefs false InvalidClientCertificateRef")
		put(strings.Replace(gateways, "tls: {backend: {clientCertificateRef: {name: own}}}", "", 1))
		resolved("ResolvedRefs true ResolvedRefs")
		expect(80, "/free", "200")
		if n := b.reloads() - before; n > 0 && b.caps.DynamicBackends {
			t.Errorf("%d reloads", n)
		}
		if strings.Contains(b.log.String(), "PRIVATE KEY") {
			t.Error("the log has a private key")
		}
	})
}
