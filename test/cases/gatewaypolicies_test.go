package cases

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

const policedGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: high, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
`

// policedBed is a router with a Gateway whose listeners have the ports 80 and 8080.
func policedBed(t *testing.T, objects string) *bed {
	t.Helper()
	b := newBed(t, "haproxy", newMemory())
	b.slots = freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8080: int32(b.slots.First + 1)}
	b.startAgent()
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": strings.Trim(policedGateway, "\n") + "\n---\n" + strings.Trim(objects, "\n")}))
	return b
}

func (b *bed) put(t *testing.T, objects string) {
	t.Helper()
	b.cluster.apply(parseStep(t, map[string]string{"in.yaml": strings.Trim(objects, "\n")}))
}

func (b *bed) expectAtListeners(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		b.expectAtListener(t, strings.TrimSpace(line))
	}
}

// expectPolicy waits for a condition of a policy.
func (b *bed) expectPolicy(t *testing.T, namespace, name, kind, want, message string) {
	t.Helper()
	key := model.Object{Kind: policy.KindRoutePolicy, Namespace: namespace, Name: name}
	b.eventually(name+" has "+kind+" "+want, func() error {
		b.cluster.mu.Lock()
		report := b.cluster.reports[key]
		b.cluster.mu.Unlock()
		for _, c := range report.Conditions {
			if c.Type == kind && string(c.Status)+" "+c.Reason == want && strings.Contains(c.Message, message) {
				return nil
			}
		}
		return fmt.Errorf("%+v", report.Conditions)
	})
}

const policedRoutes = `
kind: HTTPRoute
metadata: {namespace: gw, name: shop, uid: shop}
spec:
  parentRefs: [{name: gw}]
  hostnames: [shop.test]
  rules:
  - name: open
    backendRefs: [{name: one, port: 8080}]
  - name: admin
    matches: [{path: {value: /admin}}]
    backendRefs: [{name: two, port: 8080}]
  - name: own
    matches: [{path: {value: /own}}]
    timeouts: {request: 5s}
    filters:
    - {type: CORS, cors: {allowOrigins: ["https://own.test"]}}
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Own, value: rule}, {name: X-Both, value: rule}]}}
    - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /rule}}}
    backendRefs: [{name: one, port: 8080}]
  - name: prefix
    matches: [{path: {value: /prefix}}]
    backendRefs: [{name: one, port: 8080}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: wild, uid: wild}
spec:
  parentRefs: [{name: gw}]
  hostnames: ["*.shop.test"]
  rules: [{backendRefs: [{name: one, port: 8080}]}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: below, uid: below}
spec:
  parentRefs: [{name: gw}]
  hostnames: [a.shop.test]
  rules: [{name: secret, matches: [{path: {value: /secret}}], backendRefs: [{name: two, port: 8080}]}]
`

// TestGatewayPolicies: RoutePolicies hold for HTTPRoutes and for single rules of them, beside
// what the rules themselves say; their status says what became of them.
func TestGatewayPolicies(t *testing.T) {
	t.Parallel()
	b := policedBed(t, policedRoutes)
	b.expectAtListeners(t, `
80 GET http://shop.test/admin -> 200 pod=two
80 GET http://shop.test//admin -> 200
80 GET http://a.shop.test/secret -> 200 pod=two
`)
	b.put(t, `
kind: RoutePolicy
metadata: {namespace: gw, name: admin}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop, sectionName: admin}], access: {allow: [198.18.0.0/15]}}
---
kind: RoutePolicy
metadata: {namespace: gw, name: secret}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: below}], access: {deny: [127.0.0.1]}}
---
kind: RoutePolicy
metadata: {namespace: gw, name: whole}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  cors: {origins: ["https://policy.test"]}
  headers: {request: {set: [{name: X-Policy, value: policy}, {name: X-Both, value: policy}]}, response: {set: [{name: X-Answer, value: policy}]}}
  rewrite: {prefix: /policy}
  limits: {body: {max: 10}}
  pages: {errors: [{codes: ["404"], configMap: {name: pages, key: none.html}}]}
  affinity: {cookie: {}}
`)
	b.expectAtListeners(t, `
