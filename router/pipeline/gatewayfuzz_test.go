package pipeline_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// gateways is a cluster with one Gateway and one HTTPRoute of one namespace, perhaps a
// GRPCRoute, a TLSRoute, a TCPRoute and a UDPRoute, and a ListenerSet of another one.
type gateways struct {
	tenant

	gateway *gatewayv1.Gateway
	route   *gatewayv1.HTTPRoute
	rpc     *gatewayv1.GRPCRoute
	tls     *gatewayv1.TLSRoute
	tcp     *gatewayv1.TCPRoute
	udp     *gatewayv1.UDPRoute
	set     *gatewayv1.ListenerSet
}

var (
	theGateway = model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}
	theSet     = model.Object{Kind: gateway.KindListenerSet, Namespace: "other", Name: "gw"}
	theRoute   = model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r"}
	theRPC     = model.Object{Kind: gateway.KindGRPCRoute, Namespace: "ns", Name: "r"}
	theTLS     = model.Object{Kind: gateway.KindTLSRoute, Namespace: "ns", Name: "r"}
	theTCP     = model.Object{Kind: gateway.KindTCPRoute, Namespace: "ns", Name: "r"}
	theUDP     = model.Object{Kind: gateway.KindUDPRoute, Namespace: "ns", Name: "r"}
)

func (g gateways) All() []model.Object {
	all := []model.Object{theGateway, theRoute}
	if g.set != nil {
		all = append(all, theSet)
	}
	if g.rpc != nil {
		all = append(all, theRPC)
	}
	if g.tls != nil {
		all = append(all, theTLS, theTCP)
	}
	if g.udp != nil {
		all = append(all, theUDP)
	}
	return all
}

func (g gateways) Joint(of *gatewayv1.Gateway) *gatewayapi.Joint {
	var sets []*gatewayv1.ListenerSet
	if g.set != nil {
		sets = append(sets, g.set)
	}
	return gatewayapi.Join(of, sets, func(string) (map[string]string, bool) { return nil, true })
}

func (g gateways) Object(key model.Object) door.Version {
	switch key {
	case theGateway:
		return g.gateway
	case theRoute:
		return g.route
	case theRPC:
		if g.rpc != nil {
			return g.rpc
		}
	case theTLS:
		if g.tls != nil {
			return g.tls
		}
	case theTCP:
		if g.tcp != nil {
			return g.tcp
		}
	case theUDP:
		if g.udp != nil {
			return g.udp
		}
	case theSet:
		if g.set != nil {
			return g.set
		}
	}
	return nil
}

func (gateways) Service(model.Object) *backend.Service {
	return backend.NewService(&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}, {Name: "udp", Port: 80, Protocol: corev1.ProtocolUDP}}}})
}

// Secret has a certificate for whatever name a listener gives.
func (gateways) Secret(model.Object) (*corev1.Secret, error) {
	chain, private := listenerPair()
	return &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: private}}, nil
}
func (gateways) Grants(string) []*gatewayv1.ReferenceGrant { return nil }

func (gateways) TLSPolicies(string) []*gatewayv1.BackendTLSPolicy { return nil }
func (g gateways) Slots(of *gatewayv1.Gateway) map[gatewayapi.Port]int32 {
	slots := map[gatewayapi.Port]int32{}
	all := slices.Clone(of.Spec.Listeners)
	if g.set != nil {
		all = append(all, gatewayapi.SetEntries(g.set)...)
	}
	for i, l := range all {
		block, known := gatewayapi.BlockFor(l.Protocol)
		if port := block.Port(int32(l.Port)); known && slots[port] == 0 {
			slots[port] = block.First + int32(i)
		}
	}
	return slots
}

