package cases

import "testing"

// plainGateway has one listener, for any host.
const plainGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec: {gatewayClassName: fairlead, listeners: [{name: any, port: 80, protocol: HTTP}]}
---`

// newGatewayBed has a slot for port 80 of a Gateway.
func newGatewayBed(t *testing.T) *bed {
	t.Helper()
	b := newBed(t, "haproxy", newMemory())
	b.slots = freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
	return b
}

// TestGatewayCORS has HAProxy answer for the filter CORS of HTTPRoutes: origins by domains of
// any depth, and answers that repeat what was asked for where browsers take no wildcard.
func TestGatewayCORS(t *testing.T) {
	t.Parallel()
	b := newGatewayBed(t)
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": plainGateway + `
kind: HTTPRoute
metadata: {namespace: gw, name: cors}
spec:
  parentRefs: [{name: gw}]
  rules:
  - matches: [{path: {value: /named}}]
    filters:
    - type: CORS
      cors:
        allowOrigins: ["https://WWW.foo.test:443", "https://*.bar.test", "https://*.port.test:8443", "http://*"]
        allowMethods: [GET, OPTIONS]
        allowHeaders: [x-one, x-two]
        exposeHeaders: [x-three]
        allowCredentials: true
        maxAge: 3600
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /any}}]
    filters: [{type: CORS, cors: {allowOrigins: ["*"], allowMethods: ["*"], allowHeaders: ["*"], exposeHeaders: ["*"]}}]
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /credentials}}]
    filters: [{type: CORS, cors: {allowOrigins: ["*"], allowMethods: ["*"], allowHeaders: ["*"], exposeHeaders: ["*"], allowCredentials: true}}]
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /none}}]
    filters: [{type: CORS, cors: {}}]
    backendRefs: [{name: one, port: 8080}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: refused}
spec:
  parentRefs: [{name: gw}]
  hostnames: [refused.test]
  rules: [{filters: [{type: CORS, cors: {allowOrigins: ["https://a.test/|"]}}], backendRefs: [{name: two, port: 8080}]}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: names}
spec:
  parentRefs: [{name: gw}]
  hostnames: [refused.test]
  rules: [{filters: [{type: CORS, cors: {allowHeaders: ["a|b"]}}], backendRefs: [{name: two, port: 8080}]}]
`}))
	for _, line := range []string{
		`OPTIONS http://c.test/named h:Origin=https://www.foo.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=https://www.foo.test resp:Access-Control-Allow-Methods="GET, OPTIONS" resp:Access-Control-Allow-Headers="x-one, x-two" resp:Access-Control-Expose-Headers=x-three resp:Access-Control-Max-Age=3600 resp:Access-Control-Allow-Credentials=true`,
		`OPTIONS http://c.test/named h:Origin=https://www.bar.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=https://www.bar.test`,
		`OPTIONS http://c.test/named h:Origin=https://a.b.c.d.e.f.g.h.i.bar.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=https://a.b.c.d.e.f.g.h.i.bar.test`,
		`OPTIONS http://c.test/named h:Origin=https://bar.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin= resp:Access-Control-Allow-Methods= resp:Vary=Origin`,
		`OPTIONS http://c.test/named h:Origin=https://www.foobar.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=`,
		`OPTIONS http://c.test/named h:Origin=https://www.bar.test.evil.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=`,
		`OPTIONS http://c.test/named h:Origin=https://www.bar.test:8443 h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=`,
		`OPTIONS http://c.test/named h:Origin=https://evil.test/.bar.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=`,
		`OPTIONS http://c.test/named h:Origin=https://a.b.port.test:8443 h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=https://a.b.port.test:8443`,
		`OPTIONS http://c.test/named h:Origin=https://a.port.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=`,
		`OPTIONS http://c.test/named h:Origin=http://any.thing.test h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin=http://any.thing.test`,
		`OPTIONS http://c.test/named h:Origin=+ h:Access-Control-Request-Method=GET -> 204 resp:Access-Control-Allow-Origin= resp:Access-Control-Allow-Credentials=`,
		`GET http://c.test/named h:Origin=https://x.bar.test -> 200 pod=one resp:Access-Control-Allow-Origin=https://x.bar.test resp:Access-Control-Allow-Methods= resp:Access-Control-Expose-Headers=x-three`,
		`GET http://c.test/named h:Origin=https://foobar.test -> 200 pod=one resp:Access-Control-Allow-Origin=`,
		`OPTIONS http://c.test/any h:Origin=https://x.test:81 h:Access-Control-Request-Method=PUT h:Access-Control-Request-Headers="a, b" -> 204 resp:Access-Control-Allow-Origin=* resp:Access-Control-Allow-Methods=* resp:Access-Control-Allow-Headers=* resp:Access-Control-Expose-Headers=* resp:Access-Control-Max-Age=5 resp:Access-Control-Allow-Credentials=`,
		`OPTIONS http://c.test/credentials h:Origin=https://x.test h:Access-Control-Request-Method=PUT "h:Access-Control-Request-Headers=a, b" -> 204 resp:Access-Control-Allow-Origin=https://x.test resp:Access-Control-Allow-Methods=PUT resp:Access-Control-Allow-Headers="a, b" resp:Access-Control-Expose-Headers= resp:Access-Control-Allow-Credentials=true`,
		`OPTIONS http://c.test/credentials h:Origin=https://x.test h:Access-Control-Request-Method=PUT -> 204 resp:Access-Control-Allow-Methods=PUT resp:Access-Control-Allow-Headers=`,
		`GET http://c.test/credentials h:Origin=https://x.test -> 200 pod=one resp:Access-Control-Allow-Origin=https://x.test resp:Access-Control-Allow-Methods= resp:Access-Control-Allow-Headers=`,
		`OPTIONS http://c.test/none h:Origin=https://x.test h:Access-Control-Request-Method=PUT -> 204 resp:Access-Control-Allow-Origin=`,
		`GET http://refused.test/ -> 404`,
	} {
		b.expectAtListener(t, "80 "+line)
	}
}