80 GET http://shop.test/admin -> 403
8080 GET http://shop.test/admin/x -> 403
80 GET http://shop.test/%61dmin -> 400
80 GET http://shop.test//admin -> 400
80 GET http://shop.test/x/../admin -> 400
80 GET http://shop.test/x;/../admin -> 400
80 GET http://shop.test/x%2f..%2fadmin -> 400
80 GET http://a.shop.test/secret -> 403
80 GET http://a.shop.test/%73ecret -> 403
80 GET http://a.shop.test/x%2f..%2fsecret -> 400
80 GET http://b.shop.test/x%2f..%2fsecret -> 400
80 GET http://b.shop.test/other -> 200 pod=one
80 GET http://shop.test/prefix/a -> 200 pod=one path=/policy/a seen:X-Policy=policy resp:X-Answer=policy
80 GET http://shop.test/own/a h:Origin=https://own.test -> 200 path=/rule/a seen:X-Policy=policy seen:X-Own=rule seen:X-Both=rule resp:Access-Control-Allow-Origin=https://own.test
80 GET http://shop.test/own/a h:Origin=https://policy.test -> 200 resp:Access-Control-Allow-Origin=
80 GET http://shop.test/prefix h:Origin=https://policy.test -> 200 resp:Access-Control-Allow-Origin=https://policy.test
80 POST http://shop.test/prefix body=11 -> 413
80 POST http://shop.test/prefix body=10 -> 200
`)
	b.expectPolicy(t, "gw", "admin", "Protecting", "True Protecting", "")
	b.expectPolicy(t, "gw", "whole", "Accepted", "True Accepted", "1 object")
	b.expectPolicy(t, "gw", "whole", "Overridden", "True Overridden", "cors by HTTPRoute gw/shop")
	st, _ := b.statusOf(model.Object{Kind: gateway.KindHTTPRoute, Namespace: "gw", Name: "shop"})
	if !slices.ContainsFunc(st.Findings, func(f api.Finding) bool {
		return f.Reason == api.ReasonPolicyNotApplicable && strings.Contains(f.Message, "RoutePolicy gw/whole spec.affinity")
	}) {
		t.Errorf("no finding about affinity: %+v", st.Findings)
	}

	b.cluster.apply(change{del: []model.Object{{Kind: policy.KindRoutePolicy, Namespace: "gw", Name: "admin"}, {Kind: policy.KindRoutePolicy, Namespace: "gw", Name: "secret"}}})
	b.expectAtListeners(t, `
80 GET http://shop.test/admin -> 200 pod=two
80 GET http://shop.test//admin -> 200
80 GET http://a.shop.test/secret -> 200 pod=two
80 GET http://b.shop.test/x%2f..%2fsecret -> 200
`)
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// TestGatewayPolicyNames: a policy that protects a rule which is not there closes the route, as
// one that is renamed must not open.
func TestGatewayPolicyNames(t *testing.T) {
	t.Parallel()
	b := policedBed(t, policedRoutes+`
---
kind: RoutePolicy
metadata: {namespace: gw, name: former}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop, sectionName: administration}], access: {allow: [198.18.0.0/15]}}
---
kind: RoutePolicy
metadata: {namespace: gw, name: harmless}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: wild, sectionName: none}], cors: {origins: ["*"]}}
`)
	b.expectAtListeners(t, `
80 GET http://shop.test/ -> 503
80 GET http://shop.test/admin -> 503
80 GET http://b.shop.test/ -> 200 pod=one
`)
	b.expectPolicy(t, "gw", "former", "Protecting", "False ClosedPaths", `no rule named "administration"`)
	b.expectParent(t, model.Object{Kind: gateway.KindHTTPRoute, Namespace: "gw", Name: "shop"}, "Accepted", "True Accepted")
	st, _ := b.statusOf(model.Object{Kind: gateway.KindHTTPRoute, Namespace: "gw", Name: "shop"})
	if !strings.Contains(fmt.Sprint(st.Parents), "paths answer 503: RoutePolicy gw/former") {
		t.Errorf("the parents do not say what is closed: %+v", st.Parents)
	}
}

// TestGatewayAnnotations: an HTTPRoute is found by its labels, and by the policy that it names; an
// annotation of Routes that protects closes it until it is gone.
func TestGatewayAnnotations(t *testing.T) {
	t.Parallel()
	const route = `
