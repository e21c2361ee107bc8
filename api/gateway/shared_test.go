package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// TestJudgeShared: at the address of the router there are the router's two ports, and what the
// routers can do there. A value of the annotation that is not known refuses all.
func TestJudgeShared(t *testing.T) {
	t.Parallel()
	host := func(h gatewayv1.Hostname) *gatewayv1.Hostname { return &h }
	passthrough := &gatewayv1.ListenerTLSConfig{Mode: new(gatewayv1.TLSModePassthrough)}
	asks := gatewayv1.TLSConfig{Validation: &gatewayv1.FrontendTLSValidation{}}
	both := []gatewayv1.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}}
	alpn := func(value gatewayv1.AnnotationValue) *gatewayv1.ListenerTLSConfig {
		return &gatewayv1.ListenerTLSConfig{Options: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{gateway.OptionALPN: value}}
	}
	for _, test := range []struct {
		name, address string
		listeners     []gatewayv1.Listener
		tls           *gatewayv1.GatewayTLSConfig
		want          string // reason for each, and "shared" or the block
	}{
		{"both ports", "router", both, nil, "Accepted/shared Accepted/shared"},
		{
			"hostnames of all kinds", "router",
			[]gatewayv1.Listener{{Port: 443, Protocol: "HTTPS"}, {Port: 443, Protocol: "HTTPS", Hostname: host("*.a.test")}, {Port: 443, Protocol: "HTTPS", Hostname: host("x.a.test")}, {Port: 443, Protocol: "HTTPS", Hostname: host("x.a.test")}},
			nil,
			"Accepted/shared Accepted/shared HostnameConflict/ HostnameConflict/",
		},
		{
			"other ports", "router",
			[]gatewayv1.Listener{{Port: 8080, Protocol: "HTTP"}, {Port: 8443, Protocol: "HTTPS"}, {Port: 443, Protocol: "HTTP"}, {Port: 80, Protocol: "HTTPS"}},
			nil,
			"PortUnavailable/ PortUnavailable/ PortUnavailable/ PortUnavailable/",
		},
		{
			"other protocols", "router",
			[]gatewayv1.Listener{{Port: 443, Protocol: "TLS", TLS: passthrough, Hostname: host("a.test")}, {Port: 443, Protocol: "HTTPS"}, {Port: 80, Protocol: "UDP"}, {Port: 53, Protocol: "TCP"}, {Port: 80, Protocol: "ODD"}},
			nil,
			"UnsupportedProtocol/ Accepted/shared UnsupportedProtocol/ UnsupportedProtocol/ UnsupportedProtocol/",
		},
		{"certificates of clients", "router", both, &gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{Default: asks}}, "Accepted/shared UnsupportedValue/"},
		{"of another port", "router", both, &gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{Default: asks, PerPort: []gatewayv1.TLSPortConfig{{Port: 443}}}}, "Accepted/shared Accepted/shared"},
		{"protocols of the handshake", "router", []gatewayv1.Listener{{Port: 443, Protocol: "HTTPS", TLS: alpn("http/1.1")}}, nil, "UnsupportedValue/"},
		{"none of them", "router", []gatewayv1.Listener{{Port: 443, Protocol: "HTTPS", TLS: alpn("")}}, nil, "UnsupportedValue/"},
		{"passthrough", "router", []gatewayv1.Listener{{Port: 443, Protocol: "HTTPS", TLS: passthrough}}, nil, "UnsupportedValue/"},
		{"a bad hostname", "router", []gatewayv1.Listener{{Port: 80, Protocol: "HTTP", Hostname: host("*.a.b.c.d.e.f.g.h")}}, nil, "UnsupportedValue/"},
		{"another word", "Router", both, nil, "UnsupportedValue/ UnsupportedValue/"},
		{"no word", "", both, nil, "UnsupportedValue/ UnsupportedValue/"},
		{"no annotation", "-", both, nil, "Accepted/H Accepted/S"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: test.listeners, TLS: test.tls}}
			if test.address != "-" {
				g.Annotations = map[string]string{gateway.AnnotationAddress: test.address}
			}
			var got []string
			for _, v := range gateway.Judge(g) {
				at := v.Block.Name
				if v.Shared {
					at += "shared"
				}
				got = append(got, string(v.Reason)+"/"+at)
				if v.Accepted() != (v.Message == "") {
					t.Errorf("message %q of %v", v.Message, v.Reason)
				}
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

// TestJudgeSharedAddresses: who asks for an address besides that of the router gets neither.
func TestJudgeSharedAddresses(t *testing.T) {
	t.Parallel()
	g := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{{Port: 80, Protocol: "HTTP"}}, Addresses: []gatewayv1.GatewaySpecAddress{{Value: "192.0.2.1"}}}}
	g.Annotations = map[string]string{gateway.AnnotationAddress: gateway.AddressRouter}
	if v := gateway.Judge(g)[0]; v.Reason != gatewayv1.ListenerReasonUnsupportedValue || v.Shared || !strings.Contains(v.Message, "spec.addresses") {
		t.Errorf("got %+v", v)
	}
}

func TestPermitsSharing(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"true": "true ", "false": "false ", "": "false ", "True": "false !", "yes": "false !", "true\n": "false !", "\x00": "false !"} {
		permits, problem := gateway.PermitsSharing(map[string]string{gateway.AnnotationSharedAddress: value})
		got := fmt.Sprint(permits, " ")
		if problem != "" {
			got += "!"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
	if permits, problem := gateway.PermitsSharing(nil); permits || problem != "" {
		t.Errorf("no annotation: %t, %s", permits, problem)
	}
}

// TestSharedSets: a Gateway at the address of the router has no ListenerSets, whatever it allows.
func TestSharedSets(t *testing.T) {
	t.Parallel()
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	g.Annotations = map[string]string{gateway.AnnotationAddress: gateway.AddressRouter}
	g.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: new(gatewayv1.NamespacesFromAll)}}
	g.Spec.Listeners = []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: "HTTP", Hostname: new(gatewayv1.Hostname("a.test"))}}
	set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "more"}}
	set.Spec.Listeners = []gatewayv1.ListenerEntry{{Name: "http", Port: 80, Protocol: "HTTP", Hostname: new(gatewayv1.Hostname("b.test"))}}
	v := gateway.Join(g, []*gatewayv1.ListenerSet{set}, nil).Set("shop", "more")
	if v == nil || v.Reason != gatewayv1.ListenerSetReasonNotAllowed || !strings.Contains(v.Message, gateway.AnnotationAddress) || len(v.Listeners) != 0 {
		t.Errorf("got %+v", v)
	}
	entry := gateway.SetEntries(set)[0]
	if v := gateway.JudgeAlone(g, &entry); v.Accepted() || v.Shared {
		t.Errorf("the entry alone: %+v", v)
	}
	if gateway.AllowsSets(g, "shop", nil) {
		t.Error("it allows ListenerSets")
	}
}
