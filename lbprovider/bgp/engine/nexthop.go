package engine

import (
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// findNextHops returns the addresses to which routes of the session lead: of
// the family of the session, its own address, for which the unspecified
// address stands; of the other one, an address of the interface towards the
// peer, or else of the node.
func findNextHops(peer bgp.Peer, at endpoints, node []netip.Addr) nextHops {
	hops := nextHops{v4: netip.IPv4Unspecified(), v6: netip.IPv6Unspecified()}
	switch {
	case peer.Interface != "": // by RFC 8950, to the link-local address
		hops.v4, hops.v6 = at.self, at.self
	case peer.Address.Is4():
		hops.v6 = other(peer, node, unix.AF_INET6)
	default:
		hops.v4 = other(peer, node, unix.AF_INET)
		if !hops.v4.IsValid() {
			hops.v4 = netip.IPv6Unspecified() // by RFC 8950, if the peer takes it
		}
	}
	return hops
}

func other(peer bgp.Peer, node []netip.Addr, family int) netip.Addr {
	if link := linkTowards(peer.Address, peer.Source); link != nil {
		if addr := firstGlobal(link, family); addr.IsValid() {
			return addr
		}
	}
	for _, addr := range node {
		if addr.Is4() == (family == unix.AF_INET) {
			return addr
		}
	}
	return netip.Addr{}
}

// linkTowards returns the interface over which the kernel reaches the peer, or
// that of the local address, if there is one; nil if it is not known.
func linkTowards(peer, local netip.Addr) netlink.Link {
	if local.IsValid() {
		all, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
		if err != nil {
			return nil
		}
		for i := range all {
			if all[i].IP.Equal(local.AsSlice()) {
				link, err := netlink.LinkByIndex(all[i].LinkIndex)
				if err != nil {
					return nil
				}
				return link
			}
		}
	}
	routes, err := netlink.RouteGet(peer.AsSlice())
	if err != nil || len(routes) == 0 {
		return nil
	}
	link, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return nil
	}
	return link
}

func firstGlobal(link netlink.Link, family int) netip.Addr {
	addrs, err := netlink.AddrList(link, family)
	if err != nil {
		return netip.Addr{}
	}
	for i := range addrs {
		addr, ok := netip.AddrFromSlice(addrs[i].IP)
		addr = addr.Unmap()
		usable := addrs[i].Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED|unix.IFA_F_DEPRECATED|unix.IFA_F_TEMPORARY) == 0
		if ok && usable && addr.IsGlobalUnicast() {
			return addr
		}
	}
	return netip.Addr{}
}
