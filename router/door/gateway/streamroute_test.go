package gateway_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const streamGateway = `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: tls, port: 80, protocol: TLS, hostname: "*.a.test", tls: {mode: Passthrough}}
  - {name: tcp, port: 8080, protocol: TCP}
`

// TestStreamRoutes: a route of connections asks for hosts in the scopes of its listeners, and for
// pods without a protocol. What cannot be used has a share that is closed.
func TestStreamRoutes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, kind, spec string
		hosts            []string // of the claims
		answer           uint16
		split            int
		resolved         string
	}{
		{"by name", "TLSRoute", "hostnames: [x.a.test, b.test, '*.test'], rules: [{backendRefs: [{name: tls, port: 443}]}]", []string{"x.a.test", "*.test"}, 0, 0, "True ResolvedRefs"},
		{"HTTP/2 is not spoken", "TLSRoute", "hostnames: [x.a.test], rules: [{backendRefs: [{name: tls, port: 80}]}]", []string{"x.a.test"}, 0, 0, "True ResolvedRefs"},
		{"TCP", "TCPRoute", "rules: [{backendRefs: [{name: web, port: 80}]}]", []string{"*"}, 0, 0, "True ResolvedRefs"},
		{"shares", "TCPRoute", "rules: [{backendRefs: [{name: web, port: 80, weight: 3}, {name: next, port: 8080}, {name: missing, port: 1}, {name: web, namespace: other, port: 80}]}]", []string{"*"}, 0, 1, "False RefNotPermitted"},
		{"nothing valid", "TCPRoute", "rules: [{backendRefs: [{name: missing, port: 1}]}]", []string{"*"}, 500, 0, "False BackendNotFound"},
		{"no kind of Service", "TLSRoute", "hostnames: [x.a.test], rules: [{backendRefs: [{kind: Pod, name: web, port: 80}]}]", []string{"x.a.test"}, 500, 0, "False InvalidKind"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, manifests(web, streamGateway, "kind: "+test.kind+"\nmetadata: {namespace: ns, name: r, uid: u}\nspec: {parentRefs: [{name: gw}], "+test.spec+"}"))
			res := c.stream(test.kind)
			var hosts []string
			for _, claim := range res.Claims {
				_, host := model.SplitHost(claim.Host)
				hosts = append(hosts, host)
				if claim.Answer != test.answer || len(claim.Split) != test.split || claim.Termination != model.Passthrough {
					t.Errorf("answer %d, %d further targets, termination %q", claim.Answer, len(claim.Split), claim.Termination)
				}
				for b := range claim.Backends() {
					if !b.Profile.TCP || b.Kind != model.KindTCP {
						t.Errorf("backend %+v", b)
					}
					for _, s := range b.Servers {
						if s.Options.H2C {
							t.Errorf("HTTP/2 is spoken to %s", s.ID)
						}
					}
				}
			}
			if diff := cmp.Diff(test.hosts, hosts); diff != "" {
				t.Error(diff)
			}
			if got := condition(res.Parents[0].Conditions, "ResolvedRefs"); got != test.resolved {
				t.Errorf("ResolvedRefs is %s, want %s", got, test.resolved)
			}
			for _, f := range res.Findings {
				if !strings.Contains(f.Effect, "connections") {
					t.Errorf("finding %+v", f)
				}
			}
		})
	}
}

// TestStreamKinds: each kind attaches to listeners of its protocol only, and a listener that
// changes its protocol is another scope.
func TestStreamKinds(t *testing.T) {
	t.Parallel()
	c := newCluster(t, manifests(web, streamGateway,
		"kind: TLSRoute\nmetadata: {namespace: ns, name: r, uid: u}\nspec: {parentRefs: [{name: gw, sectionName: tcp}], hostnames: [a.test], rules: [{backendRefs: [{name: web, port: 80}]}]}",
		"kind: TCPRoute\nmetadata: {namespace: ns, name: r, uid: u}\nspec: {parentRefs: [{name: gw, sectionName: tls}], rules: [{backendRefs: [{name: web, port: 80}]}]}",
		rule("backendRefs: [{name: web, port: 80}]")))
	for _, res := range []*door.Result{c.stream("TLSRoute"), c.stream("TCPRoute"), c.route(t, "ns", "r")} {
		if got := condition(res.Parents[0].Conditions, "Accepted"); got != "False NotAllowedByListeners" || len(res.Claims) > 0 {
			t.Errorf("%s: %s, %d claims", res.Object.Kind, got, len(res.Claims))
		}
	}
	scope := func(protocol string) model.ScopeID {
		c := newCluster(t, manifests(web, strings.Replace(streamGateway, "port: 8080, protocol: TCP", "port: 8080, protocol: "+protocol, 1)))
		res := gateway.Gateways{}.Ingest(c.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}], c, door.Settings{}, door.Past{})
		return res.ListenerStatus[1].Scope
	}
	if scope("TCP") == scope("HTTP") {
		t.Error("the keys of HTTPRoutes would lead connections")
	}
}