// FuzzGateway puts any Gateway and HTTPRoute that JSON can say into the router, and looks
// at all that HAProxy would get to read. No claim leaves the scopes of the Gateway.
func FuzzGateway(f *testing.F) {
	const gw = `{"gatewayClassName":"f","listeners":[{"name":"a","port":80,"protocol":"HTTP"},{"name":"b","port":80,"protocol":"HTTP","hostname":"*.example.com"}]}`
	for _, route := range []string{
		`{"parentRefs":[{"name":"gw"}],"hostnames":["a.example.com","*.com"],"rules":[{"matches":[{"path":{"value":"/a"}},{"path":{"type":"Exact","value":"/b"},"method":"GET","headers":[{"name":"x","value":"~^;>|"}]}],"backendRefs":[{"name":"web","port":80,"weight":3},{"name":"no","port":81}]}]}`,
		`{"parentRefs":[{"name":"gw","sectionName":"b"}],"rules":[{"filters":[{"type":"RequestRedirect","requestRedirect":{"hostname":"a.test","path":{"type":"ReplaceFullPath","replaceFullPath":"/x|y"}}}]}]}`,
		`{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"path":{"value":"/a"}}],"filters":[{"type":"URLRewrite","urlRewrite":{"hostname":"a.test","path":{"type":"ReplacePrefixMatch","replacePrefixMatch":"/'\\\""}}},{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"a","value":"%[src]"}],"add":[{"name":"b","value":"c"}],"remove":["d|+"]}}],"backendRefs":[{"name":"web","port":80}]}]}`,
		`{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"path":{"type":"RegularExpression","value":"/a[0-9]+(b|c)"},"queryParams":[{"name":"q\n","value":"\u0000"}]}],"timeouts":{"request":"10s"},"backendRefs":[{"name":"web","port":80}]}]}`,
	} {
		f.Add(gw, route)
	}
	f.Add(`{"gatewayClassName":"f","listeners":[{"name":"a","port":443,"protocol":"HTTPS","tls":{"certificateRefs":[{"name":"a"},{"name":"b"}]}},{"name":"b","port":443,"protocol":"HTTPS","hostname":"*.example.com","tls":{"certificateRefs":[{"name":"a"}]}},{"name":"c","port":443,"protocol":"HTTPS","hostname":"a.example.com","tls":{"certificateRefs":[{"name":"a"}]}}]}`, `{"parentRefs":[{"name":"gw"}],"rules":[{}]}`)
	for _, s := range []string{`\n`, `\t`, `\r`, `\u0000`, `\f`, `|`, `~`, `%FL%`, `\u007f`, ` `} {
		f.Add(`{"gatewayClassName":"f","listeners":[{"name":"`+s+`","port":443,"protocol":"HTTPS","hostname":"*.`+s+`.test","tls":{"certificateRefs":[{"name":"a`+s+`"},{"name":"b","namespace":"`+s+`"}]}},{"name":"c","port":443,"protocol":"HTTPS","hostname":"`+s+`.x.test","tls":{"certificateRefs":[{"name":"a"}]}}]}`, `{}`)
		f.Add(`{"gatewayClassName":"f","listeners":[{"name":"t","port":443,"protocol":"TLS","tls":{"mode":"Terminate","certificateRefs":[{"name":"a"}],"options":{"fairlead.dev/alpn":"h2,a`+s+`"}}}]}`, `{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"headers":[{"name":"a","type":"RegularExpression","value":"a`+s+`.*b"}],"queryParams":[{"name":"q","type":"RegularExpression","value":"(`+s+`|c)+"}]}]}]}`)
		f.Add(strings.ReplaceAll(gw, "example", s), `{"parentRefs":[{"name":"gw"}],"hostnames":["`+s+`"],"rules":[{"matches":[{"path":{"value":"/`+s+`"},"method":"`+s+`","headers":[{"name":"a`+s+`","value":"`+s+`"}]}]}]}`)
		f.Add(gw, `{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"path":{"value":"/a"}}],"backendRefs":[{"name":"web","port":80,"filters":[{"type":"URLRewrite","urlRewrite":{"hostname":"`+s+`","path":{"type":"ReplacePrefixMatch","replacePrefixMatch":"/`+s+`"}}}]},{"name":"web","port":80,"filters":[{"type":"URLRewrite","urlRewrite":{"path":{"type":"ReplaceFullPath","replaceFullPath":"/`+s+`"}}}]}]}]}`)
		f.Add(gw, `{"parentRefs":[{"name":"gw"}],"rules":[{"filters":[{"type":"URLRewrite","urlRewrite":{"hostname":"`+s+`","path":{"type":"ReplaceFullPath","replaceFullPath":"/`+s+`"}}},{"type":"ResponseHeaderModifier","responseHeaderModifier":{"set":[{"name":"`+s+`","value":"`+s+`"}]}}]}]}`)
		f.Add(gw, `{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"headers":[{"name":"a","value":"`+s+`"}],"queryParams":[{"name":"`+s+`","value":"`+s+`"}]}],"backendRefs":[{"name":"web","port":80}]},{"filters":[{"type":"RequestRedirect","requestRedirect":{"path":{"type":"ReplacePrefixMatch","replacePrefixMatch":"/`+s+`"}}}]}]}`)
	}
	f.Fuzz(func(t *testing.T, gatewaySpec, routeSpec string) {
		src := gateways{gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}}, route: &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}}}
		if json.Unmarshal([]byte(gatewaySpec), &src.gateway.Spec) != nil || json.Unmarshal([]byte(routeSpec), &src.route.Spec) != nil {
			return
		}
		checkGateways(t, src, gateway.HTTPRoutes{}.Ingest(src.route, src, door.Settings{}, door.Past{}))
		checkShared(t, src)
	})
}

