package gateway

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// OptionALPN is the key of spec.listeners[].tls.options that says which protocols clients may
// agree on in the handshake (ALPN, RFC 7301), preferred ones first, with commas between them.
// Without it these are h2 and http/1.1 with protocol HTTPS, and none is agreed on with TLS.
const OptionALPN = "fairlead.dev/alpn"

// mostProtocols is how many protocols a listener may name.
const mostProtocols = 8

// protocolName is one as IANA registers most of them.
var protocolName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9./-]{0,31}$`)

// ALPN returns the protocols that a listener names, empty for the default.
func ALPN(l *gatewayv1.Listener) string {
	if l.TLS == nil {
		return ""
	}
	return string(l.TLS.Options[OptionALPN])
}

// hasALPN reports whether a listener names protocols, were they none.
func hasALPN(l *gatewayv1.Listener) bool {
	if l.TLS == nil {
		return false
	}
	_, has := l.TLS.Options[OptionALPN]
	return has
}

// optionsProblem says what is wrong with the options of a listener, or nothing. One that is not
// known may protect, so the listener is not served.
func optionsProblem(l *gatewayv1.Listener) string {
	if l.TLS == nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(l.TLS.Options)) {
		if key != OptionALPN {
			return fmt.Sprintf("tls.options: %.100q is not known, so the listener is not served; remove it: %s is the only option", key, OptionALPN)
		}
	}
	if !hasALPN(l) {
		return ""
	}
	wrong := func(is string) string {
		return fmt.Sprintf("tls.options[%s] %s, so the listener is not served; correct it, or remove it", OptionALPN, is)
	}
	names := strings.Split(ALPN(l), ",")
	switch {
	case !EndsTLS(l):
		return wrong("means nothing where the router does not end TLS")
	case len(names) > mostProtocols:
		return wrong(fmt.Sprintf("has more than %d protocols", mostProtocols))
	}
	for i, name := range names {
		switch {
		case l.Protocol == gatewayv1.HTTPSProtocolType && name != "h2" && name != "http/1.1":
			return wrong(fmt.Sprintf("has %.50q, and protocol HTTPS has h2 and http/1.1", name))
		case !protocolName.MatchString(name):
			return wrong(fmt.Sprintf("has %.50q, which is no name of a protocol", name))
		case slices.Contains(names[:i], name):
			return wrong(fmt.Sprintf("has %q twice", name))
		}
	}
	return ""
}