// stream ingests the route of a kind with the name r.
func (c *cluster) stream(kind string) *door.Result {
	v := c.objects[model.Object{Kind: model.Kind(kind), Namespace: "ns", Name: "r"}]
	if kind == string(gateway.KindTLSRoute) {
		return gateway.TLSRoutes{}.Ingest(v, c, door.Settings{}, door.Past{})
	}
	return gateway.TCPRoutes{}.Ingest(v, c, door.Settings{}, door.Past{})
}

// TestStreamAnnotations: a route of connections is refused where an annotation of Routes that
// protects is to keep clients out, and others are said to have no effect.
func TestStreamAnnotations(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]struct {
		refused bool
		finding string
	}{
		`fairlead.dev/allow: 198.18.0.0/16`: {true, "UnsupportedValue"},
		`fairlead.dev/policy: p`:            {true, "UnsupportedValue"},
		`fairlead.dev/alow: 198.18.0.0/16`:  {true, "UnsupportedValue"},
		`fairlead.dev/colour: blue`:         {false, "UnknownAnnotation"},
		`example.com/allow: x`:              {false, ""},
	} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, manifests(web, streamGateway, "kind: TCPRoute\nmetadata: {namespace: ns, name: r, uid: u, annotations: {"+annotation+"}}\nspec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: web, port: 80}]}]}"))
			res, finding := c.stream("TCPRoute"), ""
			for _, f := range res.Findings {
				finding += string(f.Reason)
			}
			served := false
			for _, claim := range res.Claims {
				served = served || claim.Answer == 0 && !claim.Closed
			}
			if finding != want.finding || served == want.refused {
				t.Errorf("findings %q, served %t", finding, served)
			}
		})
	}
}

// TestStreamParentAnnotations: a Gateway or ListenerSet with an annotation of Routes that protects
// has no routes of connections, for which there are no policies.
func TestStreamParentAnnotations(t *testing.T) {
	t.Parallel()
	const set = `
kind: ListenerSet
metadata: {namespace: ns, name: set, uid: s}
spec: {parentRef: {name: gw}, listeners: [{name: own, port: 8081, protocol: TCP}]}
`
	allowing := strings.Replace(streamGateway, "  listeners:", "  allowedListeners: {namespaces: {from: Same}}\n  listeners:", 1)
	annotated := func(text, annotation string) string {
		text = strings.Replace(text, "uid: g}", "uid: g, annotations: {"+annotation+"}}", 1)
		return strings.Replace(text, "uid: s}", "uid: s, annotations: {"+annotation+"}}", 1)
	}
	const protects, other = "fairlead.dev/allow: 198.18.0.0/16", "fairlead.dev/colour: blue"
	for _, test := range []struct{ name, gateway, set, want string }{
		{"neither", allowing, set, "Accepted Accepted"},
		{"no effect", annotated(allowing, other), annotated(set, other), "Accepted Accepted"},
		{"the ListenerSet", allowing, annotated(set, protects), "Accepted UnsupportedValue"},
		{"the Gateway, and so its ListenerSets", annotated(allowing, protects), set, "UnsupportedValue UnsupportedValue"},
	} {
		c := newCluster(t, manifests(web, test.gateway, test.set, "kind: TCPRoute\nmetadata: {namespace: ns, name: r, uid: u}\nspec: {parentRefs: [{name: gw}, {kind: ListenerSet, name: set}], rules: [{backendRefs: [{name: web, port: 80}]}]}"))
		res := c.stream("TCPRoute")
		var got []string
		for _, p := range res.Parents {
			got = append(got, p.Conditions[0].Reason)
		}
		if text := strings.Join(got, " "); text != test.want || len(res.Claims) != strings.Count(test.want, "Accepted") {
			t.Errorf("%s: %s, %d claims; want %s", test.name, text, len(res.Claims), test.want)
		}
	}
}