// checkShared looks at what HAProxy gets to read if the Gateway shares the router's address: there
// claims are for single hosts.
func checkShared(t *testing.T, src gateways) {
	t.Helper()
	src.gateway.Annotations = map[string]string{gatewayapi.AnnotationAddress: gatewayapi.AddressRouter}
	src.route.Annotations = map[string]string{gatewayapi.AnnotationTakesOver: "true"}
	settings := door.Settings{RouterName: "default", HTTP2: true, Agent: true, SharedAddress: true}
	p := pipeline.New(doors.All(), src, settings, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	checkFiles(t, p.Want())
	for _, c := range (gateway.HTTPRoutes{}).Ingest(src.route, src, settings, door.Past{}).Claims {
		scope, host := model.SplitHost(c.Host)
		placeholder := scope != "" && c.Answer != 0
		if c.IsShared() == placeholder || !placeholder && (scope != "" || host == "" || strings.Contains(host, "*")) {
			t.Errorf("claim for %q", c.Host)
		}
	}
}

// FuzzGRPCRoute puts any GRPCRoute that JSON can say beside an HTTPRoute into the router.
func FuzzGRPCRoute(f *testing.F) {
	for _, route := range []string{
		`{"parentRefs":[{"name":"gw"}],"hostnames":["a.test"],"rules":[{"matches":[{"method":{"service":"a.B","method":"C"},"headers":[{"name":"x","value":"~^;>|"}]},{"method":{"service":"a.B"}}],"backendRefs":[{"name":"web","port":80,"weight":3},{"name":"no","port":81}]}]}`,
		`{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"method":{"method":"C"}},{"method":{"type":"RegularExpression","service":"a|b","method":"(c|d).*"}},{"method":{}}]}]}`,
		`{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"method":{"type":"RegularExpression","service":"a)|(?:b"}}]}]}`,
		`{"parentRefs":[{"name":"gw"}],"rules":[{"filters":[{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"a","value":"%[src]"}]}},{"type":"RequestMirror"}],"backendRefs":[{"name":"web","port":80,"filters":[{"type":"URLRewrite"}]}]}]}`,
	} {
		f.Add(route)
	}
	for _, s := range []string{`\n`, `\t`, `\r`, `\u0000`, `\f`, `|`, `~`, `%FL%`, `\u007f`, ` `, `/`} {
		for _, kind := range []string{"Exact", "RegularExpression"} {
			f.Add(`{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"method":{"type":"` + kind + `","service":"a` + s + `"}},{"method":{"type":"` + kind + `","method":"` + s + `"},"headers":[{"name":"a` + s + `","value":"` + s + `"}]}]}]}`)
		}
	}
	f.Fuzz(func(t *testing.T, routeSpec string) {
		src := gateways{
			gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}},
			route:   &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}},
			rpc:     &gatewayv1.GRPCRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "v"}},
		}
		src.gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "a", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
		src.route.Spec = gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "gw"}}}, Rules: []gatewayv1.HTTPRouteRule{{}}}
		if json.Unmarshal([]byte(routeSpec), &src.rpc.Spec) != nil {
			return
		}
		checkGateways(t, src, gateway.GRPCRoutes{}.Ingest(src.rpc, src, door.Settings{}, door.Past{}))
	})
}

