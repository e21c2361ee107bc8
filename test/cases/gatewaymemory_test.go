package cases

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

func (m *memory) putGateway(k model.Object, meta *metav1.ObjectMeta, o metav1.Object) {
	m.name(meta, m.object(k))
	m.gateways[k] = o
	m.mark(k)
}

// Grants implements door.Gateways.
func (m *memory) Grants(namespace string) (all []*gatewayv1.ReferenceGrant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, o := range m.gateways {
		if g, ok := o.(*gatewayv1.ReferenceGrant); ok && k.Namespace == namespace {
			all = append(all, g)
		}
	}
	return all
}

// TLSPolicies implements door.Gateways.
func (m *memory) TLSPolicies(namespace string) (all []*gatewayv1.BackendTLSPolicy) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, o := range m.gateways {
		if p, ok := o.(*gatewayv1.BackendTLSPolicy); ok && k.Namespace == namespace {
			all = append(all, p)
		}
	}
	return all
}

// Slots implements door.Gateways.
func (m *memory) Slots(*gatewayv1.Gateway) map[gatewayapi.Port]int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	slots := map[gatewayapi.Port]int32{}
	for number, podPort := range m.slots {
		slots[gatewayapi.Port{Number: number}] = podPort
	}
	for number, podPort := range m.udpSlots {
		slots[gatewayapi.Port{Number: number, UDP: true}] = podPort
	}
	return slots
}

// MovedSlots implements door.MovedSlots.
func (m *memory) MovedSlots(*gatewayv1.Gateway) map[gatewayapi.Port]int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	slots := map[gatewayapi.Port]int32{}
	for number, podPort := range m.moved {
		slots[gatewayapi.Port{Number: number}] = podPort
	}
	return slots
}

// moveSlots changes the table of slots, as the operator does.
func (m *memory) moveSlots(slots, moved map[int32]int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slots, m.moved = slots, moved
	m.mark(model.Object{Kind: door.KindSlots})
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// markSets marks the ListenerSets of the Gateway that one names.
func (m *memory) markSets(s *gatewayv1.ListenerSet) {
	parent, _ := gateway.SetGateway(s)
	m.mark(gateway.SetsOf(parent))
}

// Joint implements door.Gateways.
func (m *memory) Joint(g *gatewayv1.Gateway) *gatewayapi.Joint {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sets []*gatewayv1.ListenerSet
	for _, o := range m.gateways {
		if s, ok := o.(*gatewayv1.ListenerSet); ok {
			if parent, _ := gateway.SetGateway(s); parent.Namespace == g.Namespace && parent.Name == g.Name {
				sets = append(sets, s)
			}
		}
	}
	return gatewayapi.Join(g, sets, func(namespace string) (map[string]string, bool) {
		n := m.namespaces[namespace]
		if n == nil {
			return nil, false
		}
		return n.Labels, true
	})
}
