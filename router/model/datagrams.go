package model

import "net/netip"

// Datagrams says which pods get what clients send to a listener for UDP.
type Datagrams struct {
	Targets []DatagramTarget
	// Unusable is the weight of the targets that cannot be used.
	Unusable int
}

// DatagramTarget are the pods of a Service, which share the clients that its weight leads there.
type DatagramTarget struct {
	Weight int
	Pods   []netip.AddrPort
}
