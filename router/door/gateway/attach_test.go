package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const listeners = `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: any, port: 80, protocol: HTTP}
  - {name: exact, port: 80, protocol: HTTP, hostname: shop.example.com}
  - {name: wild, port: 80, protocol: HTTP, hostname: "*.example.com", allowedRoutes: {namespaces: {from: All}}}
  - {name: chosen, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: a}}}}}
  - {name: tls, port: 443, protocol: HTTPS, allowedRoutes: {namespaces: {from: All}}}
  - {name: grpc, port: 8080, protocol: HTTP, hostname: g.test, allowedRoutes: {namespaces: {from: All}, kinds: [{kind: GRPCRoute}]}}
---
kind: Namespace
metadata: {name: b, labels: {team: a}}
---
kind: Namespace
metadata: {name: c, labels: {team: c}}`

func TestAttachment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, namespace, parent, hosts, accepted, attached string }{
		{"all listeners of its namespace", "ns", "{name: gw}", "", "True Accepted", "any exact wild tls"},
		{"sectionName", "ns", "{name: gw, sectionName: exact}", "", "True Accepted", "exact"},
		{"port", "ns", "{name: gw, port: 443}", "", "True Accepted", "tls"},
		{"port and sectionName that do not meet", "ns", "{name: gw, port: 443, sectionName: exact}", "", "False NoMatchingParent", ""},
		{"no such section", "ns", "{name: gw, sectionName: none}", "", "False NoMatchingParent", ""},
		{"another namespace", "c", "{name: gw, namespace: ns}", "", "True Accepted", "wild tls"},
		{"another namespace, and a listener for its own", "c", "{name: gw, namespace: ns, sectionName: any}", "", "False NotAllowedByListeners", ""},
		{"labels of the namespace", "b", "{name: gw, namespace: ns, sectionName: chosen}", "", "True Accepted", "chosen"},
		{"other labels", "c", "{name: gw, namespace: ns, sectionName: chosen}", "", "False NotAllowedByListeners", ""},
		{"a namespace that is not known", "d", "{name: gw, namespace: ns, sectionName: chosen}", "", "False NotAllowedByListeners", ""},
		{"kind", "ns", "{name: gw, sectionName: grpc}", "", "False NotAllowedByListeners", ""},
		{"hostname", "ns", "{name: gw}", "shop.example.com", "True Accepted", "any exact wild tls"},
		{"another hostname", "ns", "{name: gw, sectionName: exact}", "www.example.com", "False NoMatchingListenerHostname", ""},
		{"the base of a wildcard", "ns", "{name: gw, sectionName: wild}", "example.com", "False NoMatchingListenerHostname", ""},
		{"many labels below a wildcard", "ns", "{name: gw, sectionName: wild}", "a.b.example.com", "True Accepted", "wild"},
		{"a wider wildcard", "ns", "{name: gw, sectionName: exact}", `"*.com"`, "True Accepted", "exact"},
		{"a narrower wildcard", "ns", "{name: gw, sectionName: wild}", `"*.b.example.com"`, "True Accepted", "wild"},
		{"a Gateway that is not there", "ns", "{name: none}", "", "", ""},
		{"another kind of parent", "ns", "{name: gw, group: \"\", kind: Service}", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			route := "kind: HTTPRoute\nmetadata: {namespace: " + test.namespace + ", name: r}\nspec: {parentRefs: [" + test.parent + "], hostnames: [" + test.hosts + "], rules: [{}]}"
			res := newCluster(t, manifests(listeners, route)).route(t, test.namespace, "r")
			var accepted, attached string
			if len(res.Parents) > 0 {
				accepted, attached = condition(res.Parents[0].Conditions, "Accepted"), strings.Join(res.Parents[0].Listeners, " ")
			}
			if accepted != test.accepted || attached != test.attached {
				t.Errorf("Accepted %q, attached to %q; findings %v", accepted, attached, res.Findings)
			}
			if (accepted == "True Accepted") != (len(res.Findings) == 0 || !strings.Contains(res.Findings[0].Field, "parentRefs")) && accepted != "" {
				t.Errorf("findings %v", res.Findings)
			}
		})
	}
}

