package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const gatewayServices = `
gw/one http=8080 one@198.18.250.201
gw/two http=8080 two@198.18.250.202
gw/none http=8080
other/far http=8080 far@198.18.250.203
`

var gatewayPods = map[string]string{"198.18.250.201:8080": "one", "198.18.250.202:8080": "two", "198.18.250.203:8080": "far"}

const gatewayObjects = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: any, port: 80, protocol: HTTP}
  - {name: wild, port: 80, protocol: HTTP, hostname: "*.example.com"}
  - {name: exact, port: 80, protocol: HTTP, hostname: shop.example.com}
  - {name: high, port: 8080, protocol: HTTP}
---
kind: HTTPRoute
metadata: {namespace: gw, name: any, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: gw, sectionName: any}, {name: gw, sectionName: high}]
  rules:
  - matches: [{path: {value: /}}]
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /two/}}, {path: {type: Exact, value: /exact}}, {headers: [{name: Version, value: two}]}, {path: {value: /}, queryParams: [{name: v, value: "2"}]}, {method: DELETE}]
    backendRefs: [{name: two, port: 8080}]
  - matches: [{path: {value: /missing}}]
    backendRefs: [{name: missing, port: 8080}]
  - matches: [{path: {value: /empty}}]
    backendRefs: [{name: none, port: 8080}]
  - matches: [{path: {value: /zero}}]
    backendRefs: [{name: one, port: 8080, weight: 0}]
  - matches: [{path: {value: /nothing}}]
  - matches: [{path: {value: /far}}]
    backendRefs: [{name: far, namespace: other, port: 8080}]
  - matches: [{path: {type: RegularExpression, value: "/v[0-9]+/x"}}]
    backendRefs: [{name: two, port: 8080}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: filters}
spec:
  parentRefs: [{name: gw, sectionName: any}]
  hostnames: [filters.test]
  rules:
  - matches: [{path: {value: /headers}}]
    filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: "100%"}], add: [{name: X-Add, value: more}], remove: [X-Gone]}}
    - {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-Answer, value: "yes"}]}}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /prefix}}, {path: {value: /long/prefix/}}]
    filters: [{type: URLRewrite, urlRewrite: {hostname: pod.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /gone}}]
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /full}}]
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /whole}}}]
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /to-https}}]
    filters: [{type: RequestRedirect, requestRedirect: {scheme: https, statusCode: 301}}]
  - matches: [{path: {value: /to-host}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: example.org, port: 8443, statusCode: 308, path: {type: ReplacePrefixMatch, replacePrefixMatch: /there}}}]
  - matches: [{path: {value: /to-full}}]
    filters: [{type: RequestRedirect, requestRedirect: {statusCode: 303, path: {type: ReplaceFullPath, replaceFullPath: /whole}}}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: high}
spec:
  parentRefs: [{name: gw, sectionName: high}]
  hostnames: [high.test]
  rules:
  - filters: [{type: RequestRedirect, requestRedirect: {}}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: wild}
spec:
  parentRefs: [{name: gw}]
  hostnames: ["*.example.com"]
  rules: [{backendRefs: [{name: one, port: 8080}]}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: deep}
spec:
  parentRefs: [{name: gw}]
  hostnames: [shop.example.com, a.b.example.com]
  rules: [{matches: [{path: {value: /deep}}], backendRefs: [{name: two, port: 8080}]}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: young, creationTimestamp: "2026-02-02T00:00:00Z"}
spec:
  parentRefs: [{name: gw, sectionName: any}]
  rules: [{matches: [{path: {value: /two}}], backendRefs: [{name: one, port: 8080}]}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: refused}
spec:
  parentRefs: [{name: gw, sectionName: any}]
  hostnames: [refused.test]
  rules: [{filters: [{type: ExtensionRef, extensionRef: {group: x, kind: Y, name: z}}], backendRefs: [{name: one, port: 8080}]}]
`

const gatewayGrant = `
kind: ReferenceGrant
metadata: {namespace: other, name: gw}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: gw}], to: [{group: "", kind: Service}]}
`

// TestGateway has HAProxy serve Gateways and HTTPRoutes. The port of a line is that of the
// listener.
func TestGateway(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.slots = freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8080: int32(b.slots.First + 1)}
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": gatewayObjects}))
	expect := func(lines string) {
		t.Helper()
		for line := range strings.Lines(strings.TrimSpace(lines)) {
			b.expectAtListener(t, strings.TrimSpace(line))
		}
	}
	expect(`
