package gateway_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// grpcRule makes a GRPCRoute with one rule, in namespace ns and attached to Gateway gw.
func grpcRule(text string) string {
	return strings.Replace(rule(text), "HTTPRoute", "GRPCRoute", 1)
}

const anyGRPC = `
kind: ReferenceGrant
metadata: {namespace: other, name: g}
spec:
  from: [{group: gateway.networking.k8s.io, kind: GRPCRoute, namespace: ns}]
  to: [{group: "", kind: Service, name: web}]
`

func TestGRPCBackends(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, refs, shares, resolved string }{
		{"without a protocol", "{name: web, port: 80}", "2 servers", "True ResolvedRefs"},
		{"h2c", "{name: tls, port: 80}", "2 servers", "True ResolvedRefs"},
		{"grpc", "{name: grpc, port: 80}", "2 servers", "True ResolvedRefs"},
		{"not HTTP/2", "{name: grpc, port: 81}", "503", "False UnsupportedProtocol"},
		{"none", "", "503", "True ResolvedRefs"},
		{"weights zero", "{name: web, port: 80, weight: 0}", "503", "True ResolvedRefs"},
		{"no such Service", "{name: none, port: 80}", "503", "False BackendNotFound"},
		{"one of two is missing", "{name: web, port: 80, weight: 3}, {name: none, port: 80, weight: 2}", "3 of 5, 2 503", "False BackendNotFound"},
		{"granted", "{name: web, port: 80, namespace: other}", "2 servers", "True ResolvedRefs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			res := newCluster(t, manifests(web, anyGRPC, plainGateway, grpcRule("backendRefs: ["+test.refs+"]"))).grpcRoute(t, "ns", "r")
			if len(res.Claims) != 1 {
				t.Fatalf("%d claims, findings %v", len(res.Claims), res.Findings)
			}
			c := res.Claims[0]
			if got, resolved := shares(c), condition(res.Parents[0].Conditions, "ResolvedRefs"); got != test.shares || resolved != test.resolved {
				t.Errorf("%s; ResolvedRefs %s; findings %v", got, resolved, res.Findings)
			}
			for _, s := range c.Backend.Servers {
				if !s.Options.H2C {
					t.Errorf("HTTP/1.1 to %+v", s)
				}
			}
		})
	}
	// A grant for HTTPRoutes is none for GRPCRoutes.
	res := newCluster(t, manifests(web, grant, plainGateway, grpcRule("backendRefs: [{name: web, port: 80, namespace: other}]"))).grpcRoute(t, "ns", "r")
	if got := condition(res.Parents[0].Conditions, "ResolvedRefs"); got != "False RefNotPermitted" {
		t.Errorf("ResolvedRefs %s", got)
	}
}

// TestGRPCMatches: methods are paths, and what leaves the service open is an expression of
// whole paths.
func TestGRPCMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		match string
		want  model.Match
		// is and isNot are paths that an expression matches and does not.
		is, isNot []string
	}{
		{"{method: {service: a.b.S, method: M}}", model.Match{Path: "/a.b.S/M", Exact: true}, nil, nil},
		{"{method: {service: a.b.S}}", model.Match{Path: "/a.b.S"}, nil, nil},
		{"{method: {type: Exact, method: M}}", model.Match{Path: "/"}, []string{"/a.S/M", "/b/M"}, []string{"/a.S/MM", "/a.S/m", "/M", "/a/b/M"}},
		{"{method: {type: RegularExpression, service: 'a|b[.].*'}}", model.Match{Path: "/"}, []string{"/a/M", "/b.c/M"}, []string{"/ab/M", "/b/M", "/a/M/"}},
		{"{method: {type: RegularExpression, service: a, method: Get|Put}}", model.Match{Path: "/a/"}, []string{"/a/Get", "/a/Put"}, []string{"/a/Gets", "/b/Get"}},
		{"{method: {type: RegularExpression, method: 'Get.*'}}", model.Match{Path: "/"}, []string{"/a/Get", "/a/GetAll"}, []string{"/a/b/Get", "/a/Put"}},
		{"{}", model.Match{}, nil, nil},
	} {
		res := newCluster(t, manifests(web, plainGateway, grpcRule("backendRefs: [{name: web, port: 80}]\nmatches: ["+test.match+"]"))).grpcRoute(t, "ns", "r")
		if len(res.Claims) != 1 {
			t.Errorf("%s: %d claims, findings %v", test.match, len(res.Claims), res.Findings)
			continue
		}
		got := res.Claims[0].Match
		if e := got.Expression(); (e != nil) != (test.is != nil) {
			t.Errorf("%s: expression %+v", test.match, e)
		} else if e != nil {
			for _, path := range test.is {
				if regex.Match(e.Pattern, path) == nil || !strings.HasPrefix(path, got.Path) {
					t.Errorf("%s does not match %s", test.match, path)
				}
			}
			for _, path := range test.isNot {
				if regex.Match(e.Pattern, path) != nil {
					t.Errorf("%s matches %s", test.match, path)
				}
			}
			got.Conditions = nil
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.match, diff)
		}
	}
	res := newCluster(t, manifests(web, plainGateway, grpcRule("backendRefs: [{name: web, port: 80}]\nmatches: [{headers: [{name: X-A, value: v}, {name: x-a, value: w}]}]"))).grpcRoute(t, "ns", "r")
	want := model.Match{Conditions: &model.Conditions{Headers: []model.Condition{{Name: "x-a", Value: "v"}}}}
	if diff := cmp.Diff(want, res.Claims[0].Match); diff != "" {
		t.Error(diff)
	}
}

func TestGRPCRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rule, field string }{
		{"matches: [{method: {}}]", "spec.rules[0].matches[0].method"},
		{"matches: [{method: {type: Odd, service: a}}]", "spec.rules[0].matches[0].method.type"},
		{"matches: [{method: {service: a/b}}]", "spec.rules[0].matches[0].method.service"},
		{"matches: [{method: {service: a, method: b.c}}]", "spec.rules[0].matches[0].method.method"},
		{"matches: [{method: {service: \"a\\n\"}}]", "spec.rules[0].matches[0].method.service"},
		{"matches: [{method: {type: RegularExpression, service: \"a)|(?:b\"}}]", "spec.rules[0].matches[0].method.service"},
		{"matches: [{method: {type: RegularExpression, method: \"(\"}}]", "spec.rules[0].matches[0].method.method"},
		{"matches: [{method: {type: RegularExpression, service: \".*\", method: \".*x\"}}]", "spec.rules[0].matches[0].method"},
		{"matches: [{headers: [{name: a, value: b, type: Odd}]}]", "spec.rules[0].matches[0].headers[0].type"},
		{"matches: [{headers: [{name: a, value: \"(a*)*\", type: RegularExpression}]}]", "spec.rules[0].matches[0].headers[0].value"},
		{"filters: [{type: ExtensionRef}]", "spec.rules[0].filters[0].type"},
		{"filters: [{type: URLRewrite}]", "spec.rules[0].filters[0]"},
		{"filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 80}, percent: 101}}]", "spec.rules[0].filters[0].requestMirror"},
		{"filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: a}]}}]", "spec.rules[0].filters[0].requestHeaderModifier.set[0].name"},
		{"sessionPersistence: {}", "spec.rules[0].sessionPersistence"},
		{"backendRefs: [{name: web, port: 80, filters: [{type: ResponseHeaderModifier}]}]", "spec.rules[0].backendRefs[0].filters[0].type"},
	} {
		res := newCluster(t, manifests(web, plainGateway, grpcRule(test.rule))).grpcRoute(t, "ns", "r")
		if len(res.Claims) != 0 || len(res.Findings) != 1 || res.Findings[0].Field != test.field || res.Findings[0].Object.Kind != "GRPCRoute" || res.Parents[0].Listeners != nil {
			t.Errorf("%s: %d claims, findings %v, attached to %v", test.rule, len(res.Claims), res.Findings, res.Parents[0].Listeners)
		}
		if accepted := condition(res.Parents[0].Conditions, "Accepted"); accepted != "False UnsupportedValue" {
			t.Errorf("%s: Accepted %s", test.rule, accepted)
		}
	}
}

// TestGRPCMirror: copies of calls have their message, and go by HTTP/2.
func TestGRPCMirror(t *testing.T) {
	t.Parallel()
	const mirror = "filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 80}}}]\nbackendRefs: [{name: web, port: 80}]"
	res := newCluster(t, manifests(web, plainGateway, grpcRule(mirror))).grpcRoute(t, "ns", "r")
	if len(res.Claims) != 1 {
		t.Fatalf("findings %v", res.Findings)
	}
	m := res.Claims[0].Backend.Policy().Mirror
	if m == nil || !strings.Contains(m.Agent.Policy, `"http2":true`) || m.Targets[0].Body != 16384 || m.Targets[0].Share != 10000 {
		t.Errorf("mirror %+v", m)
	}
}

// TestGRPCKinds: allowedRoutes.kinds admits the one kind and not the other.
func TestGRPCKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"GRPCRoute": "True Accepted", "HTTPRoute": "False NotAllowedByListeners"} {
		gw := strings.Replace(plainGateway, "protocol: HTTP", "protocol: HTTP, allowedRoutes: {kinds: [{kind: "+kind+"}]}", 1)
		res := newCluster(t, manifests(web, gw, grpcRule("backendRefs: [{name: web, port: 80}]"))).grpcRoute(t, "ns", "r")
		if got := condition(res.Parents[0].Conditions, "Accepted"); got != want || (len(res.Claims) == 1) != strings.HasPrefix(want, "True") {
			t.Errorf("listener for %s: %s, %d claims", kind, got, len(res.Claims))
		}
	}
}

// TestGRPCVersions: a version that was served comes back as it was.
func TestGRPCVersions(t *testing.T) {
	t.Parallel()
	c := newCluster(t, manifests(web, plainGateway, grpcRule("matches: [{method: {service: a, method: b}}]\nbackendRefs: [{name: web, port: 80}]")))
	route := c.objects[model.Object{Kind: gateway.KindGRPCRoute, Namespace: "ns", Name: "r"}]
	again, err := gateway.GRPCRoutes{}.Decode([]byte(`{"metadata":{"namespace":"ns","name":"r","uid":"u"},"spec":{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"method":{"service":"a","method":"b"}}],"backendRefs":[{"name":"web","port":80}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff((gateway.GRPCRoutes{}).Content(route), (gateway.GRPCRoutes{}).Content(again)); diff != "" {
		t.Error(diff)
	}
	if (gateway.GRPCRoutes{}).Content(c.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}]) != nil {
		t.Error("content of another kind")
	}
	if res := (gateway.HTTPRoutes{}).Ingest(route, c, door.Settings{}, door.Past{}); len(res.Claims) != 0 {
		t.Error("a GRPCRoute is no HTTPRoute")
	}
}
