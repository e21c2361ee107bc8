package relay

import (
	"math/bits"
	"math/rand/v2"
	"net/netip"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// route says which pods the datagrams of a port go to.
type route struct {
	namespace string
	targets   []target
	// total is the weight of all targets, and of what cannot be used.
	total uint64
	turn  uint64
	pods  map[netip.AddrPort]struct{}
}

// target are the pods of one Service.
type target struct {
	weight uint64
	pods   []netip.AddrPort
	turn   uint64
}

// golden is 2⁶⁴ by the golden ratio: multiples of it, modulo 2⁶⁴, are spread evenly, however
// many there are, so that even a few sessions have their shares.
const golden = 0x9E3779B97F4A7C15

// routesOf returns the route of each port. Those that are as before go on with their turns.
func routesOf(all []snapshot.Relay, before map[uint16]*route) map[uint16]*route {
	out := make(map[uint16]*route, len(all))
	for i := range all {
		from := &all[i]
		to := &route{namespace: from.Namespace, total: uint64(max(from.Unusable, 0)), turn: rand.Uint64(), pods: map[netip.AddrPort]struct{}{}} //nolint:gosec // only shares depend on it
		if old := before[from.Port]; old != nil {
			to.turn = old.turn
		}
		for _, t := range from.Targets {
			weight := uint64(max(t.Weight, 0))
			to.total += weight
			to.targets = append(to.targets, target{weight: weight, pods: t.Endpoints, turn: rand.Uint64()}) //nolint:gosec // only shares depend on it
			for _, pod := range t.Endpoints {
				to.pods[pod] = struct{}{}
			}
		}
		out[from.Port] = to
	}
	return out
}

// choose returns the pod for a new session, and false if its share of the weights has none.
func (r *route) choose() (netip.AddrPort, bool) {
	if r.total == 0 {
		return netip.AddrPort{}, false
	}
	r.turn += golden
	at, _ := bits.Mul64(r.turn, r.total)
	for i := range r.targets {
		t := &r.targets[i]
		if at >= t.weight {
			at -= t.weight
			continue
		}
		if len(t.pods) == 0 {
			return netip.AddrPort{}, false
		}
		t.turn += golden
		n, _ := bits.Mul64(t.turn, uint64(len(t.pods)))
		return t.pods[n], true
	}
	return netip.AddrPort{}, false
}

// has reports whether a pod is one of the route's.
func (r *route) has(pod netip.AddrPort) bool {
	_, ok := r.pods[pod]
	return ok
}
