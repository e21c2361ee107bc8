package gateway

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// listener is one of a Gateway or ListenerSet as routes see it.
type listener struct {
	// owner is the object that has it. Namespaces are relative to the owner's.
	owner    model.Object
	spec     *gatewayv1.Listener
	verdict  gateway.ListenerVerdict
	hostname string
	scope    model.ScopeID
	// gateway is the one that serves it, known where routes are attached, and set the
	// ListenerSet that has it, nil for none.
	gateway *gatewayv1.Gateway
	set     *gatewayv1.ListenerSet
}

func listenersOf(g *gatewayv1.Gateway) []listener {
	return judged(gatewayObject(g), g.Spec.Listeners, gateway.Judge(g))
}

// judged returns the listeners of an object with the verdicts on them.
func judged(owner model.Object, specs []gatewayv1.Listener, verdicts []gateway.ListenerVerdict) []listener {
	all := make([]listener, 0, len(specs))
	for i := range specs {
		l := &specs[i]
		all = append(all, listener{
			owner: owner, spec: l, verdict: verdicts[i], hostname: hostnameOf(l),
			scope: model.NewScope(owner, section(l)),
		})
	}
	return all
}

// section names a listener within its object. One that comes to carry connections in place of
// requests is another one: what is left of the former must not meet them.
func section(l *gatewayv1.Listener) string {
	switch l.Protocol {
	case gatewayv1.TLSProtocolType, gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType:
		return string(l.Name) + "/" + string(l.Protocol)
	case gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType:
	}
	return string(l.Name)
}

func gatewayObject(g *gatewayv1.Gateway) model.Object {
	return model.Object{Kind: KindGateway, Namespace: g.Namespace, Name: g.Name}
}

// datagrams reports whether the policy agent has the listener, and not HAProxy.
func (l *listener) datagrams() bool { return l.spec.Protocol == gatewayv1.UDPProtocolType }

// served reports whether HAProxy listens for it, if it has a slot and, where it ends TLS, a
// certificate.
func (l *listener) served() bool { return l.verdict.Accepted() }

// kinds returns those of routes that may attach, and those in allowedRoutes.kinds that
// may not.
func (l *listener) kinds() (supported, other []string) {
	var possible []string
	switch l.spec.Protocol {
	case gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType:
		possible = []string{string(KindHTTPRoute)}
		if !l.verdict.Shared {
			possible = append(possible, string(KindGRPCRoute))
		}
	case gatewayv1.TLSProtocolType:
		possible = []string{string(KindTLSRoute)}
	case gatewayv1.TCPProtocolType:
		possible = []string{string(KindTCPRoute)}
	case gatewayv1.UDPProtocolType:
		possible = []string{string(KindUDPRoute)}
	}
	if l.spec.AllowedRoutes == nil || len(l.spec.AllowedRoutes.Kinds) == 0 {
		return possible, nil
	}
	for _, k := range l.spec.AllowedRoutes.Kinds {
		group := k.Group == nil || *k.Group == gatewayv1.GroupName
		switch kind := string(k.Kind); {
		case !group || !slices.Contains(possible, kind):
			other = append(other, kind)
		case !slices.Contains(supported, kind):
			supported = append(supported, kind)
		}
	}
	return supported, other
}

// admits reports whether a route of a namespace may attach. An unreadable selector admits
// none.
func (l *listener) admits(namespace string, src door.Source) bool {
	from := gatewayv1.NamespacesFromSame
	var selector *metav1.LabelSelector
	if a := l.spec.AllowedRoutes; a != nil && a.Namespaces != nil {
		if a.Namespaces.From != nil {
			from = *a.Namespaces.From
		}
		selector = a.Namespaces.Selector
	}
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == l.owner.Namespace
	case gatewayv1.NamespacesFromSelector:
		n := src.Namespace(namespace)
		s, err := metav1.LabelSelectorAsSelector(selector)
		return n != nil && err == nil && s.Matches(labels.Set(n.Labels))
	case gatewayv1.NamespacesFromNone:
	}
	return false
}

// selects reports whether labels of namespaces decide which routes may attach.
func (l *listener) selects() bool {
	a := l.spec.AllowedRoutes
	return a != nil && a.Namespaces != nil && a.Namespaces.From != nil && *a.Namespaces.From == gatewayv1.NamespacesFromSelector
}

// resolution is what became of all that a listener refers to.
type resolution struct {
	// reason is that of the condition ResolvedRefs, with what is wrong.
	reason  gatewayv1.ListenerConditionReason
	message string
	// ready says that the port has a slot, and lacking that there is no certificate to show.
	// unbound says that HAProxy runs without such ports, and agentless that there is no policy
	// agent to relay datagrams. exhausted says that no slot is left for the port.
	ready, lacking, unbound, agentless, exhausted bool
}

// resolve judges what the listener refers to. Kinds of routes come last: they leave the
// listener served.
func (l *listener) resolve(reason gatewayv1.ListenerConditionReason, message string) (gatewayv1.ListenerConditionReason, string) {
	if _, other := l.kinds(); reason == gatewayv1.ListenerReasonResolvedRefs && len(other) > 0 {
		return gatewayv1.ListenerReasonInvalidRouteKinds, fmt.Sprintf("allowedRoutes.kinds: listeners of protocol %s cannot have %s", l.spec.Protocol, strings.Join(other, ", "))
	}
	return reason, message
}

// foreignNamespaces are those whose ReferenceGrants decide about the listener.
func (l *listener) foreignNamespaces() (names []string) {
	if l.spec.TLS == nil {
		return nil
	}
	for _, ref := range l.spec.TLS.CertificateRefs {
		if ref.Namespace != nil && string(*ref.Namespace) != l.owner.Namespace {
			names = append(names, string(*ref.Namespace))
		}
	}
	return names
}
