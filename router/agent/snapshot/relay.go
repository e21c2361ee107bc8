package snapshot

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// Bounds of relayed ports.
const (
	// MaxRelays is how many ports there may be.
	MaxRelays = 64
	// MaxRelayEndpoints is how many pods the datagrams of a port may go to.
	MaxRelayEndpoints = 2000
	// MaxRelayWeight is the largest weight of a target: the Gateway API's.
	MaxRelayWeight = 1_000_000
	// MaxRelayTargets is how many targets a port may have: the Gateway API's.
	MaxRelayTargets = 16
	// lowestRelayPort is the first port for which no process needs a privilege.
	lowestRelayPort = 1024
)

// Relay is a UDP port of the router's pod whose datagrams the agent relays to pods.
type Relay struct {
	Port uint16 `json:"port"`
	// Namespace is whose share of sessions clients of the port use.
	Namespace string `json:"namespace"`
	// Targets get the clients by weight; Unusable is the weight of those that cannot be used,
	// whose share is dropped.
	Targets  []RelayTarget `json:"targets,omitempty"`
	Unusable int           `json:"unusable,omitempty"`
}

// RelayTarget are the pods of a Service, of which clients get one each. Without any, the share
// of the target is dropped.
type RelayTarget struct {
	Weight    int              `json:"weight"`
	Endpoints []netip.AddrPort `json:"endpoints,omitempty"`
}

// Equal reports whether two are the same.
func (r *Relay) Equal(o *Relay) bool {
	return r.Port == o.Port && r.Namespace == o.Namespace && r.Unusable == o.Unusable && slices.EqualFunc(r.Targets, o.Targets, func(a, b RelayTarget) bool {
		return a.Weight == b.Weight && slices.Equal(a.Endpoints, b.Endpoints)
	})
}

func sameRelays(a, b []Relay) bool {
	return slices.EqualFunc(a, b, func(x, y Relay) bool { return x.Equal(&y) })
}

// checkRelays says what of a snapshot no router sends.
func checkRelays(all []Relay) error {
	if len(all) > MaxRelays {
		return fmt.Errorf("the snapshot relays %d ports, more than %d", len(all), MaxRelays)
	}
	seen := map[uint16]bool{}
	for i := range all {
		r, endpoints := &all[i], 0
		if r.Port < lowestRelayPort || seen[r.Port] {
			return fmt.Errorf("relayed port %d is that of another entry, or below %d", r.Port, lowestRelayPort)
		}
		seen[r.Port] = true
		bad := r.Unusable < 0 || r.Unusable > MaxRelayTargets*MaxRelayWeight || len(r.Targets) > MaxRelayTargets
		for _, t := range r.Targets {
			endpoints += len(t.Endpoints)
			bad = bad || t.Weight < 1 || t.Weight > MaxRelayWeight
			for _, e := range t.Endpoints {
				bad = bad || !e.Addr().IsValid() || e.Addr().Zone() != "" || e.Port() == 0
			}
		}
		if bad || endpoints > MaxRelayEndpoints {
			return fmt.Errorf("relayed port %d has a weight, a target or an endpoint that cannot be, or %d endpoints, more than %d", r.Port, endpoints, MaxRelayEndpoints)
		}
	}
	return nil
}

func encodeRelays(all []Relay) ([]byte, error) {
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot: %w", err)
	}
	return text, nil
}