kind: HTTPRoute
metadata: {namespace: gw, name: r, uid: r, labels: {area: partners}, annotations: {%s}}
spec:
  parentRefs: [{name: gw}]
  hostnames: [r.test]
  rules: [{backendRefs: [{name: one, port: 8080}]}]
`
	b := policedBed(t, fmt.Sprintf(route, "example.com/allow: x")+`
---
kind: RoutePolicy
metadata: {namespace: gw, name: partners}
spec: {targetSelector: {kind: HTTPRoute, matchLabels: {area: partners}}, headers: {response: {set: [{name: X-Area, value: partners}]}}}
---
kind: RoutePolicy
metadata: {namespace: gw, name: named}
spec: {targetSelector: {kind: HTTPRoute, matchLabels: {area: none}}, access: {deny: [127.0.0.1]}}
`)
	b.expectAtListener(t, "80 GET http://r.test/ -> 200 pod=one resp:X-Area=partners")
	b.put(t, fmt.Sprintf(route, "fairlead.dev/policy: named"))
	b.expectAtListener(t, "80 GET http://r.test/ -> 403")
	b.put(t, fmt.Sprintf(route, `fairlead.dev/allow: "127.0.0.0/8"`))
	b.expectAtListener(t, "80 GET http://r.test/ -> 503")
	b.expectParent(t, model.Object{Kind: gateway.KindHTTPRoute, Namespace: "gw", Name: "r"}, "Accepted", "True Accepted")
	b.put(t, fmt.Sprintf(route, ""))
	b.expectAtListener(t, "80 GET http://r.test/ -> 200 pod=one resp:X-Area=partners")
}

// TestGatewayPolicyOfGateway: policies of a Gateway hold for the routes of all namespaces, and
// routes take nothing from what they protect.
func TestGatewayPolicyOfGateway(t *testing.T) {
	t.Parallel()
	b := policedBed(t, `
kind: HTTPRoute
metadata: {namespace: other, name: far, uid: far}
spec:
  parentRefs: [{name: gw, namespace: gw}]
  hostnames: [far.test]
  rules: [{backendRefs: [{name: far, port: 8080}]}]
---
kind: RoutePolicy
metadata: {namespace: other, name: own}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: far}]
  authentication: {none: true}
  headers: {response: {set: [{name: X-From, value: route}]}}
`)
	b.expectAtListener(t, "80 GET http://far.test/ -> 200 pod=far resp:X-From=route")
	b.put(t, `
kind: RoutePolicy
metadata: {namespace: gw, name: all}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  access: {deny: [127.0.0.2]}
  headers: {response: {set: [{name: X-From, value: gateway}]}}
---
kind: RoutePolicy
metadata: {namespace: gw, name: high}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw, sectionName: high}]
  authentication: {apiKeys: {secrets: [keys]}}
---
kind: Secret
metadata: {namespace: gw, name: keys}
stringData: {ann: ann-key-0123456789abcdef}
`)
	b.expectAtListeners(t, `
8080 GET http://far.test/ -> 401
8080 GET http://far.test/ h:X-API-Key=ann-key-0123456789abcdef -> 200 pod=far resp:X-From=route
80 GET http://far.test/ -> 200 pod=far resp:X-From=route
`)
	e, err := parseLine("GET http://far.test/ -> 200")
	if err != nil {
		t.Fatal(err)
	}
	if r := b.sendFromTo("127.0.0.2", b.slots.First, e); r.status != 403 {
		t.Errorf("a client that the Gateway's policy denies gets %d", r.status)
	}
	b.expectPolicy(t, "gw", "high", "Protecting", "True Protecting", "")
	b.expectPolicy(t, "other", "own", "Accepted", "False NotAllowed", "optOut")
	b.cluster.apply(change{del: []model.Object{{Kind: policy.KindRoutePolicy, Namespace: "gw", Name: "high"}}})
	b.expectAtListener(t, "8080 GET http://far.test/ -> 200 pod=far")
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// TestGatewayGRPCPolicies: policies hold for GRPCRoutes, and what they refuse clients of gRPC
// understand.
func TestGatewayGRPCPolicies(t *testing.T) {
	t.Parallel()
	b := newGatewayBed(t)
	b.startAgent()
	b.serveGRPC("gw", rpcPods(), plainGateway+`
