package gateway

import (
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ListenerVerdict says whether a listener is served, as far as the Gateway alone tells:
// its protocol, its hostname, and the other listeners of its port. Certificates and
// kinds of routes are not judged here.
type ListenerVerdict struct {
	Name gatewayv1.SectionName
	Port int32
	// Block is that of the slot that the listener needs; zero if it is not accepted or Shared. A
	// slot of TLS serves listeners of HTTPS, too (ServedAt).
	Block Block
	// Shared listeners have no slot: they are served at the router's own ports (SharesAddress).
	Shared bool
	// Reason is that of the condition Accepted: ListenerReasonAccepted if it is True.
	Reason gatewayv1.ListenerConditionReason
	// Conflict is the reason of the condition Conflicted: ListenerReasonNoConflicts if
	// it is False.
	Conflict gatewayv1.ListenerConditionReason
	// Message says what is wrong and what to do, empty if the listener is accepted.
	Message string
}

// Accepted reports whether the listener is served.
func (v ListenerVerdict) Accepted() bool { return v.Reason == gatewayv1.ListenerReasonAccepted }

// ServedAt reports whether a slot of a block serves the listener.
func (v ListenerVerdict) ServedAt(b Block) bool { return b == v.Block || b.Serves(v.Block) }

// Judge returns a verdict for each listener of a Gateway, in their order. All parties of
// a conflict lose: none of them is the rightful one.
func Judge(g *gatewayv1.Gateway) []ListenerVerdict {
	verdicts := make([]ListenerVerdict, 0, len(g.Spec.Listeners))
	for i := range g.Spec.Listeners {
		l := &g.Spec.Listeners[i]
		v := ListenerVerdict{Name: l.Name, Port: int32(l.Port), Conflict: gatewayv1.ListenerReasonNoConflicts}
		v.Reason, v.Message = supported(g, l)
		if conflict, message := conflictOf(g, i); conflict != gatewayv1.ListenerReasonNoConflicts {
			v.Conflict = conflict
			// A protocol that is not served is what to mend first.
			if v.Reason != gatewayv1.ListenerReasonUnsupportedProtocol {
				v.Reason, v.Message = conflict, message
			}
		}
		if v.Accepted() {
			v.Shared, v.Block = SharesAddress(g), blockOf(g, l)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// supported judges a listener by itself.
func supported(g *gatewayv1.Gateway, l *gatewayv1.Listener) (gatewayv1.ListenerConditionReason, string) {
	if _, ok := BlockFor(l.Protocol); !ok {
		return gatewayv1.ListenerReasonUnsupportedProtocol, fmt.Sprintf("protocol %q is not served; use HTTP, HTTPS, TLS, TCP or UDP", l.Protocol)
	}
	if host := hostname(l); host != "" {
		if problem := HostnameProblem(host); problem != "" {
			return gatewayv1.ListenerReasonUnsupportedValue, fmt.Sprintf("hostname %q %s", host, problem)
		}
	}
	if reason, message := atRouter(g, l); message != "" {
		return reason, message
	}
	if l.Protocol != gatewayv1.HTTPSProtocolType && l.Protocol != gatewayv1.TLSProtocolType {
		return gatewayv1.ListenerReasonAccepted, ""
	}
	if mode := tlsMode(l); mode != gatewayv1.TLSModeTerminate && (l.Protocol == gatewayv1.HTTPSProtocolType || mode != gatewayv1.TLSModePassthrough) {
		return gatewayv1.ListenerReasonUnsupportedValue, fmt.Sprintf("tls.mode %q is not served with protocol %s; use Terminate", mode, l.Protocol)
	}
	if problem := optionsProblem(l); problem != "" {
		return gatewayv1.ListenerReasonUnsupportedValue, problem
	}
	if EndsTLS(l) {
		if message := unknownValidation(g, l); message != "" {
			return gatewayv1.ListenerReasonUnsupportedValue, message
		}
	}
	return gatewayv1.ListenerReasonAccepted, ""
}

// EndsTLS reports whether the TLS of a listener's clients ends at the router, with
// certificates of the listener.
func EndsTLS(l *gatewayv1.Listener) bool {
	switch l.Protocol {
	case gatewayv1.HTTPSProtocolType, gatewayv1.TLSProtocolType:
		return tlsMode(l) != gatewayv1.TLSModePassthrough
	case gatewayv1.HTTPProtocolType, gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType:
	}
	return false
}

// tlsMode returns who ends the TLS of a listener, by default the router.
func tlsMode(l *gatewayv1.Listener) gatewayv1.TLSModeType {
	if l.TLS == nil || l.TLS.Mode == nil {
		return gatewayv1.TLSModeTerminate
	}
	return *l.TLS.Mode
}

// Groups of protocols that end or sort TLS.
const groupTLS, groupFallback = "TLS", "HTTPS that lets all in"

// Groups of protocols whose connections and datagrams name no host.
const groupTCP, groupUDP = "TCP", "UDP"

// apart reports whether two groups have port numbers of their own.
func apart(a, b string) bool { return (a == groupUDP) != (b == groupUDP) }

// hostless reports whether one listener of a group takes all that comes to a port.
func hostless(group string) bool { return group == groupTCP || group == groupUDP }

// beside reports whether two groups could share a port if clients had to show valid
// certificates.
func beside(a, b string) bool {
	return a == groupTLS && b == groupFallback || a == groupFallback && b == groupTLS
}

// group returns what must be equal for listeners of one port, and whether the protocol
// takes part in conflicts. HTTPS and TLS share ports: the client's server name tells them apart.
// HAProxy knows from its start which ports let in clients whatever certificate they show, and
// hands on no connections there. What is no protocol of the API does not keep others from being
// served.
func group(g *gatewayv1.Gateway, l *gatewayv1.Listener) (string, bool) {
	switch l.Protocol {
	case gatewayv1.HTTPProtocolType:
		return "HTTP", true
	case gatewayv1.HTTPSProtocolType:
		if v, _ := Validation(g, int32(l.Port)); LetsAllIn(v) {
			return groupFallback, true
		}
		return groupTLS, true
	case gatewayv1.TLSProtocolType:
		return groupTLS, true
	case gatewayv1.TCPProtocolType:
		return groupTCP, true
	case gatewayv1.UDPProtocolType:
		return groupUDP, true
	}
	return "", false
}

// conflictOf returns the reason and the message of the conflict of one listener with
// others of its port.
func conflictOf(g *gatewayv1.Gateway, i int) (gatewayv1.ListenerConditionReason, string) {
	listeners := g.Spec.Listeners
	l := &listeners[i]
	mine, judged := group(g, l)
	if !judged {
		return gatewayv1.ListenerReasonNoConflicts, ""
	}
	reason, message := gatewayv1.ListenerReasonNoConflicts, ""
	for n := range listeners {
		o := &listeners[n]
		other, judged := group(g, o)
		if n == i || !judged || o.Port != l.Port || apart(mine, other) {
			continue
		}
		if other != mine {
			if beside(mine, other) {
				return gatewayv1.ListenerReasonProtocolConflict,
					fmt.Sprintf("port %d has listeners of protocols %s and %s (listener %q), and spec.tls.frontend lets in clients whatever they show, which HAProxy can do at ports for HTTPS alone; none of them is served; give them ports of their own, or use %s for this one", l.Port, l.Protocol, o.Protocol, o.Name, gatewayv1.AllowValidOnly)
			}
			return gatewayv1.ListenerReasonProtocolConflict,
				fmt.Sprintf("port %d has listeners of protocols %s and %s (listener %q), which one port cannot serve; none of them is served; give them ports of their own", l.Port, l.Protocol, o.Protocol, o.Name)
		}
		if hostless(mine) || hostname(o) == hostname(l) {
			reason = gatewayv1.ListenerReasonHostnameConflict
			message = fmt.Sprintf("listener %q has the same port %d and hostname %q; neither is served; give them different hostnames or ports", o.Name, l.Port, hostname(l))
		}
	}
	return reason, message
}

// hostname returns the hostname of a listener in lower case, empty for any host. Connections
// of TCP and datagrams name none, so there it means nothing.
func hostname(l *gatewayv1.Listener) string {
	if l.Hostname == nil || l.Protocol == gatewayv1.TCPProtocolType || l.Protocol == gatewayv1.UDPProtocolType {
		return ""
	}
	return strings.ToLower(string(*l.Hostname))
}
