package explain

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// standInGateways adds what objects of the Gateway API in seen namespaces need of others: the
// Gateways and ListenerSets that they name themselves, with the listeners that are open to
// them, and the grants that are made to them. Routes of other namespaces at the same listeners
// have no stand-in.
func (s *Snapshot) standInGateways(o *Objects) {
	named := map[model.Object]bool{}
	for _, object := range o.Gateways {
		o.hiddenParents(object, named)
	}
	for _, key := range slices.Collect(maps.Keys(named)) {
		if set, ok := s.objects.Gateways[key].(*gatewayv1.ListenerSet); ok {
			o.Add(o.standInSet(set))
			o.hiddenParents(set, named) // its Gateway
		}
	}
	for key := range named {
		if g, ok := s.objects.Gateways[key].(*gatewayv1.Gateway); ok {
			o.Add(o.standInGateway(g))
		}
	}
	s.standInGrants(o)
}

// hiddenParents notes the Gateways and ListenerSets of namespaces that are not seen which an
// object names.
func (o *Objects) hiddenParents(of metav1.Object, named map[model.Object]bool) {
	note := func(parent model.Object, ok bool) {
		if ok && !o.seen(parent.Namespace) {
			named[parent] = true
		}
	}
	for _, ref := range parentsOf(of) {
		note(gateway.Parent(&ref, of.GetNamespace()))
	}
	if set, ok := of.(*gatewayv1.ListenerSet); ok {
		note(gateway.SetGateway(set))
	}
}

func (s *Snapshot) standInGrants(o *Objects) {
	n := 0
	for key, object := range s.objects.Gateways {
		grant, ok := object.(*gatewayv1.ReferenceGrant)
		if !ok || o.seen(key.Namespace) {
			continue
		}
		if own := o.standInGrant(grant); own != nil {
			n++
			own.Name = fmt.Sprintf("grant_%d", n)
			o.Add(own)
		}
	}
}

// standInMeta has nothing of an object that its owner writes but the name, by which objects that
// are seen name it.
func standInMeta(of metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: of.GetNamespace(), Name: of.GetName(), UID: of.GetUID(), CreationTimestamp: of.GetCreationTimestamp(), Generation: of.GetGeneration()}
}

func (o *Objects) standInGateway(g *gatewayv1.Gateway) *gatewayv1.Gateway {
	out := &gatewayv1.Gateway{ObjectMeta: standInMeta(g), Spec: gatewayv1.GatewaySpec{GatewayClassName: g.Spec.GatewayClassName, AllowedListeners: g.Spec.AllowedListeners}}
	for i := range g.Spec.Listeners {
		l := &g.Spec.Listeners[i]
		if o.open(l.AllowedRoutes) {
			out.Spec.Listeners = append(out.Spec.Listeners, gatewayv1.Listener{
				Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes, TLS: standInTLS(l.TLS),
			})
		}
	}
	return out
}

func (o *Objects) standInSet(set *gatewayv1.ListenerSet) *gatewayv1.ListenerSet {
	out := &gatewayv1.ListenerSet{ObjectMeta: standInMeta(set), Spec: gatewayv1.ListenerSetSpec{ParentRef: set.Spec.ParentRef}}
	for i := range set.Spec.Listeners {
		l := &set.Spec.Listeners[i]
		if o.open(l.AllowedRoutes) {
			out.Spec.Listeners = append(out.Spec.Listeners, gatewayv1.ListenerEntry{
				Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes, TLS: standInTLS(l.TLS),
			})
		}
	}
	return out
}

// standInTLS keeps where TLS ends. The certificate is one that cannot be read.
func standInTLS(t *gatewayv1.ListenerTLSConfig) *gatewayv1.ListenerTLSConfig {
	if t == nil {
		return nil
	}
	out := &gatewayv1.ListenerTLSConfig{Mode: t.Mode}
	if len(t.CertificateRefs) > 0 {
		out.CertificateRefs = []gatewayv1.SecretObjectReference{{Name: "certificate"}}
	}
	return out
}

// open reports whether a listener lets routes of a namespace in that is seen.
func (o *Objects) open(allowed *gatewayv1.AllowedRoutes) bool {
	if allowed == nil || allowed.Namespaces == nil || allowed.Namespaces.From == nil {
		return false
	}
	switch *allowed.Namespaces.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSelector:
		by, err := metav1.LabelSelectorAsSelector(allowed.Namespaces.Selector)
		if err != nil {
			return false
		}
		for name, n := range o.Namespaces {
			if o.seen(name) && by.Matches(labels.Set(n.Labels)) {
				return true
			}
		}
	default:
	}
	return false
}

// standInGrant is the part of a grant that is made to namespaces that are seen.
func (o *Objects) standInGrant(g *gatewayv1.ReferenceGrant) *gatewayv1.ReferenceGrant {
	out := &gatewayv1.ReferenceGrant{ObjectMeta: standInMeta(g), Spec: gatewayv1.ReferenceGrantSpec{To: g.Spec.To}}
	for _, from := range g.Spec.From {
		if o.seen(string(from.Namespace)) {
			out.Spec.From = append(out.Spec.From, from)
		}
	}
	if len(out.Spec.From) == 0 {
		return nil
	}
	return out
}
