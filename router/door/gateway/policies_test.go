package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const twoRules = `
kind: HTTPRoute
metadata: {namespace: ns, name: r, uid: u, labels: {app: shop}}
spec:
  parentRefs: [{name: gw}]
  hostnames: [a.example.com]
  rules:
  - {name: one, backendRefs: [{name: web, port: 80}]}
  - {name: two, matches: [{path: {value: /two}}], backendRefs: [{name: web, port: 80}, {name: next, port: 8080}]}
`

const twoListeners = `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec: {gatewayClassName: fairlead, listeners: [{name: http, port: 80, protocol: HTTP}, {name: high, port: 8080, protocol: HTTP}]}
`

// denials are the denied addresses of each claim, by its rule in the route and its port, or
// "closed".
func (c *cluster) denials(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, claim := range c.route(t, "ns", "r").Claims {
		scope, _ := model.SplitHost(claim.Host)
		listener := "high"
		if scope == model.NewScope(model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}, "http") {
			listener = "http"
		}
		what := fmt.Sprint(claim.Backend.Policy().Deny)
		if claim.Closed {
			what = "closed"
		}
		out[claim.Rule[:3]+" "+listener] = what
	}
	return out
}

func denying(kind, name, scope, address string) string {
	return fmt.Sprintf("kind: %s\nmetadata: {%s}\nspec: {%s, access: {deny: [%s]}}", kind, name, scope, address)
}

