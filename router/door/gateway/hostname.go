package gateway

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// wildcard begins hostnames that stand for all with one label more, or several.
const wildcard = gateway.Wildcard

// fits reports whether a request can have the hostnames of a listener and of a route.
// Empty ones are any.
func fits(listener, route string) bool {
	covers := func(pattern, host string) bool {
		return pattern == host || strings.HasPrefix(pattern, wildcard) && strings.HasSuffix(host, pattern[1:]) && host != pattern[1:]
	}
	return listener == "" || route == "" || covers(listener, route) || covers(route, listener)
}

// hostnameOf returns the hostname of a listener, empty for any. Connections of TCP name none.
func hostnameOf(l *gatewayv1.Listener) string {
	if l.Hostname == nil || l.Protocol == gatewayv1.TCPProtocolType || l.Protocol == gatewayv1.UDPProtocolType {
		return ""
	}
	return strings.ToLower(string(*l.Hostname))
}
