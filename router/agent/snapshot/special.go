package snapshot

import "net/netip"

// Special reports whether an address is never a server of a tenant's: loopback,
// link-local (where clouds have their metadata), unspecified, multicast, or an IPv4
// address in disguise.
func Special(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsValid() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() ||
		a.IsInterfaceLocalMulticast() || a.Zone() != "" || disguised(a)
}

// disguised reports whether a is an IPv6 address that a gateway translates to IPv4
// (NAT64, 6to4), is IPv4-compatible, or is the limited broadcast or "this network" of IPv4.
func disguised(a netip.Addr) bool {
	if a.Is4() {
		b := a.As4()
		return b[0] == 0 || b[0] >= 240
	}
	b := a.As16()
	return b[0] == 0x00 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b || b[0] == 0x20 && b[1] == 0x02 ||
		[12]byte(b[:12]) == [12]byte{}
}
