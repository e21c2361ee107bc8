package config

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
)

// peerReader reads the fields of a BGPPeer.
type peerReader struct {
	spec     *v1beta2.BGPPeerSpec
	badNodes bool
	// problems keep the peer from being used; odd and lacks do not, and lacks is
	// an error all the same. without is the effect of what it lacks.
	problems, odd, lacks []problem
	without              string
}

func (r *peerReader) problem(field string, reason api.Reason, format string, args ...any) {
	r.problems = append(r.problems, problem{field: "spec." + field, reason: reason, message: fmt.Sprintf(format, args...)})
}

func (r *peerReader) wrong(field, format string, args ...any) {
	r.problem(field, api.ReasonInvalidField, format, args...)
}

func (r *peerReader) warn(field, format string, args ...any) {
	r.odd = append(r.odd, problem{field: "spec." + field, reason: api.ReasonIgnoredField, message: fmt.Sprintf(format, args...)})
}

func (r *peerReader) read(name string) *Peer {
	s := r.spec
	nodes, bad := readSelectors("spec.nodeSelectors", s.NodeSelectors)
	r.problems, r.badNodes = append(r.problems, bad...), len(bad) > 0
	peer := &Peer{
		Name: name, MyASN: s.MyASN, LocalASN: s.LocalASN, PeerASN: s.ASN, DynamicASN: s.DynamicASN,
		Address: r.address("peerAddress", s.Address), Interface: s.Interface,
		Source: r.address("sourceAddress", s.SrcAddress), RouterID: r.address("routerID", s.RouterID),
		Port: s.Port, Nodes: nodes, Password: Password(s.Password), GracefulRestart: s.EnableGracefulRestart,
		EBGPMultiHop: s.EBGPMultiHop, VRF: s.VRFName, DualStack: s.DualStackAddressFamily,
	}
	if peer.Port == 0 {
		peer.Port = 179
	}
	r.identity(peer)
	r.reachable(peer.Address)
	r.unnumbered(peer)
	r.timers(peer)
	if s.DisableMP {
		r.warn("disableMP", "it has no effect: a session carries the family of its address, or both with dualStackAddressFamily")
	}
	return peer
}

// identity checks what the API server normally has checked already. Objects
// that were written under another provider's CRD may have passed by.
func (r *peerReader) identity(peer *Peer) {
	s := r.spec
	if s.MyASN == 0 {
		r.wrong("myASN", "missing local ASN")
	}
	if (s.ASN != 0) == (s.DynamicASN != "") {
		r.wrong("peerASN", "exactly one of peerASN and dynamicASN must be set")
	}
	if d := s.DynamicASN; d != "" && d != v1beta2.DynamicASNInternal && d != v1beta2.DynamicASNExternal {
		r.wrong("dynamicASN", "%q is neither internal nor external", d)
	}
	if (s.Address != "") == (s.Interface != "") {
		r.wrong("peerAddress", "exactly one of peerAddress and interface must be set")
	}
	if peer.RouterID.IsValid() && (!peer.RouterID.Is4() || peer.RouterID.IsUnspecified()) {
		r.wrong("routerID", "%q does not have the form of an IPv4 address, or is 0.0.0.0", s.RouterID)
	}
	if peer.Source.IsValid() && peer.Address.IsValid() && peer.Source.Is4() != peer.Address.Is4() {
		r.wrong("sourceAddress", "%s and peerAddress %s are of different families", peer.Source, peer.Address)
	}
	if s.Password != "" && s.PasswordSecret.Name != "" {
		r.wrong("password", "password and passwordSecret cannot both be set")
	}
	if s.Interface != "" && (s.Password != "" || s.PasswordSecret.Name != "") {
		r.wrong("password", "a session by interface cannot have one: signatures are for addresses that are known before")
	}
	r.secret("password", s.Password)
	if s.EBGPMultiHop && len(r.problems) == 0 && peer.IBGP() {
		r.wrong("ebgpMultiHop", "invalid ebgp-multihop parameter set for an ibgp peer")
	}
}