// FuzzStreamRoute puts any listener, TLSRoute, TCPRoute and UDPRoute that JSON can say beside an
// HTTPRoute into the router.
func FuzzStreamRoute(f *testing.F) {
	const gw = `{"listeners":[{"name":"a","port":443,"protocol":"TLS","tls":{"mode":"Passthrough"}},{"name":"b","port":443,"protocol":"TLS","hostname":"*.example.com","tls":{"mode":"Passthrough"}},{"name":"e","port":443,"protocol":"TLS","hostname":"*.end.example.com","tls":{"certificateRefs":[{"name":"a"}]}},{"name":"c","port":25,"protocol":"TCP"},{"name":"d","port":26,"protocol":"TCP","hostname":"x\n"},{"name":"u","port":25,"protocol":"UDP","hostname":"x\n"}]}`
	for _, route := range []string{
		`{"parentRefs":[{"name":"gw"}],"hostnames":["a.example.com","*.com","*"],"rules":[{"backendRefs":[{"name":"web","port":80,"weight":3},{"name":"no","port":81},{"name":"web","port":80}]},{}]}`,
		`{"parentRefs":[{"name":"gw","sectionName":"c"},{"name":"gw","port":443}],"rules":[{"backendRefs":[{"name":"web","port":80}]}]}`,
	} {
		f.Add(gw, route)
	}
	for _, s := range []string{`\n`, `\t`, `\r`, `\u0000`, `\f`, `|`, `~`, `/`, `*`, ` `} {
		f.Add(strings.ReplaceAll(gw, "example", s), `{"parentRefs":[{"name":"gw"}],"hostnames":["`+s+`","a.`+s+`.com"],"rules":[{"name":"`+s+`","backendRefs":[{"name":"`+s+`","port":80},{"name":"web","port":80}]}]}`)
	}
	f.Fuzz(func(t *testing.T, gatewaySpec, routeSpec string) {
		src := gateways{
			gateway: &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", UID: "g"}},
			route:   &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}},
			tls:     &gatewayv1.TLSRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "v"}},
			tcp:     &gatewayv1.TCPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "w"}},
			udp:     &gatewayv1.UDPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "x"}},
		}
		src.route.Spec = gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "gw"}}}, Rules: []gatewayv1.HTTPRouteRule{{}}}
		if json.Unmarshal([]byte(gatewaySpec), &src.gateway.Spec) != nil || json.Unmarshal([]byte(routeSpec), &src.tls.Spec) != nil || json.Unmarshal([]byte(routeSpec), &src.tcp.Spec) != nil || json.Unmarshal([]byte(routeSpec), &src.udp.Spec) != nil {
			return
		}
		checkGateways(t, src, gateway.TLSRoutes{}.Ingest(src.tls, src, door.Settings{}, door.Past{}),
			gateway.TCPRoutes{}.Ingest(src.tcp, src, door.Settings{}, door.Past{}),
			gateway.UDPRoutes{}.Ingest(src.udp, src, door.Settings{Agent: true}, door.Past{}))
	})
}

// checkRelays demands that the policy agent takes what it gets to relay.
func checkRelays(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	relays, _ := p.Relays()
	whole, err := snapshot.Join(1, snapshot.Surroundings{Relays: relays}, nil)
	if err == nil {
		_, err = snapshot.Decode(whole)
	}
	if err != nil {
		t.Errorf("%+v: %v", relays, err)
	}
}

// checkGateways looks at what HAProxy gets to read of a cluster, and at what routes of it
// give.
func checkGateways(t *testing.T, src gateways, results ...*door.Result) {
	t.Helper()
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default", HTTP2: true, Agent: true}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	p.Update(door.Changes{All: true})
	checkFiles(t, p.Want())
	checkRelays(t, p)

	var scopes []model.ScopeID
	for _, l := range (gateway.Gateways{}).Ingest(src.gateway, src, door.Settings{}, door.Past{}).ListenerStatus {
		scopes = append(scopes, l.Scope)
	}
	for _, res := range results {
		checkRoute(t, res, scopes)
	}
}

// checkRoute looks at what a route gives, whose claims may be in some scopes.
func checkRoute(t *testing.T, res *door.Result, scopes []model.ScopeID) {
	t.Helper()
	rules := map[string]bool{}
	for _, c := range res.Claims {
		if scope, host := model.SplitHost(c.Host); !slices.Contains(scopes, scope) || host == "" {
			t.Errorf("claim for %q", c.Host)
		}
		if rules[c.Rule] {
			t.Errorf("two claims of rule %s", c.Rule)
		}
		rules[c.Rule] = true
	}
	for _, parent := range res.Parents {
		if parent.Conditions[0].True && len(parent.Listeners) == 0 || !parent.Conditions[0].True && parent.Conditions[0].Message == "" {
			t.Errorf("parent %+v", parent)
		}
	}
}
