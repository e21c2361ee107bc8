package cluster

import (
	"fmt"
	"net/netip"
)

// The ranges of the second family, unique local addresses (RFC 4193) that tell
// those of the first: fd00:c612:SLOT::/64 is the LAN 198.18.SLOT.0/24, and so on.
const (
	serviceRange6 = "fd00:10:96::/112"
	podRange6     = "fd00:10:244::/48"
)

// lan6 returns the LAN address that stands beside lan(last).
func (l layout) lan6(last byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfd, 2: 0xc6, 3: 0x12, 4: byte(l.Slot / 256), 5: byte(l.Slot % 256), 15: last})
}

// address6 returns the LAN address of a host in the second family.
func (l layout) address6(host string) netip.Addr {
	v4 := l.address(host).As4()
	return l.lan6(v4[3])
}

func (l layout) podRange6(node string) string {
	return fmt.Sprintf("fd00:10:244:%x::/64", l.number(node))
}

// serviceRanges, podRanges and nodeAddresses are lists as Kubernetes' programs take them.
func (l layout) serviceRanges() string { return l.both(serviceRange, serviceRange6) }
func (l layout) podRanges() string     { return l.both(podRange, podRange6) }
func (l layout) nodeAddresses(node string) string {
	return l.both(l.address(node).String(), l.address6(node).String())
}

func (l layout) both(first, second string) string {
	if !l.DualStack {
		return first
	}
	return first + "," + second
}

// podNetworks are the ranges of a node's pods as the CNI plugin takes them.
func (l layout) podNetworks(node string) (ranges, routes string) {
	ranges, routes = fmt.Sprintf("[{%q: %q}]", "subnet", l.podRange(node)), `{"dst": "0.0.0.0/0"}`
	if l.DualStack {
		ranges += fmt.Sprintf(", [{%q: %q}]", "subnet", l.podRange6(node))
		routes += `, {"dst": "::/0"}`
	}
	return "[" + ranges + "]", "[" + routes + "]"
}

// network6 is what a host's network has of the second family, as arguments of ip.
func (l layout) network6(host string) []string {
	if !l.DualStack {
		return nil
	}
	card := "eth0"
	if host == controlPlane {
		card = "lan"
	}
	// No other host has these addresses: there is nothing to detect.
	lines := []string{"addr add " + l.address6(host).String() + "/64 dev " + card + " nodad"}
	if host != controlPlane {
		lines = append(lines, "route add default via "+l.address6(controlPlane).String())
	}
	for _, node := range l.nodes() {
		if node != host && (host == controlPlane || l.number(host) > 0) {
			lines = append(lines, "route replace "+l.podRange6(node)+" via "+l.address6(node).String())
		}
	}
	return lines
}

// forward6 turns on forwarding of the second family, as a line of the shell.
func (l layout) forward6() string {
	if !l.DualStack {
		return ""
	}
	return "; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding"
}

// Address6 returns the LAN address of a host in the second family. Only a cluster with Options.DualStack has them.
func (c *Cluster) Address6(host string) string { return c.layout.address6(host).String() }

// AddressRange6 returns the addresses that stand beside those of AddressRange.
func (c *Cluster) AddressRange6() string {
	return fmt.Sprintf("%s-%s", c.layout.lan6(firstFree), c.layout.lan6(lastFree))
}
