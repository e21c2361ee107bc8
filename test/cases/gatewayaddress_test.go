package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const addressGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g, annotations: {fairlead.dev/address: router}}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: https, port: 443, protocol: HTTPS, hostname: "*.shared.test", tls: {certificateRefs: [{name: wild}]}, allowedRoutes: {namespaces: {from: All}}}
---
`

const addressRoutes = `
kind: Route
metadata: {namespace: gw, name: shop, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {host: shop.shared.test, to: {kind: Service, name: one}, tls: {termination: edge, certificate: ${cert own}, key: ${key own}, insecureEdgeTerminationPolicy: Redirect}}
---
kind: HTTPRoute
metadata: {namespace: gw, name: shop, creationTimestamp: "2026-01-01T00:00:00Z"ANNOTATIONS}
spec:
  parentRefs: [{name: gw, sectionName: https}]
  hostnames: [shop.shared.test]
  rules:
  - backendRefs: [{name: two, port: 8080}]
  - matches: [{path: {value: /api}}]
    backendRefs: [{name: two, port: 8080}]
  - matches: [{path: {value: /missing}}]
    backendRefs: [{name: missing, port: 8080}]
  - matches: [{path: {value: /some}, headers: [{name: version, value: two}]}]
    timeouts: {request: 2s}
    retry: {attempts: 2, codes: [503]}
    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-answer, value: "yes"}]}}]
    backendRefs: [{name: two, port: 8080}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: plain}
spec:
  parentRefs: [{name: gw}]
  hostnames: [plain.shared.test, "*.shared.test"]
  rules: [{backendRefs: [{name: two, port: 8080}]}]
---
kind: HTTPRoute
metadata: {namespace: other, name: thief, creationTimestamp: "2026-02-01T00:00:00Z"}
spec:
  parentRefs: [{name: gw, namespace: gw, sectionName: https}]
  hostnames: [shop.shared.test]
  rules: [{matches: [{path: {value: /stolen}}], backendRefs: [{name: far, port: 8080}]}]
`

// expectCondition waits for a condition of an HTTPRoute's only parent.
func (b *bed) expectCondition(t *testing.T, namespace, name, kind, want string) {
	t.Helper()
	b.eventually(name+" has "+kind+" "+want, func() error {
		st, _ := b.statusOf(model.Object{Kind: gateway.KindHTTPRoute, Namespace: namespace, Name: name})
		for _, p := range st.Parents {
			for _, c := range p.Conditions {
				if c.Type == kind && strings.Contains(fmt.Sprint(c.True, " ", c.Reason, ": ", c.Message), want) {
					return nil
				}
			}
		}
		return fmt.Errorf("parents are %+v", st.Parents)
	})
}

// expectAtRouter waits for answers at the router's own ports.
func (b *bed) expectAtRouter(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line = strings.TrimSpace(line)
		e, err := parseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		b.eventually(line, func() error {
			res := e.request.do(b.http, b.https)
			pod := ""
			if res.pod != nil {
				pod = gatewayPods[res.pod.Pod]
			}
			return e.check(res, pod, nil)
		})
	}
}

// TestSharedAddress has HAProxy serve HTTPRoutes at the router's own ports, beside Routes: who
// wins, with which certificate, and the way from one to the other and back.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	for _, version := range supported() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, version, newMemory())
			b.cluster.apply(parseStep(t, map[string]string{"settings": "shared-address"}))
			b.start()
			routes := func(annotations string) map[string]string {
				return map[string]string{"in.yaml": strings.Trim(strings.ReplaceAll(addressRoutes, "ANNOTATIONS", annotations), "\n")}
			}
			b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": addressGateway + tlsSecret(t, "gw", "wild", "wild")}))
			b.applyWithPods(parseStep(t, routes("")))
			b.expectAtRouter(t, `
GET https://shop.shared.test/ -> 200 pod=one cert=own
GET http://shop.shared.test/ -> 302 location=https://shop.shared.test/
GET https://shop.shared.test/api/x -> 200 pod=two
GET https://shop.shared.test/missing -> 500
GET https://shop.shared.test/some -> 200 pod=one
GET https://shop.shared.test/some h:Version=two -> 200 pod=two resp:X-Answer=yes
GET https://shop.shared.test/stolen -> 200 pod=one
GET https://plain.shared.test/ -> 200 pod=two cert=wild
GET http://plain.shared.test/ -> 200 pod=two
GET http://else.shared.test/ -> 404
`)
			b.expectCondition(t, "gw", "shop", "Accepted", "true Accepted")
			b.expectCondition(t, "gw", "shop", "PartiallyInvalid", "route shop serves shop.shared.test/ and goes first")
			b.expectCondition(t, "other", "thief", "Accepted", "false NotAllowedByListeners: host shop.shared.test belongs to another namespace")
			b.applyWithPods(parseStep(t, routes(`, annotations: {fairlead.dev/takes-over: "true"}`)))
			b.expectAtRouter(t, `
GET https://shop.shared.test/ -> 200 pod=two cert=wild
GET http://shop.shared.test/ -> 302 location=https://shop.shared.test/
GET https://shop.shared.test/stolen -> 200 pod=two
`)
			b.eventually("the Route says so", func() error {
				return checkStatus("gw/shop finding ReplacedByHTTPRoute HTTPRoute shop serves shop.shared.test/ at port 443", b.statusOf)
			})
			b.eventually("the Route stays admitted", func() error { return checkStatus("gw/shop admitted", b.statusOf) })
			b.applyWithPods(parseStep(t, routes("")))
			b.expectAtRouter(t, `GET https://shop.shared.test/ -> 200 pod=one cert=own`)
			b.cluster.apply(parseStep(t, map[string]string{"settings": ""}))
			b.expectAtRouter(t, `GET https://shop.shared.test/api/x -> 200 pod=one`)
			b.expectCondition(t, "gw", "plain", "Accepted", "true Accepted")
		})
	}
}
