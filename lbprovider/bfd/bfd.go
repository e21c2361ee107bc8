// Package bfd finds out within milliseconds that a neighbour can no longer be
// reached, by BFD (RFC 5880): asynchronous mode, single hop (RFC 5881, UDP 3784)
// and multihop (RFC 5883, UDP 4784), without authentication. Package protocol
// has packets and state machine; this one has the sockets and the clock.
//
//	Engine.Add(Config) ─→ Session: one goroutine with its Machine and its sending socket
//	                        ▲ packets, by discriminator or by address
//	                      listener: one per port, address family and VRF, while sessions need it
//
// It needs no capability. A session is no promise: that it comes Up says that
// both ends speak BFD, and a user of it should act only when it goes Down after
// it was Up (Change.Failed).
package bfd

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bfd/protocol"
)

// Ports that packets are sent to.
const (
	SingleHopPort = 3784
	MultihopPort  = 4784
)

// Profile is what one end wants of a session. Its fields have the meaning of a
// BFDProfile of metallb.io; DefaultProfile has the defaults.
type Profile struct {
	// ReceiveInterval is the shortest interval at which packets are welcome,
	// TransmitInterval the shortest at which they are sent: 10 ms to 60 s.
	ReceiveInterval, TransmitInterval time.Duration
	// DetectMultiplier is how many packets the peer may miss: 1 to 255.
	DetectMultiplier uint8
	// PassiveMode waits for the peer's first packet.
	PassiveMode bool
	// MinimumTTL is the smallest TTL or hop limit at which packets of a multihop
	// session are accepted: 255 less the number of routers between, 1 to 255.
	MinimumTTL uint8
}

// DefaultProfile is used where a profile sets nothing: three packets, 300 ms apart.
func DefaultProfile() Profile {
	const interval = 300 * time.Millisecond
	return Profile{ReceiveInterval: interval, TransmitInterval: interval, DetectMultiplier: 3, MinimumTTL: 254}
}

func (p Profile) validate() error {
	const shortest, longest = 10 * time.Millisecond, time.Minute
	for name, d := range map[string]time.Duration{"receive": p.ReceiveInterval, "transmit": p.TransmitInterval} {
		if d < shortest || d > longest {
			return fmt.Errorf("BFD %s interval %v is not between %v and %v", name, d, shortest, longest)
		}
	}
	if p.DetectMultiplier == 0 || p.MinimumTTL == 0 {
		return errors.New("BFD detect multiplier and minimum TTL must not be 0")
	}
	return nil
}

func (p Profile) config() protocol.Config {
	return protocol.Config{
		DesiredMinTx: p.TransmitInterval, RequiredMinRx: p.ReceiveInterval,
		DetectMult: p.DetectMultiplier, Passive: p.PassiveMode,
	}
}

// Config describes a session.
type Config struct {
	// Peer is the neighbour's address. A link-local one needs an Interface, or a zone.
	Peer netip.Addr
	// Local is the address to send from; none: the kernel chooses it by its routes.
	Local netip.Addr
	// Interface is the only one to send and receive by; "": any.
	Interface string
	// VRF is the VRF device in which the session lives; "": the default one.
	VRF string
	// Multihop says that routers are between the two ends.
	Multihop bool
	Profile  Profile
	// Changed is called after each change of state, one call at a time; it must
	// not block and not call the session. It may be nil.
	Changed func(Change)
}

// normal returns c with the zone of the peer's address moved to Interface.
func (c Config) normal() (Config, error) {
	if !c.Peer.IsValid() || c.Peer.IsUnspecified() || c.Peer.IsMulticast() {
		return c, fmt.Errorf("BFD peer address %q is not that of a host", c.Peer)
	}
	if zone := c.Peer.Zone(); zone != "" && c.Interface == "" {
		c.Interface = zone
	}
	c.Peer, c.Local = c.Peer.Unmap().WithZone(""), c.Local.Unmap().WithZone("")
	switch {
	case c.Peer.IsLinkLocalUnicast() && c.Interface == "" && c.Peer.Is6():
		return c, fmt.Errorf("BFD peer address %s is link-local and needs an interface", c.Peer)
	case c.Local.IsValid() && c.Local.Is4() != c.Peer.Is4():
		return c, fmt.Errorf("BFD addresses %s and %s are of different families", c.Local, c.Peer)
	}
	return c, c.Profile.validate()
}

// State is a session's state.
type State = protocol.State

// States of a session.
const (
	AdminDown = protocol.AdminDown
	Down      = protocol.Down
	Init      = protocol.Init
	Up        = protocol.Up
)

// Change says that a session is in another state than before.
type Change struct {
	From, To State
	// Diag says why the session went down.
	Diag protocol.Diag
	// PeerAdminDown says that the peer's administrator ended the session there.
	PeerAdminDown bool
}

// Failed says that the peer was reachable and no longer is. It is false if
// the peer ended the session on purpose, which says nothing about the path
// (RFC 5882 section 3.2).
func (c Change) Failed() bool {
	return c.From == Up && c.To == Down && !c.PeerAdminDown
}

// Status is a session as it is now.
type Status struct {
	Peer      netip.Addr
	Local     netip.Addr
	Interface string
	VRF       string
	Multihop  bool
	State     State
	// Since is when the session entered State.
	Since time.Time
	// Diag is why the session went down for the last time, here and, as far as
	// was received, at the peer.
	Diag, PeerDiag protocol.Diag
	PeerState      State
	// TxInterval is the interval at which packets go out, DetectionTime after how
	// long the peer is taken for dead; both as negotiated.
	TxInterval, DetectionTime time.Duration
	// Problem says why nothing can be sent or received; "" if nothing hinders it.
	Problem string
}
