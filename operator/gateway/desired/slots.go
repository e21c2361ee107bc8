package desired

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// WantedSlots returns the block of each port of a Gateway that needs a slot: each port
// with an accepted listener. Tenants are the namespaces of the ListenerSets that ask for a
// port which the Gateway itself does not have, of several that of the first.
func WantedSlots(j *gateway.Joint) (wanted map[gateway.Port]gateway.Block, tenants map[gateway.Port]string) {
	wanted, tenants = map[gateway.Port]gateway.Block{}, map[gateway.Port]string{}
	want := func(v gateway.ListenerVerdict, tenant string) {
		if !v.Accepted() || v.Shared {
			return
		}
		port := v.Block.Port(v.Port)
		if before, has := wanted[port]; has {
			wanted[port] = before.Wider(v.Block)
			return
		}
		if wanted[port] = v.Block; tenant != "" {
			tenants[port] = tenant
		}
	}
	for _, v := range j.Own {
		want(v, "")
	}
	for _, set := range j.Sets {
		for _, v := range set.Listeners {
			want(v, set.Set.Namespace)
		}
	}
	return wanted, tenants
}

// Assign returns the table in which a Gateway has a slot for each wanted port, of the share of
// its tenant, which is the Gateway's namespace unless tenants has another one; whether
// it differs from the one before, and the ports for which there is none, in order.
// Slots are kept as long as their port wants one of their block, or one that their block serves:
// who adds and removes a listener of TLS moves the others once. A port for which no wider slot is
// left keeps the one that it has, which serves its listeners of HTTPS. What is not wanted any
// more is freed, and so are slots of a former Gateway of the same name.
func Assign(before gateway.Table, g *gatewayv1.Gateway, wanted map[gateway.Port]gateway.Block, tenants map[gateway.Port]string, now time.Time) (gateway.Table, bool, []gateway.Port) {
	base := maps.Clone(before)
	maps.DeleteFunc(base, func(_ int32, s gateway.Slot) bool { return rested(s, now) })
	table := maps.Clone(base)
	if table == nil {
		table = gateway.Table{}
	}
	has, narrow := map[gateway.Port]bool{}, map[gateway.Port]int32{}
	for _, podPort := range slices.Sorted(maps.Keys(table)) {
		s := table[podPort]
		port := gateway.PortOf(podPort, s)
		if !holds(s, g) {
			table[podPort] = lapsed(s, g, wanted[port].ServesSlot(podPort), now)
			continue
		}
		is, _ := gateway.BlockOf(podPort)
		if block, ok := wanted[port]; s.UID == g.UID && ok && !has[port] {
			if is == block || is.Serves(block) {
				has[port] = true
				s.For = others(g, tenants[port])
				table[podPort] = s
				continue
			}
			narrow[port] = podPort
		}
		table[podPort] = freed(s, now)
	}
	var lacking []gateway.Port
	for _, port := range slices.SortedFunc(maps.Keys(wanted), gateway.ComparePorts) {
		if has[port] {
			continue
		}
		mine := gateway.Slot{Namespace: g.Namespace, Name: g.Name, UID: g.UID, Port: port.Number, For: others(g, tenants[port])}
		podPort, ok := choose(table, wanted[port], mine, now)
		if !ok {
			lacking = append(lacking, port)
			if podPort = narrow[port]; !wanted[port].ServesSlot(podPort) || table[podPort] != freed(base[podPort], now) {
				continue
			}
		}
		table[podPort] = mine
		moveFrom(table, narrow[port], wanted[port])
	}
	return table, !maps.Equal(base, table), lacking
}

// freed returns a slot that its Gateway loses now.
func freed(s gateway.Slot, now time.Time) gateway.Slot {
	s.Freed, s.Moved = now.UTC().Truncate(time.Second), false
	return s
}

// holds reports whether a Gateway of that name has a slot.
func holds(s gateway.Slot, g *gatewayv1.Gateway) bool {
	return s.Namespace == g.Namespace && s.Name == g.Name && s.Freed.IsZero()
}