kind: GRPCRoute
metadata: {namespace: gw, name: calls, uid: calls}
spec:
  parentRefs: [{name: gw}]
  hostnames: [grpc.test]
  rules:
  - name: keyed
    matches: [{method: {service: a.Keyed}}]
    backendRefs: [{name: rpc1, port: 80}]
  - name: denied
    matches: [{method: {service: a.Denied}}]
    backendRefs: [{name: rpc1, port: 80}]
  - name: counted
    matches: [{method: {service: a.Counted}}]
    backendRefs: [{name: rpc1, port: 80}]
  - name: asked
    matches: [{method: {service: a.Asked}}]
    backendRefs: [{name: rpc1, port: 80}]
  - name: closed
    matches: [{method: {service: a.Closed}}]
    backendRefs: [{name: rpc1, port: 80}]
  - name: open
    backendRefs: [{name: rpc1, port: 80}]
---
kind: Secret
metadata: {namespace: gw, name: keys}
stringData: {ann: ann-key-0123456789abcdef}
---
kind: Secret
metadata: {namespace: gw, name: users}
stringData: {auth: "ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1"}
---
`+policyOfRule("keyed", "authentication: {apiKeys: {secrets: [keys]}}")+"---\n"+
		policyOfRule("denied", "access: {deny: [127.0.0.0/8]}")+"---\n"+
		policyOfRule("counted", "limits: {requests: [{name: one, requests: 1, per: 24h}]}")+"---\n"+
		policyOfRule("asked", "authentication: {basic: {secret: users}}")+"---\n"+
		policyOfRule("closed", "authentication: {basic: {secret: none}}"))
	c := b.grpcCaller("grpc.test")
	c.expect("rpc1", "/b.Open/Echo", "")
	c.expect("rpc1", "/a.Keyed/Echo", "", "x-api-key", "ann-key-0123456789abcdef")
	c.expect("Unauthenticated", "/a.Keyed/Echo", "")
	c.expect("PermissionDenied", "/a.Denied/Echo", "")
	c.expect("Unauthenticated", "/a.Asked/Echo", "")
	c.expect("rpc1", "/a.Asked/Echo", "", "authorization", "Basic YW5uOng=")
	c.expect("Unavailable", "/a.Closed/Echo", "")
	c.call("/a.Counted/Echo", "")
	c.expect("ResourceExhausted", "/a.Counted/Echo", "")
	if got, _ := c.call("/a.Denied/Stream", "x"); got != "PermissionDenied" {
		t.Errorf("a stream that is denied ends with %s", got)
	}
}

// policyOfRule is a policy for one rule of the GRPCRoute calls.
func policyOfRule(name, groups string) string {
	return fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: gw, name: %[1]s}\nspec: {targetRefs: [{group: gateway.networking.k8s.io, kind: GRPCRoute, name: calls, sectionName: %[1]s}], %[2]s}\n", name, groups)
}

// TestGatewayPoliciesExample serves the example of docs/gateway/policies.md.
func TestGatewayPoliciesExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/gateway/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	b := newGatewayBed(t)
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{
		"services": "demo/shop http=8080 one@198.18.250.201\ndemo/admin http=8080 two@198.18.250.202",
		"in.yaml": example + `---
kind: Secret
metadata: {namespace: demo, name: admin-keys}
stringData: {ann: ann-key-0123456789abcdef}
`,
	}))
	b.expectAtListeners(t, `
80 GET http://shop.example.com/ -> 200 pod=one
80 GET http://shop.example.com/admin -> 401
80 GET http://shop.example.com/admin h:X-API-Key=ann-key-0123456789abcdef -> 200 pod=two
80 GET http://shop.example.com//admin -> 400
`)
	b.expectPolicy(t, "demo", "keys", "Protecting", "True Protecting", "")
	b.expectPolicy(t, "demo", "refused", "Protecting", "True Protecting", "")
}
