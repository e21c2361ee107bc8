package gateway

import (
	"encoding/json"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// parent is a parentRef that names a Gateway of this router or a ListenerSet of one, with
// what came of it.
type parent struct {
	ref gatewayv1.ParentReference
	key model.Object
	// attached are the listeners that the route is attached to.
	attached []listener
	// reason is that of the condition Accepted where nothing is attached, with message.
	reason  gatewayv1.RouteConditionReason
	message string
}

// Parent returns the Gateway or ListenerSet that a parentRef names, and false if it names
// another kind of object.
func Parent(r *gatewayv1.ParentReference, namespace string) (model.Object, bool) {
	kind := KindGateway
	if r.Kind != nil {
		kind = model.Kind(*r.Kind)
	}
	if r.Group != nil && *r.Group != gatewayv1.GroupName || kind != KindGateway && kind != KindListenerSet {
		return model.Object{}, false
	}
	if r.Namespace != nil {
		namespace = string(*r.Namespace)
	}
	return model.Object{Kind: kind, Namespace: namespace, Name: string(r.Name)}, true
}

// parents attaches the route to the listeners of the Gateways and ListenerSets that it names.
func (b *builder) parents() {
	for i := range b.route.Spec.ParentRefs {
		r := b.route.Spec.ParentRefs[i]
		key, possible := Parent(&r, b.route.Namespace)
		if !possible {
			continue
		}
		p := parent{ref: r, key: key}
		all, ok := b.listenersOf(&p)
		if !ok {
			continue // it does not exist, or another program serves it
		}
		if p.reason == "" {
			b.attach(&p, all)
		}
		if p.reason == "" && !b.policed() {
			b.keepOut(&p)
		}
		if p.reason != "" {
			b.find(api.SeverityWarning, fmt.Sprintf("spec.parentRefs[%d]", i), api.Reason(p.reason), p.message, fmt.Sprintf("the route is not served by the %s", p.key.Kind))
		}
		b.attached = append(b.attached, p)
	}
}

// listenersOf returns the listeners of a parent, and false if it is not of this router. The
// parent has a reason if none of them is served.
func (b *builder) listenersOf(p *parent) ([]listener, bool) {
	b.depend(p.key)
	if p.key.Kind == KindGateway {
		g, ok := b.src.Object(p.key).(*gatewayv1.Gateway)
		if !ok {
			return nil, false
		}
		return servedBy(g, nil, permittedBy(b.settings, listenersOf(g))), true
	}
	s, ok := b.src.Object(p.key).(*gatewayv1.ListenerSet)
	if !ok {
		return nil, false
	}
	key, _ := SetGateway(s)
	b.depend(key)
	g, ok := b.src.Object(key).(*gatewayv1.Gateway)
	if !ok {
		return nil, false
	}
	if gateway.SelectsSets(g) {
		b.depend(model.Object{Kind: door.KindNamespace, Name: s.Namespace})
	}
	if !gateway.AllowsSets(g, s.Namespace, labelsFrom(b.src)) {
		p.reason, p.message = gatewayv1.RouteReasonNoMatchingParent, "its Gateway does not allow the ListenerSet"
	}
	return servedBy(g, s, entriesOf(s, g)), true
}

func servedBy(g *gatewayv1.Gateway, s *gatewayv1.ListenerSet, all []listener) []listener {
	for i := range all {
		all[i].gateway, all[i].set = g, s
	}
	return all
}

// attach finds the listeners that a parentRef means and that admit the route.
func (b *builder) attach(p *parent, all []listener) {
	keep := func(from []listener, good func(*listener) bool) (kept []listener) {
		for i := range from {
			if good(&from[i]) {
				kept = append(kept, from[i])
			}
		}
		return kept
	}
	meant := keep(all, func(l *listener) bool {
		return (p.ref.SectionName == nil || *p.ref.SectionName == l.spec.Name) && (p.ref.Port == nil || *p.ref.Port == l.spec.Port)
	})
	if len(meant) == 0 {
		p.reason, p.message = gatewayv1.RouteReasonNoMatchingParent, fmt.Sprintf("the %s has no listener with this sectionName and port", p.key.Kind)
		return
	}
	admitting := keep(meant, func(l *listener) bool {
		if l.selects() {
			b.depend(model.Object{Kind: door.KindNamespace, Name: b.route.Namespace})
		}
		kinds, _ := l.kinds()
		return slices.Contains(kinds, string(b.result.Object.Kind)) && l.admits(b.route.Namespace, b.src)
	})
	if len(admitting) == 0 {
		p.reason, p.message = gatewayv1.RouteReasonNotAllowedByListeners, fmt.Sprintf("allowedRoutes of the listeners admits no %s of namespace %s", b.result.Object.Kind, b.route.Namespace)
		return
	}
	p.attached = keep(admitting, func(l *listener) bool {
		if l.verdict.Shared {
			return len(b.hostsOf(l)) > 0
		}
		return slices.ContainsFunc(b.hosts, func(host string) bool { return fits(l.hostname, host) })
	})
	if len(p.attached) == 0 {
		p.reason, p.message = gatewayv1.RouteReasonNoMatchingListenerHostname, "no hostname of the route fits a hostname of the listeners"
		if slices.ContainsFunc(admitting, func(l listener) bool { return l.verdict.Shared }) {
			p.message += "; at the address of the router only exact hostnames are served"
		}
	}
}

// scopes returns the listeners that serve the route, each once, in the order of its
// parentRefs.
func (b *builder) scopes() (all []listener) {
	for _, p := range b.attached {
		for _, l := range p.attached {
			if l.served() && !slices.ContainsFunc(all, func(o listener) bool { return o.scope == l.scope }) {
				all = append(all, l)
			}
		}
	}
	return all
}

// status says what stands in the status of the route about each parentRef.
func (b *builder) status() []model.ParentStatus {
	var out []model.ParentStatus
	for i := range b.attached {
		p := &b.attached[i]
		text, err := json.Marshal(p.ref)
		if err != nil {
			continue // such a struct can always be marshalled
		}
		accepted := model.StatusCondition{Type: string(gatewayv1.RouteConditionAccepted), True: true, Reason: string(gatewayv1.RouteReasonAccepted)}
		switch {
		case b.refused != "":
			accepted.True, accepted.Reason, accepted.Message = false, string(b.refused), b.refusedText
		case p.reason != "":
			accepted.True, accepted.Reason, accepted.Message = false, string(p.reason), p.message
		default:
			accepted.Message = b.closedText
		}
		st := model.ParentStatus{Ref: string(text), Parent: p.key, Conditions: []model.StatusCondition{accepted, b.resolved()}}
		if accepted.True {
			for _, l := range p.attached {
				st.Listeners, st.Scopes = append(st.Listeners, string(l.spec.Name)), append(st.Scopes, l.scope)
			}
		}
		out = append(out, st)
	}
	return out
}
