package l2

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
)

// Offsets in a frame with a neighbour solicitation or advertisement (RFC 4861
// sections 4.3 and 4.4).
const (
	ip6Len       = 40
	ip6Payload   = etherLen + 4
	ip6Next      = etherLen + 6
	ip6Hops      = etherLen + 7
	ip6Src       = etherLen + 8
	ip6Dst       = etherLen + 24
	icmpStart    = etherLen + ip6Len
	icmpCode     = icmpStart + 1
	icmpChecksum = icmpStart + 2
	ndTarget     = icmpStart + 8
	ndOptions    = icmpStart + 24
	ndLen        = 24 // of the message without options
	optLen       = 8  // of an option with a hardware address
)

const (
	protoICMPv6   = 58
	solicitation  = 135
	advertisement = 136
	// Every message has the highest hop limit, so that no router let it through.
	ndHops = 255
	// Options.
	optSource = 1
	optTarget = 2
	// Flags of an advertisement: it was asked for, and it replaces what is known.
	flagSolicited = 0x40
	flagOverride  = 0x20
)

// allNodes is the group of all hosts on a segment.
func allNodes() netip.Addr { return netip.IPv6LinkLocalAllNodes() }

// solicitedNode returns the group in which addr is asked for (RFC 4291 section 2.7.1).
func solicitedNode(addr netip.Addr) netip.Addr {
	a := addr.As16()
	return netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: a[13], 14: a[14], 15: a[15]})
}

// groupMAC returns the hardware address of an IPv6 multicast group (RFC 2464 section 7).
func groupMAC(group netip.Addr) mac {
	a := group.As16()
	return mac{0x33, 0x33, a[12], a[13], a[14], a[15]}
}

// parseNDP reads a frame with a neighbour solicitation or advertisement, with the
// checks of RFC 4861 section 7.1, that came to the interface with the address own.
func parseNDP(frame []byte, own mac) (claim, error) {
	if len(frame) < ndOptions || etherType(frame) != etherTypeIPv6 || frame[etherLen]>>4 != 6 ||
		frame[ip6Next] != protoICMPv6 || frame[ip6Hops] != ndHops || frame[icmpCode] != 0 {
		return claim{}, errIgnored
	}
	end := icmpStart + int(binary.BigEndian.Uint16(frame[ip6Payload:]))
	if end < ndOptions || end > len(frame) {
		return claim{}, errIgnored
	}
	frame = frame[:end] // what follows is padding
	to, from := mac(frame[:hwLen]), mac(frame[hwLen:])
	src, dst := netip.AddrFrom16([16]byte(frame[ip6Src:])), netip.AddrFrom16([16]byte(frame[ip6Dst:]))
	target := netip.AddrFrom16([16]byte(frame[ndTarget:]))
	if !from.host() || target.IsMulticast() || target.IsUnspecified() || src.IsMulticast() || checksum(frame) != 0 {
		return claim{}, errIgnored
	}
	// A group may be addressed by a unicast frame (RFC 6085), but not the reverse.
	if to != own && (!dst.IsMulticast() || to != groupMAC(dst)) {
		return claim{}, errIgnored
	}
	switch frame[icmpStart] {
	case solicitation:
		return parseSolicitation(frame[ndOptions:], from, src, dst, target)
	case advertisement:
		at, ok := option(frame[ndOptions:], optTarget, from)
		if !ok || src.IsUnspecified() {
			return claim{}, errIgnored
		}
		return claim{claimed: target, claimedMAC: at}, nil
	default:
		return claim{}, errIgnored
	}
}

func parseSolicitation(options []byte, from mac, src, dst, target netip.Addr) (claim, error) {
	if dst != target && dst != solicitedNode(target) {
		return claim{}, errIgnored
	}
	// Without the option, which unicast solicitations may lack, the asker is
	// where the frame comes from.
	asker, ok := option(options, optSource, from)
	if !ok || !asker.host() {
		return claim{}, errIgnored
	}
	c := claim{asks: true, target: target, asker: src, askerMAC: asker}
	if !src.IsUnspecified() {
		c.claimed, c.claimedMAC = src, asker
		return c, nil
	}
	// Somebody checks whether the address is free (RFC 4862). Such a solicitation
	// goes to the group and has no option.
	if dst == target || hasOption(options, optSource) {
		return claim{}, errIgnored
	}
	return c, nil
}

// option returns the hardware address in the option of this kind, or fallback. It
// is false if the options are malformed.
func option(options []byte, kind byte, fallback mac) (mac, bool) {
	found := fallback
	for len(options) > 0 {
		if len(options) < optLen {
			return mac{}, false
		}
		n := int(options[1]) * 8
		if n == 0 || n > len(options) {
			return mac{}, false
		}
		if options[0] == kind {
			if n != optLen {
				return mac{}, false // of another kind of link
			}
			found = mac(options[2:])
		}
		options = options[n:]
	}
	return found, true
}

// hasOption says whether there is an option of this kind among well-formed ones.
func hasOption(options []byte, kind byte) bool {
	for len(options) >= optLen {
		if options[0] == kind {
			return true
		}
		options = options[int(options[1])*8:]
	}
	return false
}

// checksum returns the ICMPv6 checksum of a frame; it is 0 if the frame has the
// right one (RFC 4443 section 2.3).
func checksum(frame []byte) uint16 {
	sum := uint32(len(frame)-icmpStart) + protoICMPv6
	for b := frame[ip6Src:]; len(b) > 0; {
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
			break
		}
		sum += uint32(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// appendNDP appends a frame that advertises that addr is at own.
func appendNDP(b []byte, flags byte, own mac, addr netip.Addr, to mac, toIP netip.Addr) []byte {
	start := len(b)
	b = ether(b, to, own, etherTypeIPv6)
	b = append(b, 6<<4, 0, 0, 0, 0, ndLen+optLen, protoICMPv6, ndHops)
	// The source is the address itself, as with a host that has it. So nothing
	// depends on the interface's own addresses, which come late and may fail.
	src, dst := addr.As16(), toIP.As16()
	b = append(append(b, src[:]...), dst[:]...)
	b = append(b, advertisement, 0, 0, 0, flags, 0, 0, 0)
	b = append(append(b, src[:]...), optTarget, 1)
	b = append(b, own[:]...)
	frame := b[start:]
	binary.BigEndian.PutUint16(frame[icmpChecksum:], checksum(frame))
	return b
}

// answerNDP appends the answer to c. Who checks whether the address is free has
// no address of his own and is answered by an advertisement to all.
func answerNDP(b []byte, own mac, c claim) []byte {
	if c.asker.IsUnspecified() {
		return unsolicited(b, own, c.target)
	}
	return appendNDP(b, flagSolicited|flagOverride, own, c.target, c.askerMAC, c.asker)
}

// unsolicited appends a frame that announces to all hosts that addr is at own.
func unsolicited(b []byte, own mac, addr netip.Addr) []byte {
	return appendNDP(b, flagOverride, own, addr, groupMAC(allNodes()), allNodes())
}

// filterNDP keeps everything but neighbour solicitations and advertisements in
// the kernel. It runs for every IPv6 packet that the interface receives.
func filterNDP() ([]bpf.RawInstruction, error) {
	ask := either(solicitation, advertisement)
	return foreign(append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: ip6Next, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protoICMPv6, SkipTrue: uint8(len(ask))},
		bpf.LoadAbsolute{Off: icmpStart, Size: 1},
	}, ask...)...)
}
