// Package bgp decides what a node tells its routers by BGP: which nodes
// announce a Service's addresses, as which prefixes, with which attributes, and
// to which peers. It is pure; package engine holds the sessions.
//
//	Service, advertisements, nodes ─ Decide ─▶ offers of this node ─ Merge ─▶ routes of one peer
//
// Unlike with ARP, all eligible nodes announce, and the router spreads the
// traffic over them.
package bgp

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// Route is a prefix as one peer gets it.
type Route struct {
	Prefix netip.Prefix
	// LocalPref is for peers of the own AS; 0 means the default, 100.
	LocalPref uint32
	// Prepend is how many times more than once the node's AS number is in the AS
	// path, for peers of other ASes.
	Prepend uint8
	// Communities are sorted, without repetition.
	Communities []config.Community
}

// Equal says whether the two routes are the same to a peer.
func (r Route) Equal(o Route) bool {
	return r.Prefix == o.Prefix && r.LocalPref == o.LocalPref && r.Prepend == o.Prepend && slices.Equal(r.Communities, o.Communities)
}

// Peer is a router as one node talks to it. It is comparable: a session is kept
// as long as its Peer is equal.
type Peer struct {
	// Name is that of the BGPPeer.
	Name string
	// MyASN is the node's AS. LocalASN, if not 0, is shown to this peer instead.
	MyASN, LocalASN uint32
	// PeerASN is the peer's AS; 0 if Dynamic says how to take it from the peer.
	PeerASN uint32
	Dynamic v1beta2.DynamicASN
	// Address is the peer's; not valid if Interface is set.
	Address netip.Addr
	// Interface is for unnumbered sessions: the peer is the one router on it.
	Interface string
	// Source is the local address; not valid if the kernel chooses.
	Source netip.Addr
	// Port is the peer's TCP port; 0 means 179.
	Port uint16
	// HoldTime and KeepaliveTime: 0 means 90 s and a third of the hold time.
	HoldTime, KeepaliveTime time.Duration
	// ConnectTime is the longest pause between attempts to connect; 0 means
	// DefaultConnectTime.
	ConnectTime time.Duration
	// RouterID is an IPv4 address; not valid if the node chooses.
	RouterID netip.Addr
	// Password is for TCP MD5; it is never logged.
	Password        string
	GracefulRestart bool
	MultiHop        bool
	// VRF is the device of a Linux VRF, or empty.
	VRF string
	// DualStack says that the session carries both families. Otherwise it
	// carries that of its address; an unnumbered session always carries both.
	DualStack bool
}

// DefaultConnectTime is the longest pause between attempts to connect unless
// the peer says otherwise.
const DefaultConnectTime = 10 * time.Second

// DefaultPort is BGP's.
const DefaultPort = 179

// Internal says whether the peer is known to be of the node's own AS.
func (p Peer) Internal() bool {
	return p.Dynamic == v1beta2.DynamicASNInternal || p.PeerASN != 0 && p.PeerASN == p.OwnASN()
}

// OwnASN is the AS number that the peer sees.
func (p Peer) OwnASN() uint32 {
	if p.LocalASN != 0 {
		return p.LocalASN
	}
	return p.MyASN
}

// Carries says whether the session carries routes of the prefix's family.
func (p Peer) Carries(prefix netip.Prefix) bool {
	if p.DualStack || p.Interface != "" {
		return true
	}
	return p.Address.Is4() == prefix.Addr().Is4()
}

// String returns address and port, or the interface, as metrics and logs show them.
func (p Peer) String() string {
	if p.Interface != "" {
		return p.Interface
	}
	return netip.AddrPortFrom(p.Address, cmp.Or(p.Port, DefaultPort)).String()
}