// TestHosts has the hostname of the route in each claim, so that this one decides which
// comes first.
func TestHosts(t *testing.T) {
	t.Parallel()
	route := `
kind: HTTPRoute
metadata: {namespace: ns, name: r}
spec:
  parentRefs: [{name: gw, sectionName: exact}, {name: gw, sectionName: wild}, {name: gw, sectionName: exact, port: 80}]
  hostnames: ["*.com", shop.example.com, other.test]
  rules: [{matches: [{path: {value: /a}}, {path: {value: /b}}]}]`
	res := newCluster(t, manifests(listeners, route)).route(t, "ns", "r")
	gw := model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}
	exact, wild := model.NewScope(gw, "exact"), model.NewScope(gw, "wild")
	var got []string
	for _, c := range res.Claims {
		got = append(got, c.Host+c.Path)
	}
	want := []string{
		model.ScopedHost(exact, "*.com/a"), model.ScopedHost(exact, "*.com/b"), model.ScopedHost(exact, "shop.example.com/a"), model.ScopedHost(exact, "shop.example.com/b"),
		model.ScopedHost(wild, "*.com/a"), model.ScopedHost(wild, "*.com/b"), model.ScopedHost(wild, "shop.example.com/a"), model.ScopedHost(wild, "shop.example.com/b"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(res.Parents) != 3 || res.Parents[0].Ref == res.Parents[2].Ref {
		t.Errorf("parents %+v", res.Parents)
	}
}

// TestRuleOrder has rules sort by their place in the route.
func TestRuleOrder(t *testing.T) {
	t.Parallel()
	res := newCluster(t, manifests(web, plainGateway, rule("backendRefs: [{name: web, port: 80}]\nmatches: ["+strings.Repeat("{path: {value: /a}},", 12)+"]")+
		"\n  - {backendRefs: [{name: web, port: 80}]}")).route(t, "ns", "r")
	var rules []string
	for _, c := range res.Claims {
		rules = append(rules, c.Rule)
	}
	if len(rules) != 13 || !slices.IsSorted(rules) || !strings.HasPrefix(rules[12], "001-000-") {
		t.Errorf("rules %q", rules)
	}
}

func TestTooManyClaims(t *testing.T) {
	t.Parallel()
	var hosts []string
	for c := range 16 {
		hosts = append(hosts, string(rune('a'+c))+".example.com")
	}
	matches := "matches: [" + strings.Repeat("{path: {value: /a}},", 64) + "]"
	text := rule(matches+"\nbackendRefs: []") + "\n  - {" + matches + "}"
	route := strings.Replace(text, "spec:\n", "spec:\n  hostnames: ["+strings.Join(hosts, ", ")+"]\n", 1)
	all := strings.Replace(listeners, "{name: any, port: 80, protocol: HTTP}", "{name: any, port: 80, protocol: HTTP}\n  - {name: more, port: 8081, protocol: HTTP}", 1)
	res := newCluster(t, manifests(all, route)).route(t, "ns", "r")
	if len(res.Claims) > 0 || condition(res.Parents[0].Conditions, "Accepted") != "False UnsupportedValue" || !strings.Contains(res.Findings[0].Message, "combinations") {
		t.Errorf("%d claims, %+v", len(res.Claims), res.Parents)
	}
}

// TestPortUnavailable: listeners without a slot are not accepted where none is left for their namespace.
// Those that have one are.
func TestPortUnavailable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: good, port: 80, protocol: HTTP}
  - {name: none, port: 82, protocol: HTTP}
  - {name: tcp, port: 84, protocol: TCP}
  - {name: odd, port: 83, protocol: example.com/odd}`)
	for _, full := range []string{"", "H of other", "H of ns"} {
		none := map[bool]string{true: "False PortUnavailable, False Invalid", false: "True Accepted, False Pending"}[full == "H of ns"]
		c.full = full
		res := gateway.Gateways{}.Ingest(c.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}], c, door.Settings{}, door.Past{})
		for i, want := range []string{"True Accepted, True Programmed", none, "True Accepted, False Pending", "False UnsupportedProtocol, False Invalid"} {
			l := res.ListenerStatus[i]
			if got := condition(l.Conditions, "Accepted") + ", " + condition(l.Conditions, "Programmed"); got != want {
				t.Errorf("%q is full: listener %s: %s, want %s", full, l.Name, got, want)
			}
		}
		if said := slices.ContainsFunc(res.Findings, func(f api.Finding) bool { return strings.HasPrefix(f.Message, "PortUnavailable: ") }); said != (full == "H of ns") {
			t.Errorf("%q is full: findings %v", full, res.Findings)
		}
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	text := `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: good, port: 80, protocol: HTTP}
  - {name: twice, port: 81, protocol: HTTP, hostname: a.test}
  - {name: again, port: 81, protocol: HTTP, hostname: A.test}
  - {name: none, port: 82, protocol: HTTP}
  - {name: odd, port: 83, protocol: example.com/odd}
  - {name: kinds, port: 8080, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {kind: TCPRoute}]}}
  - {name: nokinds, port: 8080, hostname: b.test, protocol: HTTP, allowedRoutes: {kinds: [{group: x, kind: HTTPRoute}]}}
  - {name: tls, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: c, namespace: other}]}}
  - {name: plain, port: 444, protocol: HTTPS, tls: {certificateRefs: [{name: c}]}}
  - {name: pass, port: 446, protocol: TLS, tls: {mode: Passthrough}}
  - {name: wrong, port: 447, protocol: TLS, tls: {mode: Passthrough}, allowedRoutes: {kinds: [{kind: TLSRoute}, {kind: TCPRoute}]}}
  - {name: tcp, port: 448, protocol: TCP}
  - {name: map, port: 445, protocol: HTTPS, tls: {certificateRefs: [{kind: ConfigMap, name: c}]}}`
	c := newCluster(t, text)
	res := gateway.Gateways{}.Ingest(c.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}], c, door.Settings{}, door.Past{})
	want := map[string]string{
		"good":    "True Accepted, False NoConflicts, True ResolvedRefs, True Programmed HTTPRoute GRPCRoute",
		"twice":   "False HostnameConflict, True HostnameConflict, True ResolvedRefs, False Invalid HTTPRoute GRPCRoute",
		"again":   "False HostnameConflict, True HostnameConflict, True ResolvedRefs, False Invalid HTTPRoute GRPCRoute",
		"none":    "True Accepted, False NoConflicts, True ResolvedRefs, False Pending HTTPRoute GRPCRoute",
		"odd":     "False UnsupportedProtocol, False NoConflicts, True ResolvedRefs, False Invalid ",
		"kinds":   "True Accepted, False NoConflicts, False InvalidRouteKinds, True Programmed HTTPRoute",
		"nokinds": "True Accepted, False NoConflicts, False InvalidRouteKinds, True Programmed ",
		"tls":     "True Accepted, False NoConflicts, False RefNotPermitted, False Invalid HTTPRoute GRPCRoute",
		"plain":   "True Accepted, False NoConflicts, True ResolvedRefs, False Pending HTTPRoute GRPCRoute",
		"pass":    "True Accepted, False NoConflicts, True ResolvedRefs, False Pending TLSRoute",
		"wrong":   "True Accepted, False NoConflicts, False InvalidRouteKinds, False Pending TLSRoute",
		"tcp":     "True Accepted, False NoConflicts, True ResolvedRefs, False Pending TCPRoute",
		"map":     "True Accepted, False NoConflicts, False InvalidCertificateRef, False Invalid HTTPRoute GRPCRoute",
	}
	got := map[string]string{}
	for _, l := range res.ListenerStatus {
		var parts []string
		for _, kind := range []string{"Accepted", "Conflicted", "ResolvedRefs", "Programmed"} {
			parts = append(parts, condition(l.Conditions, kind))
		}
		got[l.Name] = strings.Join(parts, ", ") + " " + strings.Join(l.Kinds, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var slots []int
	for _, l := range res.Listeners {
		slots = append(slots, l.Slot)
	}
	if !slices.Equal(slots, []int{20000, 20001, 20001}) {
		t.Errorf("listeners %+v", res.Listeners)
	}
	if got := condition(res.Conditions, "ResolvedRefs"); got != "False ListenersNotResolved" || !strings.HasPrefix(res.Conditions[0].Message, "listener kinds: allowedRoutes.kinds: ") || !strings.HasSuffix(res.Conditions[0].Message, "; and 4 more listeners") {
		t.Errorf("%s: %q", got, res.Conditions[0].Message)
	}
	if len(res.Claims) > 0 || len(res.Findings) != 8 {
		t.Errorf("%d claims, findings %v", len(res.Claims), res.Findings)
	}
}
