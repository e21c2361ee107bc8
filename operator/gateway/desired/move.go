package desired

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// A port that comes to need a wider slot moves to it without a gap: first both slots are served,
// then clients are led to the new one, and the former one is freed once its clients have gone
// (gateway.Linger).

// mostMove is how long clients are led to the former slot at most, while the routers do not say
// that they serve the new one, leastMove how long at least: not all objects of a Gateway come to
// HAProxy in the same turn.
const (
	leastMove = time.Second
	mostMove  = 30 * time.Second
)

// target returns the pod port that clients of a port are led to.
func (in Input) target(port gateway.Port) int32 {
	if former, moves := in.Moved[port]; moves && in.serves(port, former) && !in.arrived(port) {
		return former
	}
	return in.Slots[port]
}

// arrived reports whether a port that moves has its new slot at the routers. One that clients
// are led to once stays so.
func (in Input) arrived(port gateway.Port) bool {
	if in.Service != nil {
		for _, p := range in.Service.Spec.Ports {
			if p.Port == port.Number && (p.Protocol == corev1.ProtocolUDP) == port.UDP && p.TargetPort.IntVal == in.Slots[port] {
				return true
			}
		}
	}
	since := in.Now.Sub(in.MovedAt[port])
	return since >= mostMove || since >= leastMove && in.wideServed(port)
}

// serves reports whether a slot does for an accepted listener of a port.
func (in Input) serves(port gateway.Port, podPort int32) bool {
	return in.anyListener(func(v gateway.ListenerVerdict, _ *gatewayv1.ListenerSet) bool { return at(v, port, podPort) })
}

// wideServed reports whether all routers serve a listener of a port that only its new slot can
// serve.
func (in Input) wideServed(port gateway.Port) bool {
	return in.anyListener(func(v gateway.ListenerVerdict, set *gatewayv1.ListenerSet) bool {
		if !at(v, port, in.Slots[port]) || at(v, port, in.Moved[port]) {
			return false
		}
		if set != nil {
			return setListenerProgrammed(set, v.Name)
		}
		c := in.listenerProgrammed(v.Name)
		return c != nil && c.Status == metav1.ConditionTrue
	})
}

// at reports whether a slot of a port does for a listener.
func at(v gateway.ListenerVerdict, port gateway.Port, podPort int32) bool {
	b, known := gateway.BlockOf(podPort)
	return known && v.Accepted() && v.Block.Port(v.Port) == port && v.ServedAt(b)
}

// anyListener looks for a listener of the Gateway, or of a ListenerSet of it.
func (in Input) anyListener(is func(gateway.ListenerVerdict, *gatewayv1.ListenerSet) bool) bool {
	for _, v := range in.Joint.Own {
		if is(v, nil) {
			return true
		}
	}
	for _, set := range in.Joint.Sets {
		for _, v := range set.Listeners {
			if is(v, set.Set) {
				return true
			}
		}
	}
	return false
}

func setListenerProgrammed(s *gatewayv1.ListenerSet, name gatewayv1.SectionName) bool {
	for _, l := range s.Status.Listeners {
		c := meta.FindStatusCondition(l.Conditions, string(gatewayv1.ListenerEntryConditionProgrammed))
		if l.Name == name && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == s.Generation {
			return true
		}
	}
	return false
}

// Moving returns how long it is until a port that moves is to be looked at again, 0 if none does.
func (in Input) Moving() (next time.Duration) {
	for port := range in.Moved {
		wait := in.MovedAt[port].Add(gateway.Linger).Sub(in.Now)
		if !in.arrived(port) {
			wait = leastMove
		}
		if wait = max(wait, leastMove); next == 0 || wait < next {
			next = wait
		}
	}
	return next
}

// TakeSlots takes the slots that a table has for the Gateway.
func (in *Input) TakeSlots(t gateway.Table) {
	in.Slots, in.Moved, in.MovedAt = t.Slots(in.Gateway), t.Moved(in.Gateway), map[gateway.Port]time.Time{}
	for port, podPort := range in.Moved {
		in.MovedAt[port] = t[podPort].Freed
	}
}
