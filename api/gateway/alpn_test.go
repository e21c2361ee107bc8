package gateway_test

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// TestOptions: what is not known closes a listener, and names what is wrong.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ listener, want string }{
		{`protocol: HTTPS, tls: {options: {fairlead.dev/alpn: "h2,http/1.1"}}`, ""},
		{`protocol: HTTPS, tls: {options: {fairlead.dev/alpn: http/1.1}}`, ""},
		{`protocol: TLS, tls: {mode: Terminate, options: {fairlead.dev/alpn: "mqtt,acme-tls/1"}}`, ""},
		{`protocol: HTTPS, tls: {options: {fairlead.dev/alpn: mqtt}}`, `has "mqtt"`},
		{`protocol: HTTPS, tls: {options: {fairlead.dev/alpn: "h2,h2"}}`, `has "h2" twice`},
		{`protocol: HTTPS, tls: {options: {fairlead.dev/alpn: ""}}`, `has ""`},
		{`protocol: HTTPS, tls: {options: {fairlead.dev/alpn: "h2, http/1.1"}}`, `has " http/1.1"`},
		{`protocol: TLS, tls: {mode: Terminate, options: {fairlead.dev/alpn: "a] [verify none"}}`, "no name of a protocol"},
		{`protocol: TLS, tls: {mode: Terminate, options: {fairlead.dev/alpn: "a\nb"}}`, "no name of a protocol"},
		{`protocol: TLS, tls: {mode: Terminate, options: {fairlead.dev/alpn: "a,b,c,d,e,f,g,h,i"}}`, "more than 8"},
		{`protocol: TLS, tls: {mode: Passthrough, options: {fairlead.dev/alpn: h2}}`, "does not end TLS"},
		{`protocol: HTTPS, tls: {options: {fairlead.dev/alpn: h2, example.com/min-version: "1.3"}}`, `"example.com/min-version" is not known`},
		{`protocol: HTTPS, tls: {options: {fairlead.dev/ALPN: h2}}`, `"fairlead.dev/ALPN" is not known`},
	} {
		v := gateway.Judge(gatewayOf(t, "listeners: [{name: l, port: 443, "+test.listener+"}]"))[0]
		accepted := test.want == ""
		if v.Accepted() != accepted || !strings.Contains(v.Message, test.want) || !accepted && v.Reason != gatewayv1.ListenerReasonUnsupportedValue {
			t.Errorf("%s: %s %q, want %q", test.listener, v.Reason, v.Message, test.want)
		}
	}
}