80 GET http://any.test/ -> 200 pod=one
80 GET http://any.test/two -> 200 pod=two
80 GET http://any.test/two/x -> 200 pod=two
80 GET http://any.test/twox -> 200 pod=one
80 GET http://any.test/exact -> 200 pod=two
80 GET http://any.test/exact/ -> 200 pod=one
80 GET http://any.test/ h:Version=two -> 200 pod=two
80 GET http://any.test/ h:Version=three -> 200 pod=one
80 GET http://any.test/?v=2 -> 200 pod=two
80 DELETE http://any.test/ -> 200 pod=two
80 GET http://any.test/v12/x -> 200 pod=two
80 GET http://any.test/v12/xy -> 200 pod=one
80 GET http://any.test/missing -> 500
80 GET http://any.test/empty -> 503
80 GET http://any.test/zero -> 503
80 GET http://any.test/nothing -> 500
80 GET http://any.test/far -> 500
8080 GET http://any.test:8080/two -> 200 pod=two host=any.test:8080
80 GET http://refused.test/ -> 200 pod=one
80 GET http://filters.test/headers h:X-Gone=a h:X-Add=some -> 200 pod=one seen:X-Set=100% seen:X-Gone= resp:X-Answer=yes "seen:X-Add=some, more"
80 GET http://filters.test/prefix/a -> 200 path=/new/a host=pod.test
80 GET http://filters.test/prefix -> 200 path=/new
80 GET http://filters.test/long/prefix/a -> 200 path=/new/a
80 GET http://filters.test/gone -> 200 path=/
80 GET http://filters.test/gone/a -> 200 path=/a
80 GET http://filters.test/full/a -> 200 path=/whole
80 GET http://filters.test/to-https/a?b=c -> 301 location=https://filters.test/to-https/a?b=c
80 GET http://filters.test/to-host/a -> 308 location=http://example.org:8443/there/a
80 GET http://filters.test/to-host -> 308 location=http://example.org:8443/there
80 GET http://filters.test/to-full/a -> 303 location=http://filters.test/whole
8080 GET http://high.test/a -> 302 location=http://high.test:8080/a
80 GET http://x.example.com/ -> 200 pod=one
80 GET http://a.b.c.example.com/ -> 200 pod=one
80 GET http://example.com/ -> 200 pod=one
80 GET http://shop.example.com/ -> 200 pod=one
80 GET http://shop.example.com/deep -> 200 pod=two
80 GET http://a.b.example.com/deep/x -> 200 pod=two
80 GET http://x.example.com/two -> 200 pod=one
`)
	b.cluster.apply(parseStep(t, map[string]string{"in.yaml": gatewayGrant}))
	expect(`80 GET http://any.test/far -> 200 pod=far`)
	b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindHTTPRoute, Namespace: "gw", Name: "wild"}}})
	expect(`
80 GET http://x.example.com/ -> 404
80 GET http://shop.example.com/ -> 404
80 GET http://shop.example.com/deep -> 200 pod=two
`)
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// applyWithPods makes a change after its pods have been started.
func (b *bed) applyWithPods(c change) {
	b.t.Helper()
	for _, o := range c.put {
		ensurePods(b.t, o)
	}
	b.cluster.apply(c)
}

// expectAtListener sends the request of a line to the listener with the port until its
// answer is as the line says.
func (b *bed) expectAtListener(t *testing.T, line string) {
	t.Helper()
	port, rest, _ := strings.Cut(line, " ")
	e, err := parseLine(rest)
	if err != nil {
		t.Fatal(err)
	}
	slot := map[string]int{"80": b.slots.First, "8080": b.slots.First + 1}[port]
	b.eventually(line, func() error {
		res := e.request.do(slot, b.https)
		pod := ""
		if res.pod != nil {
			pod = gatewayPods[res.pod.Pod]
		}
		return e.check(res, pod, nil)
	})
}

// TestGatewayWeights has HAProxy share requests out by weights. What is not valid keeps its
// share.
func TestGatewayWeights(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.slots = freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec: {gatewayClassName: fairlead, listeners: [{name: any, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: gw, name: weights}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{name: one, port: 8080, weight: 70}, {name: two, port: 8080, weight: 20}, {name: missing, port: 80, weight: 10}, {name: none, port: 8080, weight: 0}]}]
`}))
	b.expectAtListener(t, "80 GET http://w.test/ -> 200 pod=two")
	e, err := parseLine("GET http://w.test/ -> 200")
	if err != nil {
		t.Fatal(err)
	}
	const requests = 1000
	got := map[string]int{}
	for range requests {
		res := e.request.do(b.slots.First, b.https)
		if res.err != nil {
			t.Fatal(res.err)
		}
		who := fmt.Sprint(res.status)
		if res.pod != nil {
			who = gatewayPods[res.pod.Pod]
		}
		got[who]++
	}
	for who, want := range map[string]int{"one": 700, "two": 200, "500": 100} {
		if off := got[who] - want; off < -80 || off > 80 { // five standard deviations are 73
			t.Errorf("%d requests of %d for %s, want %d: %v", got[who], requests, who, want, got)
		}
	}
}
