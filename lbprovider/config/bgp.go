package config

import (
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/metallb/v1beta2"
)

// BGPAdvertisement is one BGPAdvertisement.
type BGPAdvertisement struct {
	Name string
	// AggregationLength and AggregationLengthV6 are the lengths of the
	// announced prefixes; 32 and 128 announce each address by itself. Of a pool's
	// advertisement, 0 means that it does not announce addresses of that family,
	// because there it does not go with the pool or with another advertisement.
	AggregationLength, AggregationLengthV6 int
	// LocalPref is 0 if it is not set.
	LocalPref uint32
	// Prepend is how many times more the node's AS number is in the AS path.
	Prepend uint8
	// Communities are sorted and without duplicates; names are resolved.
	Communities []Community
	// Peers are names of BGPPeers, sorted; empty means all.
	Peers []string
	// Nodes, Services: empty means all.
	Nodes    []labels.Selector
	Services []labels.Selector

	pools         []string
	poolSelectors []labels.Selector
}

// Prefix returns what the advertisement announces for addr: nothing if it does
// not announce that family.
func (ad *BGPAdvertisement) Prefix(addr netip.Addr) (prefix netip.Prefix, announced bool) {
	length := ad.length(addr.Is6())
	return netip.PrefixFrom(addr, length).Masked(), length != 0
}

func (ad *BGPAdvertisement) length(v6 bool) int {
	if v6 {
		return ad.AggregationLengthV6
	}
	return ad.AggregationLength
}

// without returns the advertisement without a family of addresses.
func (ad *BGPAdvertisement) without(v6 bool) *BGPAdvertisement {
	rest := *ad
	if v6 {
		rest.AggregationLengthV6 = 0
	} else {
		rest.AggregationLength = 0
	}
	return &rest
}

func family(v6 bool) string {
	if v6 {
		return "IPv6"
	}
	return "IPv4"
}

// Community is a BGP community: a standard one (RFC 1997) has the two parts A
// and B of 16 bits, a large one (RFC 8092) has three of 32 bits. It is
// comparable.
type Community struct {
	Large   bool
	A, B, C uint32
}

// String returns the form that users write.
func (c Community) String() string {
	if c.Large {
		return fmt.Sprintf("large:%d:%d:%d", c.A, c.B, c.C)
	}
	return fmt.Sprintf("%d:%d", c.A, c.B)
}

// Peer is one BGPPeer: one session on every selected node.
type Peer struct {
	Name string
	// MyASN is our number, or the one that this peer sees instead of it.
	MyASN, LocalASN uint32
	// PeerASN is 0 if DynamicASN says how it is learned.
	PeerASN    uint32
	DynamicASN v1beta2.DynamicASN
	// Address is invalid if the router is found behind Interface.
	Address   netip.Addr
	Interface string
	Port      uint16
	// Source is the address to connect from; invalid means any.
	Source netip.Addr
	// RouterID is invalid if it is to be chosen.
	RouterID netip.Addr
	// Hold and Keepalive are both set, or both 0, which means the
	// implementation's default. Connect is 0 for the default.
	Hold, Keepalive, Connect time.Duration
	// Nodes: empty means all.
	Nodes    []labels.Selector
	Password Password
	// BFD is nil if it is not used.
	BFD             *BFDProfile
	GracefulRestart bool
	EBGPMultiHop    bool
	VRF             string
	// DualStack exchanges both families over this session.
	DualStack bool
}

// IBGP says whether the router has our own AS number. With DynamicASN it is as
// that says.
func (p *Peer) IBGP() bool {
	if p.DynamicASN != "" {
		return p.DynamicASN == v1beta2.DynamicASNInternal
	}
	return p.PeerASN == p.OwnASN()
}

// OwnASN is the AS number that the router sees.
func (p *Peer) OwnASN() uint32 {
	if p.LocalASN != 0 {
		return p.LocalASN
	}
	return p.MyASN
}

// Password is a secret. It does not print itself.
type Password string

// String returns a word that stands for the password.
func (p Password) String() string {
	if p == "" {
		return ""
	}
	return "(hidden)"
}

// GoString is String.
func (p Password) GoString() string { return p.String() }

// MarshalText returns String, for JSON and logs.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// BFDProfile is one BFDProfile.
type BFDProfile struct {
	Name string
	// Receive and Transmit are the intervals of RFC 5880: Required Min RX and
	// Desired Min TX.
	Receive, Transmit time.Duration
	// Multiplier is how many packets in a row may be missing.
	Multiplier uint8
	// Passive waits for the router's first packet.
	Passive bool
	// MinimumTTL is the least TTL of received packets over several hops.
	MinimumTTL uint8
}