// TestPolicyTargets: each way in which a policy can be for the rules of a route.
func TestPolicyTargets(t *testing.T) {
	t.Parallel()
	ref := func(kind, name, more string) string {
		return "targetRefs: [{group: gateway.networking.k8s.io, kind: " + kind + ", name: " + name + more + "}]"
	}
	const one = "namespace: ns, name: p"
	none, all, shut := "[]", "[198.18.0.1/32]", "closed"
	for _, test := range []struct {
		name, policy string
		// wants are those of the rules 0 and 1 at http, and at high.
		wants [4]string
	}{
		{"the route", denying("RoutePolicy", one, ref("HTTPRoute", "r", ""), "198.18.0.1"), [4]string{all, all, all, all}},
		{"a rule", denying("RoutePolicy", one, ref("HTTPRoute", "r", ", sectionName: two"), "198.18.0.1"), [4]string{none, all, none, all}},
		{"a rule that is not there", denying("RoutePolicy", one, ref("HTTPRoute", "r", ", sectionName: three"), "198.18.0.1"), [4]string{shut, shut, shut, shut}},
		{"another route", denying("RoutePolicy", one, ref("HTTPRoute", "other", ""), "198.18.0.1"), [4]string{none, none, none, none}},
		{"another kind", denying("RoutePolicy", one, ref("GRPCRoute", "r", ""), "198.18.0.1"), [4]string{none, none, none, none}},
		{"the route by its labels", denying("RoutePolicy", one, "targetSelector: {kind: HTTPRoute, matchLabels: {app: shop}}", "198.18.0.1"), [4]string{all, all, all, all}},
		{"others by their labels", denying("RoutePolicy", one, "targetSelector: {kind: HTTPRoute, matchLabels: {app: cart}}", "198.18.0.1"), [4]string{none, none, none, none}},
		{"Routes by these labels", denying("RoutePolicy", one, "targetSelector: {kind: Route, matchLabels: {app: shop}}", "198.18.0.1"), [4]string{none, none, none, none}},
		{"the namespace", denying("RoutePolicy", one, "cors: {origins: [\"*\"]}", "198.18.0.1"), [4]string{all, all, all, all}},
		{"another namespace", denying("RoutePolicy", "namespace: other, name: p", "cors: {origins: [\"*\"]}", "198.18.0.1"), [4]string{none, none, none, none}},
		{"the Gateway", denying("RoutePolicy", one, ref("Gateway", "gw", ""), "198.18.0.1"), [4]string{all, all, all, all}},
		{"a listener", denying("RoutePolicy", one, ref("Gateway", "gw", ", sectionName: high"), "198.18.0.1"), [4]string{none, none, all, all}},
		{"a listener that is not there", denying("RoutePolicy", one, ref("Gateway", "gw", ", sectionName: low"), "198.18.0.1"), [4]string{shut, shut, shut, shut}},
		{"the cluster", denying("ClusterRoutePolicy", "name: p", "mode: Default", "198.18.0.1"), [4]string{all, all, all, all}},
		{"a host", denying("ClusterRoutePolicy", "name: p", "mode: Override, hosts: [\"*.example.com\"]", "198.18.0.1"), [4]string{all, all, all, all}},
		{"another host", denying("ClusterRoutePolicy", "name: p", "mode: Override, hosts: [b.example.com]", "198.18.0.1"), [4]string{none, none, none, none}},
		{"what cannot be read", denying("RoutePolicy", one, ref("HTTPRoute", "r", ", sectionName: one"), "nonsense"), [4]string{shut, none, shut, none}},
		{"TLS to pods", "kind: RoutePolicy\nmetadata: {" + one + "}\nspec: {targetRefs: [{kind: Service, name: next}], upstream: {tls: {ca: a}}}", [4]string{none, shut, none, shut}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, manifests(web, twoListeners, twoRules, test.policy))
			want := map[string]string{"000 http": test.wants[0], "001 http": test.wants[1], "000 high": test.wants[2], "001 high": test.wants[3]}
			if d := cmp.Diff(want, c.denials(t)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestPolicyOfListener: rules at listeners with policies of their own have backends of their
// own, and those at listeners with the same ones share theirs.
func TestPolicyOfListener(t *testing.T) {
	t.Parallel()
	backends := func(policies ...string) (names []string) {
		c := newCluster(t, manifests(append([]string{web, twoListeners, twoRules}, policies...)...))
		for _, claim := range c.route(t, "ns", "r").Claims {
			if name := claim.Backend.Rule; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	if got := backends(); len(got) != 2 {
		t.Errorf("without policies: %v", got)
	}
	if got := backends(denying("RoutePolicy", "namespace: ns, name: p", "targetRefs: [{kind: Gateway, name: gw}]", "198.18.0.1")); len(got) != 2 {
		t.Errorf("with a policy of the Gateway: %v", got)
	}
	if got := backends(denying("RoutePolicy", "namespace: ns, name: p", "targetRefs: [{kind: Gateway, name: gw, sectionName: high}]", "198.18.0.1")); len(got) != 4 {
		t.Errorf("with a policy of one listener: %v", got)
	}
}

// TestRefusedProtected: a route that is refused and that a policy protects keeps its paths,
// closed, so that less specific routes do not get their requests.
func TestRefusedProtected(t *testing.T) {
	t.Parallel()
	refused := strings.Replace(twoRules, "{name: one, backend", "{name: one, filters: [{type: ExtensionRef}], backend", 1)
	if res := newCluster(t, manifests(web, twoListeners, refused)).route(t, "ns", "r"); len(res.Claims)+len(res.Barrier) > 0 {
		t.Errorf("without a policy: %d claims, %d closed", len(res.Claims), len(res.Barrier))
	}
	c := newCluster(t, manifests(web, twoListeners, refused, denying("RoutePolicy", "namespace: ns, name: p", "targetRefs: [{group: g, kind: HTTPRoute, name: r, sectionName: two}]", "198.18.0.1")))
	res := c.route(t, "ns", "r")
	if len(res.Claims) > 0 || len(res.Barrier) != 4 || slices.ContainsFunc(res.Barrier, func(c *model.Claim) bool { return !c.Closed }) {
		t.Errorf("%d claims, %d closed", len(res.Claims), len(res.Barrier))
	}
	if v := c.Object(res.Object); !(gateway.HTTPRoutes{}).Guarded(v, c, door.Settings{}) {
		t.Error("the route is not guarded")
	}
}

// TestPolicyWithoutPods: a policy is for a rule whatever its Services are, and closes it all
// the same.
func TestPolicyWithoutPods(t *testing.T) {
	t.Parallel()
	const missing = "backendRefs: [{name: nothing, port: 80}]"
	for address, closed := range map[string]bool{"198.18.0.1": false, "nonsense": true} {
		res := newCluster(t, manifests(plainGateway, rule(missing), denying("RoutePolicy", "namespace: ns, name: p", "targetRefs: [{kind: HTTPRoute, name: r}]", address))).route(t, "ns", "r")
		if res.Effective == nil || res.Claims[0].Closed != closed || (res.Claims[0].Answer == 0) != closed {
			t.Errorf("%s: %+v, claim %+v", address, res.Effective, res.Claims[0])
		}
	}
}

// TestMisplacedAnnotations: annotations of Routes that protect, or nearly have the name of one
// that does, close an HTTPRoute; others are said to have no effect. The one that names a
// RoutePolicy holds.
func TestMisplacedAnnotations(t *testing.T) {
	t.Parallel()
	const none, all, shut = "[]", "[198.18.0.1/32]", "closed"
	many := "fairlead.dev/a0: x"
	for i := range 1000 {
		many += fmt.Sprintf(", fairlead.dev/b%d: x", i)
	}
	for _, test := range []struct {
		annotation, want, finding string
	}{
		{`fairlead.dev/allow: "198.18.0.0/16"`, shut, "PolicyClosed"},
		{`haproxy.router.openshift.io/ip_allowlist: "198.18.0.0/16"`, shut, "PolicyClosed"},
		{`fairlead.dev/basic-secrets: users`, shut, "PolicyClosed"},
		{`fairlead.dev/policy: p`, all, ""},
		{`fairlead.dev/policy: missing`, shut, "PolicyClosed"},
		{`fairlead.dev/polici: p`, shut, "PolicyClosed"},
		{`fairlead.dev/colour: blue`, none, "UnknownAnnotation"},
		{`haproxy.router.openshift.io/timeout: 5s`, none, "UnknownAnnotation"},
		{`fairlead.dev/converted-from: route/shop`, none, ""},
		{`example.com/allow: "198.18.0.0/16"`, none, ""},
		{many, shut, "PolicyClosed"},
	} {
		t.Run(test.annotation[:min(len(test.annotation), 60)], func(t *testing.T) {
			t.Parallel()
			named := denying("RoutePolicy", "namespace: ns, name: p", "targetRefs: [{group: g, kind: HTTPRoute, name: other}]", "198.18.0.1")
			c := newCluster(t, manifests(web, twoListeners, strings.Replace(twoRules, "uid: u,", "uid: u, annotations: {"+test.annotation+"},", 1), named))
			for rule, got := range c.denials(t) {
				if got != test.want {
					t.Errorf("%s: %s, want %s", rule, got, test.want)
				}
			}
			if closes := test.want == shut || strings.Contains(test.annotation, "/policy"); closes != closedByGateway(t, test.annotation) {
				t.Errorf("on the Gateway it closes: %t", !closes)
			}
			if closes := test.want == shut || strings.Contains(test.annotation, "/policy"); closes != closedBySet(t, test.annotation) {
				t.Errorf("on the ListenerSet it closes: %t", !closes)
			}
			var reasons []string
			for _, f := range c.route(t, "ns", "r").Findings {
				reasons = append(reasons, string(f.Reason))
			}
			if want := strings.Fields(test.finding); !slices.Equal(reasons, want) {
				t.Errorf("findings %v, want %v", reasons, want)
			}
		})
	}
}

// closedByGateway reports whether an annotation of the Gateway closes its routes.
func closedByGateway(t *testing.T, annotation string) (closed bool) {
	t.Helper()
	c := newCluster(t, manifests(web, strings.Replace(twoListeners, "uid: g}", "uid: g, annotations: {"+annotation+"}}", 1), twoRules))
	for _, got := range c.denials(t) {
		closed = closed || got == "closed"
	}
	if said := fmt.Sprint(c.route(t, "ns", "r").Findings); closed && !strings.Contains(said, "Gateway ns/gw metadata.annotations") {
		t.Errorf("findings %s", said)
	}
	return closed
}

// closedBySet reports whether an annotation of a ListenerSet closes what comes in by it, and
// checks that it closes nothing else, and that the ListenerSet says so.
func closedBySet(t *testing.T, annotation string) bool {
	t.Helper()
	set := `
kind: ListenerSet
metadata: {namespace: ns, name: set, uid: s, annotations: {` + annotation + `}}
spec: {parentRef: {name: gw}, listeners: [{name: own, port: 81, protocol: HTTP}]}
`
	c := newCluster(t, manifests(web, strings.Replace(twoListeners, "{gatewayClassName", "{allowedListeners: {namespaces: {from: Same}}, gatewayClassName", 1), set,
		strings.Replace(twoRules, "[{name: gw}]", "[{name: gw}, {kind: ListenerSet, name: set}]", 1)))
	key := model.Object{Kind: gateway.KindListenerSet, Namespace: "ns", Name: "set"}
	own := model.NewScope(key, "own")
	res := c.route(t, "ns", "r")
	closed, open := 0, 0
	for _, claim := range res.Claims {
		scope, _ := model.SplitHost(claim.Host)
		switch {
		case scope == own && claim.Closed:
			closed++
		case scope == own:
			open++
		case claim.Closed:
			t.Errorf("it closes what comes in by the Gateway")
		}
	}
	if closed+open != 2 || closed*open > 0 {
		t.Errorf("%d closed, %d open", closed, open)
	}
	said := fmt.Sprint((gateway.ListenerSets{}).Ingest(c.Object(key), c, door.Settings{}, door.Past{}).Findings)
	if told := strings.Contains(said, "PolicyClosed"); told != (closed > 0) {
		t.Errorf("findings of the ListenerSet: %s", said)
	}
	if told := strings.Contains(said, "UnknownAnnotation"); told != strings.Contains(annotation, "colour") && !strings.Contains(annotation, "timeout") {
		t.Errorf("findings of the ListenerSet: %s", said)
	}
	if closed > 0 && !strings.Contains(fmt.Sprint(res.Findings), "ListenerSet ns/set metadata.annotations") {
		t.Errorf("findings %s", res.Findings)
	}
	return closed > 0
}

// TestMeasured: annotations of routes say how requests are counted, of routes of HTTP with objectives.
func TestMeasured(t *testing.T) {
	t.Parallel()
	measured := func(annotations string) (*model.Measure, []string) {
		t.Helper()
		c := newCluster(t, strings.Join([]string{twoListeners, strings.Replace(twoRules, "labels: {app: shop}", "annotations: {"+annotations+"}", 1), "kind: Service\nmetadata: {namespace: ns, name: web}\nspec: {ports: [{port: 80}]}"}, "\n---\n"))
		res := c.route(t, "ns", "r")
		var findings []string
		for _, f := range res.Findings {
			if strings.HasPrefix(f.Field, "metadata.annotations") {
				findings = append(findings, string(f.Reason)+" "+f.Field)
			}
		}
		return res.Measure, findings
	}
	if m, findings := measured(`fairlead.dev/metrics: detail, fairlead.dev/slo: "availability=99.5"`); m == nil || *m != (model.Measure{Detail: true, Availability: 99_500}) || len(findings) > 0 {
		t.Errorf("%+v, %v", m, findings)
	}
	if m, findings := measured(`fairlead.dev/metrics: some, fairlead.dev/slo: "availability=5"`); m != nil || !slices.Equal(findings, []string{"InvalidAnnotation metadata.annotations[fairlead.dev/metrics]", "InvalidAnnotation metadata.annotations[fairlead.dev/slo]"}) {
		t.Errorf("%+v, %v", m, findings)
	}
}

// TestLimitOutside: a limit for a path that no request of the rule has closes the rule, and one
// for the whole route may be for the path of any rule.
func TestLimitOutside(t *testing.T) {
	t.Parallel()
	const form = "kind: RoutePolicy\nmetadata: {namespace: ns, name: p}\nspec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r%s}], limits: {requests: [{name: a, requests: 1, match: {paths: [{value: %s}]}}]}}"
	narrow := strings.Replace(twoRules, "{name: one, backend", "{name: one, matches: [{path: {value: /one}}], backend", 1)
	for _, test := range []struct {
		name, section, path string
		wants               [2]string
	}{
		{"of the rule", ", sectionName: two", "/two/a", [2]string{"[]", "[]"}},
		{"above the rule", ", sectionName: two", "/", [2]string{"[]", "[]"}},
		{"of the other rule", ", sectionName: two", "/one", [2]string{"[]", "closed"}},
		{"of a rule of the route", "", "/one", [2]string{"[]", "[]"}},
		{"of no rule", "", "/three", [2]string{"closed", "closed"}},
		{"of no rule, though it begins alike", "", "/twofold", [2]string{"closed", "closed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := newCluster(t, manifests(web, twoListeners, narrow, fmt.Sprintf(form, test.section, test.path))).denials(t)
			want := map[string]string{"000 http": test.wants[0], "001 http": test.wants[1], "000 high": test.wants[0], "001 high": test.wants[1]}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