// lapsed returns a slot that its port does not have any more. One that the port has moved from
// is still served while it does for the port, but not for ever. Those of other Gateways stay.
func lapsed(s gateway.Slot, g *gatewayv1.Gateway, does bool, now time.Time) gateway.Slot {
	if s.Moved && s.Namespace == g.Namespace && s.Name == g.Name && (s.UID != g.UID || !does || !now.Before(s.Freed.Add(gateway.Linger))) {
		return freed(s, now)
	}
	return s
}

// moveFrom has the slot that a port had before served on, if there is one and the block of the
// new slot is a wider one.
func moveFrom(t gateway.Table, podPort int32, to gateway.Block) {
	if s, there := t[podPort]; there && !s.Freed.IsZero() && to.ServesSlot(podPort) {
		s.Moved = true
		t[podPort] = s
	}
}

// others returns a tenant that is not the Gateway's own namespace, otherwise nothing.
func others(g *gatewayv1.Gateway, tenant string) string {
	if tenant == g.Namespace {
		return ""
	}
	return tenant
}

// rested reports whether a freed slot may have another owner now.
func rested(s gateway.Slot, now time.Time) bool {
	return !s.Freed.IsZero() && !s.Moved && !now.Before(s.Freed.Add(gateway.Rest))
}

// choose returns the slot for a port: the one that it had, else the lowest that is free.
// Where the tenant has all that it may have, or nothing is free, one of its own that
// rests will do: what is late there is late for the same tenant. Where all are taken and the tenant has
// less than its share, it is the first beyond: the block grows.
func choose(table gateway.Table, b gateway.Block, mine gateway.Slot, now time.Time) (int32, bool) {
	free, own := lowest(table, b), int32(-1)
	count := 0
	for p := b.First; b.Has(p); p++ {
		s, taken := table[p]
		if !taken || s.Tenant() != mine.Tenant() {
			continue
		}
		count++
		if s.Freed.IsZero() || s.Moved && now.Before(s.Freed.Add(leastLinger)) || s.Namespace != mine.Namespace {
			continue
		}
		if s.UID == mine.UID && s.Port == mine.Port {
			return p, true
		}
		if own < 0 {
			own = p
		}
	}
	if free >= 0 && count < table.PerNamespace(b) {
		return free, true
	}
	return own, own >= 0
}

// lowest returns the lowest slot of a block that is free, the first beyond its size where all are
// taken; -1 if it can have no more.
func lowest(table gateway.Table, b gateway.Block) int32 {
	for p := b.First; b.Has(p); p++ {
		if _, taken := table[p]; !taken {
			return p
		}
	}
	return -1
}

// leastLinger is after which time a tenant that has no other slot gets one that a port of its own
// has moved from: longer than HAProxy keeps a connection that is idle.
const leastLinger = 16 * time.Minute

// Drain frees the slots that ports of a Gateway have moved from once no router pod is older than
// the move, so that no client has a connection there, and reports whether there were such. It
// changes the table.
func Drain(t gateway.Table, g *gatewayv1.Gateway, pods []corev1.Pod, now time.Time) (drained bool) {
	for _, podPort := range t.Moved(g) {
		s := t[podPort]
		if len(pods) > 0 && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.CreationTimestamp.Time.Before(s.Freed.Add(mostMove)) }) {
			t[podPort], drained = freed(s, now), true
		}
	}
	return drained
}

// Release returns the table in which the slots of Gateways that do not exist are freed,
// and whether it differs from the one before.
func Release(before gateway.Table, exists func(gateway.Slot) bool, now time.Time) (gateway.Table, bool) {
	table, changed := maps.Clone(before), false
	for podPort, s := range before {
		if (s.Freed.IsZero() || s.Moved) && !exists(s) {
			table[podPort], changed = freed(s, now), true
		}
	}
	return table, changed
}

// Affected returns the Gateways whose entries differ between two tables, in order.
func Affected(before, after gateway.Table) []gateway.Slot {
	found := map[[2]string]gateway.Slot{}
	note := func(s gateway.Slot) { found[[2]string{s.Namespace, s.Name}] = s }
	for p, s := range before {
		if after[p] != s {
			note(s)
		}
	}
	for p, s := range after {
		if before[p] != s {
			note(s)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b gateway.Slot) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
