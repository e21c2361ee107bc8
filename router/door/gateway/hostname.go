package gateway

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// wildcard begins hostnames that stand for all with one label more, or several.
const wildcard = "*."

// mostWildcardLabels is how many labels may follow "*.": HAProxy looks that many up.
const mostWildcardLabels = 7

// fits reports whether a request can have the hostnames of a listener and of a route.
// Empty ones are any.
func fits(listener, route string) bool {
	covers := func(pattern, host string) bool {
		return pattern == host || strings.HasPrefix(pattern, wildcard) && strings.HasSuffix(host, pattern[1:]) && host != pattern[1:]
	}
	return listener == "" || route == "" || covers(listener, route) || covers(route, listener)
}

// hostnameProblem says what is wrong with a hostname of a route, or nothing.
func hostnameProblem(host string) string {
	base, wild := strings.CutPrefix(host, wildcard)
	switch {
	case len(validation.IsDNS1123Subdomain(base)) > 0:
		return "must be a DNS name in lower case, or \"*.\" and one"
	case wild && strings.Count(base, ".")+1 > mostWildcardLabels:
		return "has more than 7 labels after the wildcard"
	}
	for label := range strings.SplitSeq(base, ".") {
		if len(label) > validation.DNS1123LabelMaxLength {
			return "has a label of more than 63 characters"
		}
	}
	return ""
}

// hostnameOf returns the hostname of a listener, empty for any. Connections of TCP name none.
func hostnameOf(l *gatewayv1.Listener) string {
	if l.Hostname == nil || l.Protocol == gatewayv1.TCPProtocolType || l.Protocol == gatewayv1.UDPProtocolType {
		return ""
	}
	return strings.ToLower(string(*l.Hostname))
}
