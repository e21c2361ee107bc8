package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const grant = `
kind: ReferenceGrant
metadata: {namespace: other, name: g}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: ns}]
  to: [{group: "", kind: Service, name: web}]
`

// shares says where the requests of a claim go.
func shares(c *model.Claim) string {
	if c.Answer != 0 {
		return fmt.Sprint(c.Answer)
	}
	k := c.Backend.Policy().Canary
	if k == nil {
		return fmt.Sprintf("%d servers", len(c.Backend.Servers))
	}
	parts := []string{fmt.Sprintf("%d of %d", k.Left(), k.Total)}
	for _, b := range k.Branches {
		parts = append(parts, fmt.Sprintf("%d %s", b.Weight, b.Backend[strings.LastIndex(b.Backend, "_")+1:]))
	}
	return strings.Join(parts, ", ")
}

func TestBackends(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, refs, shares, resolved string }{
		{"one", "{name: web, port: 80}", "2 servers", "True ResolvedRefs"},
		{"without endpoints", "{name: empty, port: 8080}", "0 servers", "True ResolvedRefs"},
		{"none", "", "500", "True ResolvedRefs"},
		{"weights zero", "{name: web, port: 80, weight: 0}, {name: next, port: 8080, weight: 0}", "503", "True ResolvedRefs"},
		{"weights", "{name: web, port: 80, weight: 9}, {name: next, port: 8080}, {name: web, port: 81, weight: 0}", "9 of 10, 1 1:", "True ResolvedRefs"},
		{"no such Service", "{name: none, port: 80}", "500", "False BackendNotFound"},
		{"no such port", "{name: web, port: 8080}", "500", "False BackendNotFound"},
		{"no port", "{name: web}", "500", "False BackendNotFound"},
		{"one of two is missing", "{name: web, port: 80, weight: 3}, {name: none, port: 80, weight: 2}", "3 of 5, 2 500", "False BackendNotFound"},
		{"kind", "{name: web, port: 80, kind: Pod}", "500", "False InvalidKind"},
		{"group", "{name: web, port: 80, group: x}", "500", "False InvalidKind"},
		{"granted", "{name: web, port: 80, namespace: other}", "2 servers", "True ResolvedRefs"},
		{"not granted", "{name: secret, port: 80, namespace: other}", "500", "False RefNotPermitted"},
		{"protocol", "{name: tls, port: 443}", "500", "False UnsupportedProtocol"},
		{"the first reason of several", "{name: none, port: 80}, {name: web, kind: Pod}, {name: x, port: 1, namespace: other}", "500", "False RefNotPermitted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			res := newCluster(t, manifests(web, grant, plainGateway, rule("backendRefs: ["+test.refs+"]"))).route(t, "ns", "r")
			if len(res.Claims) != 1 {
				t.Fatalf("%d claims, findings %v", len(res.Claims), res.Findings)
			}
			got := shares(res.Claims[0])
			if i := strings.LastIndex(got, ":"); i > 0 {
				got = got[:i+1] // the hash of the backend
			}
			if resolved := condition(res.Parents[0].Conditions, "ResolvedRefs"); got != test.shares || resolved != test.resolved {
				t.Errorf("%s; ResolvedRefs %s; findings %v", got, resolved, res.Findings)
			}
			if condition(res.Parents[0].Conditions, "Accepted") != "True Accepted" {
				t.Errorf("parents %+v", res.Parents)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	res := newCluster(t, manifests(web, plainGateway, rule("backendRefs: [{name: tls, port: 80}, {name: web, port: 81}]"))).route(t, "ns", "r")
	c := res.Claims[0]
	for _, s := range c.Backend.Servers {
		if !s.Options.H2C || s.Address.Port() != 8081 || s.Options.CheckInterval != "5000ms" {
			t.Errorf("server %+v", s)
		}
	}
	if s := c.Split[0].Backend.Servers; len(s) != 2 || s[0].Options.H2C || s[0].Address.Port() != 8081 {
		t.Errorf("servers %+v", s)
	}
	if want := int64(2 * 2 * 720); c.Checks != want {
		t.Errorf("%d checks, want %d", c.Checks, want)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	res := newCluster(t, manifests(web, plainGateway, rule(`
backendRefs: [{name: web, port: 80}]
matches:
- {path: {value: /a/}}
- {path: {type: Exact, value: /a/}}
- {path: {type: RegularExpression, value: "/v[0-9]+/x"}}
- {method: POST, headers: [{name: X-A, value: "1"}, {name: x-a, value: "2"}], queryParams: [{name: Q, value: v}]}
- {headers: [{name: X-A, value: "a b|c", type: RegularExpression}, {name: x-a, value: "2"}], queryParams: [{name: Q, value: "v.*w", type: RegularExpression}]}`))).route(t, "ns", "r")
	var got []model.Match
	for _, c := range res.Claims {
		got = append(got, c.Match)
	}
	want := []model.Match{
		{Path: "/a"},
		{Path: "/a/", Exact: true},
		{Path: "/v", Conditions: &model.Conditions{Path: got[2].Conditions.Path}},
		{Conditions: &model.Conditions{Method: "POST", Headers: []model.Condition{{Name: "x-a", Value: "1"}}, Queries: []model.Condition{{Name: "Q", Value: "v"}}}},
		{Conditions: &model.Conditions{
			Headers: []model.Condition{{Name: "x-a", Value: "a b|c", Pattern: `\A(?:(?:a\x20b|c)\z)`, Longest: 2048, Certain: true}},
			Queries: []model.Condition{{Name: "Q", Value: "v.*w", Pattern: `\A(?:v[^\x0a]*w\z)`, Longest: 256}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e := got[2].Expression(); e == nil || e.Written != "/v[0-9]+/x" {
		t.Errorf("expression %+v", e)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rule, field string }{
		{"matches: [{path: {value: a}}]", "spec.rules[0].matches[0].path.value"},
		{`matches: [{path: {value: "/a b"}}]`, "spec.rules[0].matches[0].path.value"},
		{"matches: [{path: {type: Odd, value: /a}}]", "spec.rules[0].matches[0].path.type"},
		{`matches: [{path: {type: RegularExpression, value: "("}}]`, "spec.rules[0].matches[0].path.value"},
		{"matches: [{headers: [{name: a, value: b, type: Odd}]}]", "spec.rules[0].matches[0].headers[0].type"},
		{`matches: [{headers: [{name: a, value: "a)|(?:b", type: RegularExpression}]}]`, "spec.rules[0].matches[0].headers[0].value"},
		{`matches: [{headers: [{name: a, value: "(a+)+x", type: RegularExpression}]}]`, "spec.rules[0].matches[0].headers[0].value"},
		{`matches: [{headers: [{name: a, value: "a\nb", type: RegularExpression}]}]`, "spec.rules[0].matches[0].headers[0].value"},
		{`matches: [{headers: [{name: a, value: "\\pL", type: RegularExpression}]}]`, "spec.rules[0].matches[0].headers[0].value"},
		{`matches: [{headers: [{name: a, value: "` + strings.Repeat("a", 513) + `", type: RegularExpression}]}]`, "spec.rules[0].matches[0].headers[0].value"},
		{`matches: [{queryParams: [{name: a, value: "(?=b)", type: RegularExpression}]}]`, "spec.rules[0].matches[0].queryParams[0].value"},
		{`matches: [{headers: [{name: "a b", value: b}]}]`, "spec.rules[0].matches[0].headers[0].name"},
		{"matches: [{queryParams: [{name: a, value: b, type: Odd}]}]", "spec.rules[0].matches[0].queryParams[0].type"},
		{"matches: [{method: a b}]", "spec.rules[0].matches[0].method"},
		{"filters: [{type: ExtensionRef}]", "spec.rules[0].filters[0].type"},
		{"filters: [{type: RequestMirror}]", "spec.rules[0].filters[0]"},
		{"filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 80}}}]", "spec.rules[0].filters[0].requestMirror"}, // without an agent
		{"filters: [{type: CORS}]", "spec.rules[0].filters[0]"},
		{`filters: [{type: CORS, cors: {allowOrigins: ["https://a.test", "https://a b"]}}]`, "spec.rules[0].filters[0].cors.allowOrigins[1]"},
		{`filters: [{type: CORS, cors: {allowOrigins: ["https://a.test:99999"]}}]`, "spec.rules[0].filters[0].cors.allowOrigins[0]"},
		{`filters: [{type: CORS, cors: {allowMethods: ["GET|"]}}]`, "spec.rules[0].filters[0].cors.allowMethods[0]"},
		{`filters: [{type: CORS, cors: {allowHeaders: ["a|b"]}}]`, "spec.rules[0].filters[0].cors.allowHeaders[0]"},
		{`filters: [{type: CORS, cors: {exposeHeaders: ["a, b"]}}]`, "spec.rules[0].filters[0].cors.exposeHeaders[0]"},
		{"filters: [{type: Odd}]", "spec.rules[0].filters[0].type"},
		{"filters: [{type: URLRewrite}]", "spec.rules[0].filters[0]"},
		{"filters: [{type: URLRewrite, urlRewrite: {hostname: a_b}}]", "spec.rules[0].filters[0].urlRewrite.hostname"},
		{"filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath}}}]", "spec.rules[0].filters[0].urlRewrite.path"},
		{"filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]\nmatches: [{path: {type: Exact, value: /a}}]", "spec.rules[0].matches[0].path.type"},
		{"filters: [{type: URLRewrite, urlRewrite: {}}, {type: URLRewrite, urlRewrite: {}}]", "spec.rules[0].filters[1]"},
		{"filters: [{type: URLRewrite, urlRewrite: {}}, {type: RequestRedirect, requestRedirect: {}}]", "spec.rules[0].filters"},
		{"filters: [{type: RequestRedirect, requestRedirect: {statusCode: 200}}]", "spec.rules[0].filters[0].requestRedirect.statusCode"},
		{"filters: [{type: RequestRedirect, requestRedirect: {scheme: ftp}}]", "spec.rules[0].filters[0].requestRedirect.scheme"},
		{"filters: [{type: RequestRedirect, requestRedirect: {}}]\nbackendRefs: [{name: web, port: 80}]", "spec.rules[0].backendRefs"},
		{`filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: a}]}}]`, "spec.rules[0].filters[0].requestHeaderModifier.set[0].name"},
		{`filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: a, value: "b\nc"}]}}]`, "spec.rules[0].filters[0].responseHeaderModifier.add[0].value"},
		{"timeouts: {request: 5}", "spec.rules[0].timeouts.request"},
		{"sessionPersistence: {}", "spec.rules[0].sessionPersistence"},
		{"backendRefs: [{name: web, port: 80, filters: [{type: URLRewrite}]}]", "spec.rules[0].backendRefs[0].filters[0]"},
		{"backendRefs: [{name: web, port: 80, filters: [{type: CORS, cors: {}}]}]", "spec.rules[0].backendRefs[0].filters[0].type"},
		{"backendRefs: [{name: web, port: 80, filters: [{type: URLRewrite, urlRewrite: {hostname: 'a|b'}}]}]", "spec.rules[0].backendRefs[0].filters[0].urlRewrite.hostname"},
		{`backendRefs: [{name: web, port: 80, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: "/a b"}}}]}]`, "spec.rules[0].backendRefs[0].filters[0].urlRewrite.path"},
		{"backendRefs: [{name: web, port: 80, filters: [{type: URLRewrite, urlRewrite: {}}, {type: URLRewrite, urlRewrite: {}}]}]", "spec.rules[0].backendRefs[0].filters[1]"},
		{"matches: [{path: {type: Exact, value: /a}}]\nbackendRefs: [{name: web, port: 80, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]}]", "spec.rules[0].matches[0].path.type"},
		{
			"backendRefs: [{name: web, port: 80, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: " + strings.Repeat("b", 8000) + "}]}}, " +
				"{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /" + strings.Repeat("a", 200) + "}}}]}]",
			"spec.rules[0].backendRefs[0].filters",
		},
		{"backendRefs: [{name: web, port: 80, filters: [{type: RequestHeaderModifier}]}]", "spec.rules[0].backendRefs[0].filters[0]"},
		{"backendRefs: [{name: web, port: 80, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: a}]}}]}]", "spec.rules[0].backendRefs[0].filters[0].requestHeaderModifier.set[0].name"},
	} {
		res := newCluster(t, manifests(web, plainGateway, rule(test.rule))).route(t, "ns", "r")
		if len(res.Claims) != 0 || len(res.Findings) == 0 || res.Findings[0].Field != test.field || res.Parents[0].Listeners != nil {
			t.Errorf("%s: %d claims, findings %v, attached to %v", test.rule, len(res.Claims), res.Findings, res.Parents[0].Listeners)
		}
		if accepted := condition(res.Parents[0].Conditions, "Accepted"); accepted != "False UnsupportedValue" && accepted != "False IncompatibleFilters" {
			t.Errorf("%s: Accepted %s", test.rule, accepted)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	res := newCluster(t, manifests(web, plainGateway, rule(`
backendRefs: [{name: web, port: 80}]
matches: [{path: {value: /a}}, {path: {value: /}}]
timeouts: {request: 2s, backendRequest: 500ms}
filters:
- {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-S, value: 100%}], add: [{name: X-A, value: a}], remove: [X-R]}}
- {type: URLRewrite, urlRewrite: {hostname: pod.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /b/}}}`)+`
  - backendRefs: [{name: web, port: 80}]
    timeouts: {request: 0s}
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: "/a|b"}}}]`)).route(t, "ns", "r")
	if len(res.Claims) != 3 {
		t.Fatalf("%d claims, findings %v", len(res.Claims), res.Findings)
	}
	p := res.Claims[0].Backend.Policy()
	want := []model.HeaderAction{{Name: "X-S", Value: "100%%"}, {Name: "X-A", Value: "a", Add: true}, {Name: "X-R", Delete: true}}
	if diff := cmp.Diff(want, p.RequestHeaders); diff != "" || p.PodHost != "pod.test" || p.Timeouts.Server.Milliseconds() != 500 {
		t.Errorf("policy %+v %s", p, diff)
	}
	for i, rewrite := range []model.Rewrite{{Strip: 2, To: "/b", Empty: "/b/"}, {To: "/b", Empty: "/b/"}, {Strip: 1 << 20, Empty: "/a%7Cb"}} {
		if diff := cmp.Diff(&rewrite, res.Claims[i].Backend.Policy().Rewrite); diff != "" {
			t.Errorf("claim %d: %s", i, diff)
		}
	}
	if res.Claims[0].Backend.Name() == res.Claims[1].Backend.Name() {
		t.Error("two policies, and one name of a backend")
	}
	if h := res.Claims[2].Backend.Policy().Timeouts.Server.Hours(); h != 24*24 {
		t.Errorf("timeout of %v hours", h)
	}
}

// TestRedirects compares addresses with those of the API's table.
func TestRedirects(t *testing.T) {
	t.Parallel()
	on := strings.Replace(plainGateway, "port: 80", "port: 8080", 1)
	for _, test := range []struct{ gateway, redirect, want string }{
		{plainGateway, "{}", "302 http://:0"},
		{on, "{}", "302 http://:8080"},
		{on, "{scheme: http}", "302 http://:0"},
		{plainGateway, "{scheme: https, statusCode: 301}", "301 https://:0"},
		{plainGateway, "{scheme: https, port: 443}", "302 https://:0"},
		{on, "{scheme: https, port: 80, statusCode: 308}", "308 https://:80"},
		{on, "{hostname: a.test, port: 80}", "302 http://a.test:0"},
	} {
		res := newCluster(t, manifests(web, test.gateway, rule("filters: [{type: RequestRedirect, requestRedirect: "+test.redirect+"}]"))).route(t, "ns", "r")
		if len(res.Claims) != 1 {
			t.Fatalf("%s: findings %v", test.redirect, res.Findings)
		}
		r := res.Claims[0].Backend.Policy().Redirects[0]
		if got := fmt.Sprintf("%d %s://%s:%d", r.Status, r.Scheme, r.Host, r.Port); got != test.want {
			t.Errorf("%s: %s, want %s", test.redirect, got, test.want)
		}
	}
	for _, test := range []struct{ prefix, to, path, want string }{
		{"/foo/", "/bar", "/foo/x", "/bar/x"},
		{"/foo", "/bar/", "/foo", "/bar/"},
		{"/foo", "/bar", "/foo/", "/bar/"},
		{"/foo", "/", "/foo", "/"},
		{"/foo", "/", "/foo/x", "/x"},
		{"/foo", "", "/foo/x", "/x"},
		{"/foo", "", "/foo", "/"},
		{"/", "/bar", "/x", "/bar/x"},
	} {
		res := newCluster(t, manifests(web, plainGateway, rule("matches: [{path: {value: "+test.prefix+"}}]\nfilters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplacePrefixMatch, replacePrefixMatch: \""+test.to+"\"}}}]"))).route(t, "ns", "r")
		got := ""
		for _, r := range res.Claims[0].Backend.Policy().Redirects {
			if got == "" && (!r.Exact || r.Path == test.path) {
				got = r.Target(test.path)
			}
		}
		if got != test.want {
			t.Errorf("%s of %s by %s: %s, want %s", test.path, test.prefix, test.to, got, test.want)
		}
	}
}

// TestOthers has the doors take objects of other types for nothing.
func TestOthers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, manifests(plainGateway, rule("backendRefs: []")))
	route := c.objects[model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r"}]
	if (gateway.Gateways{}).Content(route) != nil || (gateway.HTTPRoutes{}).Content(route) == nil {
		t.Error("content of another kind")
	}
}
