package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// taken is what listeners have that come before an entry.
type taken struct {
	ports map[int32]portUse
	// listeners and certificates count those of ListenerSets, by namespace, and all the
	// first of all namespaces.
	listeners, certificates map[string]int
	all, allCertificates    int
}

// portUse has the protocols (group) and, of each, the hostnames of a port.
type portUse map[string]map[string]struct{}

func (t *taken) take(of *gatewayv1.Gateway, l *gatewayv1.Listener) {
	g, judged := group(of, l)
	if !judged {
		return
	}
	use := t.ports[int32(l.Port)]
	if use == nil {
		use = portUse{}
		t.ports[int32(l.Port)] = use
	}
	if use[g] == nil {
		use[g] = map[string]struct{}{}
	}
	use[g][hostname(l)] = struct{}{}
}

// clear forgets all, and keeps the memory of it.
func (t *taken) clear() {
	for _, use := range t.ports {
		for _, hosts := range use {
			clear(hosts)
		}
	}
	clear(t.listeners)
	clear(t.certificates)
	t.all, t.allCertificates = 0, 0
}

// judge judges the next entry of a ListenerSet, of which v is true by itself, and gives it what it
// asks for if it is accepted. Messages name no other objects: a tenant may not know them.
func (t *taken) judge(g *gatewayv1.Gateway, namespace string, l *gatewayv1.Listener, v ListenerVerdict) ListenerVerdict {
	if conflict, message := t.conflict(g, l); conflict != gatewayv1.ListenerReasonNoConflicts {
		v.Conflict, v.Reason, v.Message, v.Block = conflict, conflict, message, Block{}
		return v
	}
	if !v.Accepted() {
		return v
	}
	certificates := 0
	if l.TLS != nil {
		certificates = len(l.TLS.CertificateRefs)
	}
	if message := t.tooMany(namespace, certificates); message != "" {
		v.Reason, v.Message, v.Block = gatewayv1.ListenerConditionReason(gatewayv1.ListenerEntryReasonTooManyListeners), message, Block{}
		return v
	}
	t.take(g, l)
	t.all++
	t.listeners[namespace]++
	t.certificates[namespace] += certificates
	t.allCertificates += certificates
	return v
}

func (t *taken) conflict(g *gatewayv1.Gateway, l *gatewayv1.Listener) (gatewayv1.ListenerConditionReason, string) {
	mine, judged := group(g, l)
	use := t.ports[int32(l.Port)]
	if !judged || use == nil {
		return gatewayv1.ListenerReasonNoConflicts, ""
	}
	for other, hosts := range use {
		if len(hosts) > 0 && other != mine && !apart(mine, other) {
			return gatewayv1.ListenerReasonProtocolConflict,
				fmt.Sprintf("port %d has another protocol beside which %s is not served, at the Gateway or in a ListenerSet that comes first, so this listener is not served; give it another port", l.Port, l.Protocol)
		}
	}
	if _, has := use[mine][hostname(l)]; has {
		return gatewayv1.ListenerReasonHostnameConflict,
			fmt.Sprintf("the Gateway, or a ListenerSet that comes first, has hostname %q at port %d, so this listener is not served; give it another hostname or port", hostname(l), l.Port)
	}
	return gatewayv1.ListenerReasonNoConflicts, ""
}

// tooMany says which bound one more listener would exceed, empty if none.
func (t *taken) tooMany(namespace string, certificates int) string {
	switch {
	case t.listeners[namespace] == MostSetListenersOfNamespace:
		return fmt.Sprintf("the ListenerSets of namespace %s have the %d listeners that one namespace may have at a Gateway, so this one is not served; delete others", namespace, MostSetListenersOfNamespace)
	case t.certificates[namespace]+certificates > MostSetCertificatesOfNamespace:
		return fmt.Sprintf("the ListenerSets of namespace %s may name %d certificates at a Gateway, and this listener names more than are left, so it is not served; delete others", namespace, MostSetCertificatesOfNamespace)
	case t.allCertificates+certificates > MostSetCertificates:
		return fmt.Sprintf("the ListenerSets of a Gateway may name %d certificates, and this listener names more than are left, so it is not served; delete others, or name another Gateway", MostSetCertificates)
	case t.all == MostSetListeners:
		return fmt.Sprintf("the Gateway has the %d listeners that ListenerSets may add to it, so this one is not served; delete others, or name another Gateway", MostSetListeners)
	}
	return ""
}
