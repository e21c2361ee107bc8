package console

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// gatewayShop has a Gateway with a ListenerSet, and routes of each kind: one that is served, one
// whose requests all go to it, one that no listener takes, one of another controller, and
// connections and datagrams.
const gatewayShop = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: other}
spec: {controllerName: example.com/other}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: fairlead}
spec: {controllerName: fairlead.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: shop, namespace: infra, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  gatewayClassName: fairlead
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: "*.example.com", allowedRoutes: {namespaces: {from: All}}}
  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: bad}]}, allowedRoutes: {namespaces: {from: All}}}
  - {name: mqtt, port: 1883, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}
  - {name: dns, port: 53, protocol: UDP, allowedRoutes: {namespaces: {from: All}}}
  - {name: tls, port: 8443, protocol: TLS, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: foreign, namespace: infra, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {gatewayClassName: other, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: team, namespace: web, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  parentRef: {name: shop, namespace: infra}
  listeners: [{name: extra, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: web, creationTimestamp: "2026-01-03T00:00:00Z"}
spec:
  parentRefs: [{name: shop, namespace: infra, sectionName: http}, {kind: ListenerSet, group: gateway.networking.k8s.io, name: team}]
  hostnames: [www.example.com, alt.example.com]
  rules:
  - {matches: [{path: {type: PathPrefix, value: /cart}}], backendRefs: [{name: cart, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart-copy, namespace: web, creationTimestamp: "2026-02-03T00:00:00Z"}
spec:
  parentRefs: [{name: shop, namespace: infra, sectionName: http}]
  hostnames: [www.example.com]
  rules:
  - {matches: [{path: {type: PathPrefix, value: /cart}}], backendRefs: [{name: cart, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: elsewhere, namespace: web, creationTimestamp: "2026-02-03T00:00:00Z"}
spec:
  parentRefs: [{name: shop, namespace: infra, sectionName: http}]
  hostnames: [www.example.org]
  rules: [{backendRefs: [{name: cart, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: foreign, namespace: web, creationTimestamp: "2026-02-03T00:00:00Z"}
spec: {parentRefs: [{name: foreign, namespace: infra}], rules: [{backendRefs: [{name: cart, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: mqtt, namespace: web, creationTimestamp: "2026-02-03T00:00:00Z"}
spec: {parentRefs: [{name: shop, namespace: infra, sectionName: mqtt}], rules: [{backendRefs: [{name: cart, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: mqtt-young, namespace: web, creationTimestamp: "2026-03-03T00:00:00Z"}
spec: {parentRefs: [{name: shop, namespace: infra, sectionName: mqtt}], rules: [{backendRefs: [{name: cart, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: dns, namespace: web, creationTimestamp: "2026-02-03T00:00:00Z"}
spec: {parentRefs: [{name: shop, namespace: infra, sectionName: dns}], rules: [{backendRefs: [{name: dns, port: 53}]}]}
---
apiVersion: v1
kind: Secret
metadata: {name: bad, namespace: infra}
type: kubernetes.io/tls
data: {tls.crt: bm9uZQ==, tls.key: bm9uZQ==}
---
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: web}
spec: {ports: [{name: dns, port: 53, protocol: UDP, targetPort: 5353}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: dns-1, namespace: web, labels: {kubernetes.io/service-name: dns}}
addressType: IPv4
ports: [{name: dns, port: 5353, protocol: UDP}]
endpoints: [{addresses: [10.1.0.9], targetRef: {kind: Pod, name: dns-a, namespace: web}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: tunnel, namespace: web, creationTimestamp: "2026-02-03T00:00:00Z"}
spec: {parentRefs: [{name: shop, namespace: infra, sectionName: tls}], hostnames: [tunnel.example.com], rules: [{backendRefs: [{name: cart, port: 80}]}]}
---
`

// TestGatewayPages: what the pages say of each kind of the Gateway API.
func TestGatewayPages(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, gatewayShop+shop), true)
	for _, test := range []struct {
		path string
		code int
		want []string
		not  []string
	}{
		{"", 200, []string{"11 Routes", "Gateways"}, nil},
		{"routes", 200, []string{"1 to 11 of 11 Routes"}, nil},
		{"routes?q=kind:route", 200, []string{"1 to 3 of 3 Routes"}, []string{"HTTPRoute"}},
		{"routes?q=kind:httproute", 200, []string{"HTTPRoute web/cart ", "www.example.com/cart", "alt.example.com"}, []string{"web/mqtt", "web/shop"}},
		{"routes?q=kind:httproute+state:served", 200, []string{"1 to 1 of 1 Routes", "web/cart "}, nil},
		{"routes?q=kind:httproute+state:warns", 200, []string{"1 to 1 of 1 Routes", "web/cart-copy", "goes to httproute/web/cart, which goes first"}, nil},
		{"routes?q=kind:httproute+state:refused", 200, []string{"1 to 1 of 1 Routes", "web/elsewhere", "NoMatchingListenerHostname"}, nil},
		{"routes?q=state:not-selected", 200, []string{"1 to 1 of 1 Routes", "GRPCRoute web/foreign", "is of the controller example.com/other"}, nil},
		{"routes?q=kind:tcproute+state:warns", 200, []string{"1 to 1 of 1 Routes", "web/mqtt-young", "go to tcproute/web/mqtt, which is older and has all"}, nil},
		{"routes?q=host:alt.example", 200, []string{"1 to 1 of 1 Routes", "web/cart "}, nil},
		{"routes?q=gateway:team", 200, []string{"1 to 1 of 1 Routes", "web/cart "}, nil},
		{"routes?q=gateway:infra/shop+service:cart+-kind:httproute", 200, []string{"1 to 3 of 3 Routes"}, nil},
		{"routes?q=tls:passthrough", 200, []string{"1 to 1 of 1 Routes", "TLSRoute web/tunnel"}, nil},
		{"routes?q=kind:udproute+pods:some", 200, []string{"1 to 1 of 1 Routes", "UDPRoute web/dns"}, nil},
		{"gateways", 200, []string{"7 of 7 listeners", "Gateway infra/shop", "ListenerSet web/team", "gateway/infra/shop"}, nil},
		{"gateways?q=state:served", 200, []string{"1 to 5 of 5 listeners"}, []string{"InvalidCertificateRef"}},
		{"gateways?q=state:refused", 200, []string{"1 to 1 of 1 listeners", "https", "InvalidCertificateRef"}, nil},
		{"gateways?q=kind:listenerset+ns:web", 200, []string{"1 to 1 of 1 listeners", "extra"}, nil},
		{"gateways?q=listener:mqtt", 200, []string{"1 to 1 of 1 listeners", "TCP 1883 2"}, nil},
		{"gateways?q=kind:httproute", 200, []string{"Nothing was searched.", "use one of: gateway, listenerset"}, nil},
		{"gateways/infra/shop", 200, []string{"Gateway infra/shop", "Listener http", "httproute/web/cart", "Accepted True", "Listener https", "not served", "allowedListeners"}, nil},
		{"listenersets/web/team", 200, []string{"ListenerSet web/team", "Listener extra", "httproute/web/cart", "gateway/infra/shop"}, nil},
		{"httproutes/web/cart", 200, []string{
			"served", "http://www.example.com/cart and all below yes goes to Service cart (1 endpoint)", "gateway/infra/shop#http", "at http", "listenerset/web/team", "at extra",
			"cart-a cart 10.1.0.1:8080 ready", "cart-b cart 10.1.0.2 not ready", "backendRefs:",
		}, nil},
		{"httproutes/web/cart-copy", 200, []string{"goes to httproute/web/cart, which goes first"}, nil},
		{"httproutes/web/elsewhere", 200, []string{"refused", "Warning NoMatchingListenerHostname spec.parentRefs[0]", "No request leads to this route"}, nil},
		{"grpcroutes/web/foreign", 200, []string{"not-selected", "is of the controller example.com/other"}, nil},
		{"tcproutes/web/mqtt", 200, []string{"connections to port 1883 yes goes to Service cart (1 endpoint)"}, nil},
		{"udproutes/web/dns", 200, []string{"datagrams to port 53 yes go to 1 pod"}, nil},
		{"tlsroutes/web/tunnel", 200, []string{"connections to port 8443, server name tunnel.example.com yes"}, nil},
		{"httproutes/web/none", 404, []string{"the manifests have no HTTPRoute web/none"}, nil},
		{"hosts/www.example.com", 200, []string{
			"Routes of Gateways", "web/cart http gateway/infra/shop http://www.example.com/cart and all below yes", "web/cart-copy http gateway/infra/shop http://www.example.com/cart and all below no goes to httproute/web/cart, which goes first",
		}, nil},
		{"hosts/alt.example.com", 200, []string{"Routes of Gateways", "web/cart"}, []string{"Those that are not served come last", "mqtt"}},
		{"hosts/www.example.org", 200, []string{"refused HTTPRoute web/elsewhere NoMatchingListenerHostname"}, nil},
		{"ask?gateway=infra/shop&url=" + url.QueryEscape("http://www.example.com/cart/1"), 200, []string{"served http://www.example.com/cart/1", "Gateway infra/shop", "httproute/web/cart, rule 0", "10.1.0.1:8080"}, nil},
		{"ask?gateway=infra/none&url=" + url.QueryEscape("http://www.example.com/"), 200, []string{"The question cannot be answered.", "no Gateway infra/none"}, nil},
		{"ask?gateway=shop&url=" + url.QueryEscape("http://www.example.com/"), 200, []string{"The question cannot be answered.", "NAMESPACE/NAME"}, nil},
	} {
		b.says(t, test.path, test.code, test.want, test.not)
	}
	pages := b.crawl(func(path string, root *html.Node) {
		wellFormed(t, path, root)
		harmless(t, path, root)
	})
	if pages < 40 {
		t.Errorf("only %d pages", pages)
	}
}

// TestGatewayCommands: pages of the Gateway API show the commands with the same answers.
func TestGatewayCommands(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, gatewayShop+shop), true)
	for path, want := range map[string]string{
		"gateways":              "tool lint",
		"gateways/infra/shop":   "tool why gateway/shop infra",
		"httproutes/web/cart":   "tool why httproute/cart web",
		"listenersets/web/team": "tool why listenerset/team web",
		"ask?gateway=infra/shop&url=http://www.example.com/cart": "tool explain http://www.example.com/cart --gateway infra/shop",
	} {
		if got := attributeText(b.page(path, 200), "copy"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// attributeText is the text of the first element of a class.
func attributeText(root *html.Node, class string) string {
	for _, n := range all(root, "*") {
		if attribute(n, "class") == class {
			return textOf(n)
		}
	}
	return ""
}
