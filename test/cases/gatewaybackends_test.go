package cases

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestGatewayBackendHeaders: changes of headers of one backendRef hold for its requests
// only, after those of the rule, and of a name twice in their order.
func TestGatewayBackendHeaders(t *testing.T) {
	t.Parallel()
	b := newGatewayBed(t)
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": plainGateway + `
kind: HTTPRoute
metadata: {namespace: gw, name: headers}
spec:
  parentRefs: [{name: gw}]
  rules:
  - matches: [{path: {value: /one}}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: rule}], add: [{name: X-More, value: rule}]}}]
    backendRefs:
    - name: one
      port: 8080
      filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: "100% one"}], add: [{name: X-More, value: one}], remove: [X-Gone]}}]
  - matches: [{path: {value: /twice}}]
    backendRefs:
    - name: one
      port: 8080
      filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: set}], add: [{name: X-Of, value: added}]}}]
  - matches: [{path: {value: /both}}]
    backendRefs:
    - {name: one, port: 8080, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: one}]}}]}
    - {name: two, port: 8080, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: two}]}}]}
  - matches: [{path: {value: /second}}]
    backendRefs:
    - {name: one, port: 8080}
    - {name: two, port: 8080, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [X-Of]}}]}
`}))
	for _, line := range []string{
		`GET http://h.test/one h:X-Gone=a h:X-Of=client -> 200 pod=one "seen:X-Of=100% one" "seen:X-More=rule, one" seen:X-Gone=`,
		`GET http://h.test/twice -> 200 pod=one "seen:X-Of=set, added"`,
		`GET http://h.test/both h:X-Of=client -> 200 pod=one seen:X-Of=one`,
		`GET http://h.test/both h:X-Of=client -> 200 pod=two seen:X-Of=two`,
		`GET http://h.test/second h:X-Of=client -> 200 pod=one seen:X-Of=client`,
		`GET http://h.test/second h:X-Of=client -> 200 pod=two seen:X-Of=`,
	} {
		b.expectAtListener(t, "80 "+line)
	}
	e, err := parseLine("GET http://h.test/both -> 200")
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if res := e.request.do(b.slots.First, b.https); res.pod == nil || res.pod.Header.Get("X-Of") != gatewayPods[res.pod.Pod] {
			t.Fatalf("a request has the header of another backend: %+v", res)
		}
	}
}

// TestGatewayMirror: filters of a rule have the policy agent copy requests, as the rule has
// changed them; what is not granted gets none, and the share of zero neither.
func TestGatewayMirror(t *testing.T) {
	t.Parallel()
	target := &copyTarget{}
	l, err := net.Listen("tcp", "198.18.250.204:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: target, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	b := newGatewayBed(t)
	b.startAgent()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	c := parseStep(t, map[string]string{"in.yaml": plainGateway + strings.ReplaceAll(`
kind: HTTPRoute
metadata: {namespace: gw, name: mirror}
spec:
  parentRefs: [{name: gw}]
  rules:
  - matches: [{path: {value: /copied}}]
    filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: rule}]}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: copy, port: PORT}}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: copy, port: PORT}, fraction: {numerator: 3, denominator: 3}}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: copy, port: PORT}, percent: 0}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: far, namespace: other, port: 8080}}}
    backendRefs: [{name: one, port: 8080, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: backend}]}}, {type: URLRewrite, urlRewrite: {hostname: pod.test, path: {type: ReplaceFullPath, replaceFullPath: /pod}}}]}]
`, "PORT", port), "services": gatewayServices + "gw/copy http=" + port + " copy@198.18.250.204\n"})
	for _, o := range c.put {
		if !strings.HasPrefix(o.GetName(), "copy") {
			ensurePods(t, o)
		}
	}
	b.cluster.apply(c)
	b.start()
	b.expectAtListener(t, `80 POST http://m.test/copied?a=%2F body=10 -> 200 pod=one host=pod.test path=/pod?a=%2F seen:X-Of=backend`)
	b.eventually("two copies of one request", func() error {
		copied, body, n := target.of("/copied?a=%2F")
		switch {
		case n == 0 || n%2 != 0:
			return fmt.Errorf("%d copies", n)
		case copied.Header.Get("X-Of") != "rule" || copied.Host != "m.test" || len(body) != 10:
			return fmt.Errorf("a copy %+v with the body %q", copied, body)
		}
		return nil
	})
}
