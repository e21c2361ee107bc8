package backend

import (
	"bytes"
	"net/netip"
	"slices"
)

// metadata are the addresses of cloud metadata services beyond the link-local
// range: Azure, AWS over IPv6, Alibaba, Oracle, Google over IPv6.
var metadata = []netip.Addr{
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("fd20:ce::254"),
}

// embedding are the prefixes of IPv6 addresses that a translator turns into
// the IPv4 address at that byte: NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056),
// and the deprecated form ::a.b.c.d.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

// Metadata reports whether an address, or the IPv4 address within it, is
// link-local or a cloud's metadata service. The router calls neither, whichever object
// names them.
func Metadata(a netip.Addr) bool {
	v4, embedded := unwrap(a)
	return embedded && Metadata(v4) || a.Unmap().IsLinkLocalUnicast() || slices.Contains(metadata, a.Unmap())
}

// usable reports whether an endpoint address may be a server. An IPv4 address
// within an IPv6 address is judged as IPv4.
func usable(a netip.Addr) bool {
	a = a.Unmap()
	if a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.Zone() != "" || Metadata(a) {
		return false
	}
	v4, embedded := unwrap(a)
	return !embedded || usable(v4)
}

// unwrap returns the IPv4 address within an IPv6 address.
func unwrap(a netip.Addr) (netip.Addr, bool) {
	a = a.Unmap()
	if !a.Is6() {
		return a, false
	}
	b := a.WithZone("").As16()
	for _, e := range embedding {
		if e.prefix.Contains(a.WithZone("")) && !bytes.Equal(b[:15], make([]byte, 15)) {
			return netip.AddrFrom4([4]byte(b[e.at : e.at+4])), true
		}
	}
	return a, false
}
