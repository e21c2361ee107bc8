package cases

import (
	"strings"
	"testing"
)

const gatewayRetries = plainGateway + `
kind: HTTPRoute
metadata: {namespace: gw, name: retry}
spec:
  parentRefs: [{name: gw}]
  rules:
  - matches: [{path: {value: /plain}}]
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /three}}]
    retry: {codes: [500], attempts: 3}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /usual}}]
    retry: {codes: [500, 502, 503, 504]}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /seven}}]
    retry: {codes: [503], attempts: 7}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /post}, method: POST}, {path: {value: /post}}]
    retry: {codes: [503], attempts: 1}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /connection}}]
    retry: {attempts: 2}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /timeout}}]
    retry: {attempts: 2}
    timeouts: {backendRequest: 200ms}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /total}}]
    retry: {codes: [503], attempts: 100}
    timeouts: {request: 600ms}
    backendRefs: [{name: one, port: 8080}]
  - matches: [{path: {value: /both}}]
    retry: {codes: [503], attempts: 100}
    timeouts: {request: 600ms, backendRequest: 100ms}
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: rule}]}}]
    backendRefs: [{name: one, port: 8080}, {name: two, port: 8080}, {name: missing, port: 80, weight: 0}]
  - matches: [{path: {value: /shared}}]
    retry: {codes: [503], attempts: 1}
    backendRefs: [{name: one, port: 8080}, {name: two, port: 8080}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: never}
spec:
  parentRefs: [{name: gw}]
  hostnames: [never.test]
  rules:
  - retry: {codes: [503], attempts: 0}
    backendRefs: [{name: one, port: 8080}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: backoff}
spec:
  parentRefs: [{name: gw}]
  hostnames: [backoff.test]
  rules:
  - retry: {codes: [503], backoff: 10ms}
    backendRefs: [{name: one, port: 8080}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: code}
spec:
  parentRefs: [{name: gw}]
  hostnames: [code.test]
  rules:
  - retry: {codes: [503, 429]}
    backendRefs: [{name: one, port: 8080}]
`

// TestGatewayRetry has HAProxy try requests of HTTPRoutes again: for the statuses of the rule
// only, as often as it says, and of methods that may do something twice only where a match
// names the method.
func TestGatewayRetry(t *testing.T) {
	t.Parallel()
	for _, program := range supported() {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, program, newMemory())
			b.slots = freeSlots(t)
			b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
			b.start()
			b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": gatewayRetries}))
			b.expectAtListener(t, "80 GET http://r.test/plain -> 200 pod=one")
			for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(`
GET http://r.test/plain?name=V-p1&times=1&fail=503 -> 503 resp:X-Tries=1
GET http://r.test/three?name=V-a1&times=3&fail=500 -> 200 resp:X-Tries=4
GET http://r.test/three?name=V-a2&times=4&fail=500 -> 500 resp:X-Tries=4
GET http://r.test/three?name=V-a3&times=1&fail=503 -> 503 resp:X-Tries=1
GET http://r.test/three?name=V-a4&times=1&fail=close -> 200 resp:X-Tries=2
GET http://r.test/usual?name=V-u1&times=3&fail=502 -> 200 resp:X-Tries=4
GET http://r.test/usual?name=V-u2&times=4&fail=504 -> 504 resp:X-Tries=4
PUT http://r.test/usual?name=V-u3&times=1&fail=503 body=1000 -> 200 resp:X-Tries=2
PUT http://r.test/usual?name=V-u4&times=1&fail=503 body=100000 -> 503 resp:X-Tries=1
POST http://r.test/usual?name=V-u5&times=1&fail=503 body=10 -> 503 resp:X-Tries=1
GET http://r.test/seven?name=V-s1&times=5&fail=503 -> 200 resp:X-Tries=6
GET http://r.test/seven?name=V-s2&times=6&fail=503 -> 503 resp:X-Tries=6
POST http://r.test/post?name=V-m1&times=1&fail=503 body=10 -> 200 resp:X-Tries=2
POST http://r.test/post?name=V-m2&times=1&fail=503 body=100000 -> 503 resp:X-Tries=1
GET http://r.test/post?name=V-m3&times=1&fail=503 -> 200 resp:X-Tries=2
PATCH http://r.test/post?name=V-m4&times=1&fail=503 body=10 -> 503 resp:X-Tries=1
GET http://r.test/connection?name=V-c1&times=2&fail=close -> 200 resp:X-Tries=3
GET http://r.test/connection?name=V-c2&times=1&fail=503 -> 503 resp:X-Tries=1
GET http://r.test/shared?name=V-b1&times=1&fail=503 -> 200 resp:X-Tries=2
GET http://r.test/timeout?name=V-t1&times=2&fail=late&slow=10s -> 200 resp:X-Tries=3
GET http://r.test/timeout?name=V-t2&times=3&fail=late&slow=10s -> 504
GET http://r.test/total?name=V-t3&times=100&fail=503&slow=250ms -> 504
GET http://r.test/plain?name=V-t3&times=10&fail=503 -> 503
GET http://r.test/total?name=V-t4&times=2&fail=503 -> 200 resp:X-Tries=3 seen:X-Forwarded-Host=r.test seen:X-Forwarded-Port=80 seen:Fairlead-Backend= seen:Fairlead-Policy= seen:Fairlead-Timeout=
GET http://r.test/both?name=V-t5&times=2&fail=late&slow=10s h:Fairlead-Backend=x h:Fairlead-Timeout=1 -> 200 resp:X-Tries=3 seen:X-Of=rule
POST http://r.test/both?name=V-t6&times=1&fail=503 body=10 -> 503 resp:X-Tries=1
GET http://r.test/both?name=V-t7&times=100&fail=late&slow=10s -> 504
GET http://r.test/total ws -> 101
GET http://never.test/?name=V-n1&times=1&fail=503 -> 503 resp:X-Tries=1
GET http://never.test/ -> 200
GET http://backoff.test/ -> 404
GET http://code.test/ -> 404`, "V", program))) {
				e, err := parseLine(strings.TrimSpace(line))
				if err != nil {
					t.Fatal(err)
				}
				res := e.request.do(b.slots.First, b.https)
				pod := ""
				if res.pod != nil {
					pod = gatewayPods[res.pod.Pod]
				}
				if err := e.check(res, pod, nil); err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(line), err)
				}
			}
			if n := b.reloads(); program == "haproxy" && n != 0 {
				t.Errorf("%d reloads", n)
			}
		})
	}
}
