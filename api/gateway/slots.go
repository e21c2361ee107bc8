package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Slot says which port of which Gateway has a pod port.
type Slot struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Port is the port of the listeners.
	Port int32 `json:"port"`
	// For is the namespace whose ListenerSets alone ask for the port; empty if it is that of
	// the Gateway, or the Gateway asks for it.
	For string `json:"for,omitempty"`
	// Freed is when the Gateway lost the slot, zero while it has it. Other Gateways get
	// it after a pause (Rest), so that late packets for the old one meet nothing.
	Freed time.Time `json:"freed,omitzero"`
	// Moved says that the port has another slot since then, while this one is still served, for
	// the connections that clients have to it, and for new ones until they are led to the other.
	Moved bool `json:"moved,omitempty"`
}

// Port is a port of a Gateway. Ports of UDP have numbers of their own: one number can be that of
// a port of TCP and of one of UDP.
type Port struct {
	Number int32
	UDP    bool
}

// String returns the number, of a port of UDP with the protocol.
func (p Port) String() string {
	if p.UDP {
		return fmt.Sprintf("%d/UDP", p.Number)
	}
	return strconv.Itoa(int(p.Number))
}

// ComparePorts orders ports by number, and those of TCP before those of UDP.
func ComparePorts(a, b Port) int {
	if a.Number != b.Number || a.UDP == b.UDP {
		return cmp.Compare(a.Number, b.Number)
	}
	if a.UDP {
		return 1
	}
	return -1
}

// Tenant returns the namespace of whose share the slot is.
func (s Slot) Tenant() string { return cmp.Or(s.For, s.Namespace) }

// Rest is how long a freed slot is not given to another Gateway.
const Rest = 60 * time.Second

// Linger is how long a slot that a port has moved from is served at most, while a router pod is
// older than the move: connections of HTTP/2 can last that long. Those of HTTP/1 end with their
// next answer.
const Linger = 24 * time.Hour

// Table has the slots of an IngressController's routers by pod port.
type Table map[int32]Slot

// ReadTable reads the data of the ConfigMap that SlotsName names. An entry that cannot
// be read counts as free; the errors name these, in the order of their keys.
func ReadTable(data map[string]string) (Table, []error) {
	table := Table{}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(data)) {
		port, slot, err := readSlot(key, data[key])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		table[port] = slot
	}
	return table, problems
}

func readSlot(key, value string) (int32, Slot, error) {
	port, err := strconv.ParseInt(key, 10, 32)
	if _, ok := BlockOf(int32(port)); err != nil || !ok || key != strconv.FormatInt(port, 10) {
		return 0, Slot{}, fmt.Errorf("slot %q is no port of a block", key)
	}
	var s Slot
	if err := json.Unmarshal([]byte(value), &s); err != nil {
		return 0, Slot{}, fmt.Errorf("slot %s: %w", key, err)
	}
	if s.Namespace == "" || s.Name == "" || s.UID == "" || s.Port < 1 || s.Port > 65535 {
		return 0, Slot{}, fmt.Errorf("slot %s: namespace, name, uid and a port from 1 to 65535 are required", key)
	}
	return int32(port), s, nil
}

// Data returns the table as data of the ConfigMap.
func (t Table) Data() map[string]string {
	data := make(map[string]string, len(t))
	for port, slot := range t {
		text, err := json.Marshal(slot)
		if err != nil {
			continue // Such a struct can always be marshalled.
		}
		data[strconv.Itoa(int(port))] = string(text)
	}
	return data
}

// Slots returns the pod port of each port of a Gateway that has one. A port whose
// protocol has changed has the slot of the new block only. The Gateway is recognised by
// its UID, so one that is created again under its old name has none of the old slots.
func (t Table) Slots(g *gatewayv1.Gateway) map[Port]int32 {
	if g.UID == "" {
		return nil // Not of an API server: it must not match an entry without UID.
	}
	found := map[Port]int32{}
	for podPort, slot := range t {
		if slot.UID != g.UID || slot.Namespace != g.Namespace || slot.Name != g.Name || !slot.Freed.IsZero() {
			continue
		}
		port := PortOf(podPort, slot)
		if other, twice := found[port]; !twice || podPort < other {
			found[port] = podPort
		}
	}
	return found
}

// Moved returns the pod ports that ports of a Gateway have moved from and that are still served.
func (t Table) Moved(g *gatewayv1.Gateway) map[Port]int32 {
	found := map[Port]int32{}
	for podPort, slot := range t {
		if slot.Moved && g.UID != "" && slot.UID == g.UID && slot.Namespace == g.Namespace && slot.Name == g.Name {
			found[PortOf(podPort, slot)] = podPort
		}
	}
	return found
}

// Size returns how many ports of a block the routers have: those of the start, and half as many again
// as often as slots beyond them are in use. The larger sizes are few, because HAProxy binds ports only
// when it starts: each is a reload.
func (t Table) Size(b Block) int32 {
	size := b.Count
	for podPort := range t {
		for b.Has(podPort) && b.Index(podPort) >= size {
			size = b.grown(size)
		}
	}
	return size
}

// PerNamespace is how many slots of a block the Gateways of one namespace may have: a
// quarter, so that one tenant cannot take all, nor have the block grow.
func (t Table) PerNamespace(b Block) int { return int(t.Size(b)) / 4 }

// Full reports whether no slot of a block is left for a tenant: all that there can be are in use, or
// the tenant has its share. Those that rest are not: they are free within a minute.
func (t Table) Full(b Block, tenant string) bool {
	all, own := 0, 0
	for podPort, slot := range t {
		if !b.Has(podPort) || !slot.Freed.IsZero() && !slot.Moved {
			continue
		}
		all++
		if slot.Tenant() == tenant {
			own++
		}
	}
	return all >= int(b.Most) || own >= t.PerNamespace(b)
}

// PortOf returns the port of a Gateway that a pod port is a slot of.
func PortOf(podPort int32, s Slot) Port {
	b, _ := BlockOf(podPort)
	return b.Port(s.Port)
}