// reachable checks that there can be a host at the peer's address.
func (r *peerReader) reachable(addr netip.Addr) {
	switch {
	case !addr.IsValid():
	case addr.IsUnspecified(), addr.IsMulticast():
		r.wrong("peerAddress", "%s is not the address of one host", addr)
	case addr.IsLinkLocalUnicast() && addr.Is6():
		r.wrong("peerAddress", "the link-local address %s is a host's on one network only; name the network by interface, without an address", addr)
	}
}

// longestPassword is what a TCP MD5 key can hold (TCP_MD5SIG_MAXKEYLEN), in bytes.
const longestPassword = 80

// secret checks a password that the field holds, or leads to.
func (r *peerReader) secret(field, password string) {
	if len(password) > longestPassword {
		r.wrong(field, "the password has %d bytes; TCP MD5 takes %d at most", len(password), longestPassword)
	}
}

// unnumbered takes away what a session by interface cannot have, and says so.
func (r *peerReader) unnumbered(peer *Peer) {
	if peer.Interface == "" {
		return
	}
	if peer.Source.IsValid() {
		peer.Source = netip.Addr{}
		r.warn("sourceAddress", "it has no effect: a session by interface comes from the interface's link-local address")
	}
	if peer.EBGPMultiHop {
		peer.EBGPMultiHop = false
		r.warn("ebgpMultiHop", "it has no effect: a session by interface is with a neighbour")
	}
}

func (r *peerReader) address(field, text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		r.wrong(field, "invalid BGPPeer address %q", text)
		return netip.Addr{}
	}
	return addr.Unmap()
}

// longestHold stands for a hold time of 0, "forever", which the BGP library
// cannot express. RFC 4271 has two bytes for it.
const longestHold = 65535 * time.Second

func (r *peerReader) timers(peer *Peer) {
	s := r.spec
	if c := s.ConnectTime; c != nil {
		peer.Connect = c.Duration
		if c.Duration < time.Second || c.Duration > longestHold || c.Duration%time.Second != 0 {
			r.wrong("connectTime", "%v is not a whole number of seconds from 1 to 65535", c.Duration)
		}
	}
	switch {
	case s.HoldTime == nil && s.KeepaliveTime == nil:
		return
	case s.HoldTime == nil:
		peer.Keepalive = s.KeepaliveTime.Duration
		peer.Hold = 3 * peer.Keepalive
	case s.KeepaliveTime == nil:
		peer.Hold = s.HoldTime.Duration
		peer.Keepalive = peer.Hold / 3
	default:
		peer.Hold, peer.Keepalive = s.HoldTime.Duration, s.KeepaliveTime.Duration
	}
	switch {
	case peer.Hold == 0 && peer.Keepalive == 0 && s.HoldTime == nil:
		return // keepaliveTime 0s by itself says nothing
	case peer.Hold == 0 && peer.Keepalive == 0:
		peer.Hold, peer.Keepalive = longestHold, longestHold/3
		r.warn("holdTime", "a session without end cannot be offered; it is %v, unless the router wants less", longestHold)
	case peer.Hold < 3*time.Second || peer.Hold > longestHold:
		r.wrong("holdTime", "invalid hold time %v: must be 0 or >=3s, and at most %v", peer.Hold, longestHold)
	case peer.Keepalive < 0 || peer.Keepalive > peer.Hold:
		r.wrong("keepaliveTime", "%v is negative or longer than the hold time %v", peer.Keepalive, peer.Hold)
	case peer.Keepalive == 0:
		peer.Keepalive = peer.Hold / 3
	}
	peer.Hold, peer.Keepalive = peer.Hold.Truncate(time.Second), max(peer.Keepalive.Truncate(time.Second), time.Second)
}
