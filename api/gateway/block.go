package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Block is a range of ports that HAProxy binds in the same way when it starts. Those of UDP are
// opened by the policy agent, each when it has a slot.
type Block struct {
	// Name is one letter.
	Name string
	// First is the first pod port, Count how many ports there are at first, and Most how many there can
	// be (Table.Size).
	First, Count, Most int32
}

// HTTP serves listeners of protocol HTTP, HTTPS those of protocol HTTPS, each port with
// certificates of its own. Fallback does so where clients are let in whatever certificate they
// show (AllowInsecureFallback): HAProxy fixes that for a port when it starts. TLS serves
// listeners of protocol TLS, and of HTTPS beside them, sorted by server name, TCP those of protocol TCP, and UDP those of
// protocol UDP.
var (
	HTTP     = Block{Name: "H", First: 20000, Count: 256, Most: 1000}
	HTTPS    = Block{Name: "S", First: 21000, Count: 128, Most: 900}
	Fallback = Block{Name: "F", First: 21900, Count: 16, Most: 100}
	TLS      = Block{Name: "M", First: 22000, Count: 64, Most: 1000}
	TCP      = Block{Name: "T", First: 23000, Count: 128, Most: 1000}
	UDP      = Block{Name: "U", First: 24000, Count: 64, Most: 1000}
)

// Blocks returns all blocks, by their first port.
func Blocks() []Block { return []Block{HTTP, HTTPS, Fallback, TLS, TCP, UDP} }

// Port returns a port of a Gateway for which the block has slots.
func (b Block) Port(number int32) Port { return Port{Number: number, UDP: b == UDP} }

// Serves reports whether slots of the block do for listeners of another one: those of TLS sort
// connections by server name, and those for HTTPS end where requests are read.
func (b Block) Serves(other Block) bool { return b == TLS && other == HTTPS }

// ServesSlot reports whether slots of the block do for what a slot of another block serves.
func (b Block) ServesSlot(podPort int32) bool {
	other, _ := BlockOf(podPort)
	return b.Serves(other)
}

// Wider returns the block of the slot for a port that has listeners of both.
func (b Block) Wider(other Block) Block {
	if other.Serves(b) {
		return other
	}
	return b
}

// Has reports whether a pod port is one of the block, or can be one.
func (b Block) Has(podPort int32) bool { return podPort >= b.First && podPort < b.First+b.Most }

// Index returns the place of a pod port in its block, from 0.
func (b Block) Index(podPort int32) int32 { return podPort - b.First }

// grown returns the next larger size of the block: half as large again.
func (b Block) grown(size int32) int32 { return min(size+size/2, b.Most) }

// BlockOf returns the block of a pod port, and whether it has one.
func BlockOf(podPort int32) (Block, bool) {
	for _, b := range Blocks() {
		if b.Has(podPort) {
			return b, true
		}
	}
	return Block{}, false
}

// BlockFor returns the block for a protocol, and whether the protocol is served. Some listeners
// of HTTPS are in Fallback instead (ListenerVerdict).
func BlockFor(p gatewayv1.ProtocolType) (Block, bool) {
	switch p {
	case gatewayv1.HTTPProtocolType:
		return HTTP, true
	case gatewayv1.HTTPSProtocolType:
		return HTTPS, true
	case gatewayv1.TLSProtocolType:
		return TLS, true
	case gatewayv1.TCPProtocolType:
		return TCP, true
	case gatewayv1.UDPProtocolType:
		return UDP, true
	}
	return Block{}, false
}
