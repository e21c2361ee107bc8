// Package l2 answers for addresses on the node's own network segments: it
// replies to ARP requests and IPv6 neighbour solicitations for them, and
// announces them unasked when it takes them over. It never adds an address to an
// interface; the kernel does not own them, kube-proxy delivers what arrives.
//
//	Announce(addresses) ─→ Announcer.Run (one goroutine, owns the state)
//	                          ├─ per interface a receiver of ARP and one of NDP,
//	                          │  which read an atomic snapshot
//	                          ├─ bursts of gratuitous ARP and unsolicited advertisements
//	                          └─ membership in the addresses' multicast groups
//
// All it needs is NET_RAW. What is not for a receiver is dropped by a filter in the
// kernel. mdlayher/packet opens the sockets, mdlayher/arp reads and writes ARP: two
// allocations for each answer, none for NDP.
package l2

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/net/bpf"
)

const (
	hwLen    = 6
	etherLen = 14
	// maxFrame is more than the filters let through of any frame, in bytes.
	maxFrame = 1600

	etherTypeARP  = 0x0806
	etherTypeIPv6 = 0x86dd
)

// errIgnored is what a parser returns for every frame that is none of its business.
var errIgnored = errors.New("frame is not to be considered")

// mac is a hardware address that can be compared.
type mac [hwLen]byte

func (m mac) addr() net.HardwareAddr { return slices.Clone(m[:]) }

// host says whether m can be the address of a host: neither a group nor nobody.
func (m mac) host() bool { return m[0]&1 == 0 && m != mac{} }

func broadcast() mac { return mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff} }

func etherType(frame []byte) uint16 { return binary.BigEndian.Uint16(frame[12:]) }

// ether appends the header of an Ethernet frame.
func ether(b []byte, to, from mac, kind uint16) []byte {
	b = append(append(b, to[:]...), from[:]...)
	return binary.BigEndian.AppendUint16(b, kind)
}

// claim is what a frame says about where an address is, or asks.
type claim struct {
	// asks says that the frame wants to know where target is.
	asks   bool
	target netip.Addr
	// asker and askerMAC are who wants to know.
	asker    netip.Addr
	askerMAC mac
	// claimed is the address that the sender says it has, at claimedMAC; invalid: none.
	claimed    netip.Addr
	claimedMAC mac
}

// Types of packets, from linux/if_packet.h.
const (
	packetOtherHost = 3 // for another host, seen by a promiscuous interface
	packetOutgoing  = 4 // our own, looped back
)

// foreign is the start of every filter: it goes on with what others sent to us or
// to a group, outside of a VLAN. Frames of a VLAN belong to the VLAN's interface,
// but are also seen here if there is none. The program must end with two returns,
// of which the last one drops.
func foreign(rest ...bpf.Instruction) ([]bpf.RawInstruction, error) {
	drop := func(next int) uint8 { return uint8(len(rest) + next - 1) }
	return bpf.Assemble(append([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: packetOutgoing, SkipTrue: drop(3)},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: packetOtherHost, SkipTrue: drop(2)},
		bpf.LoadExtension{Num: bpf.ExtVLANTag},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: 0xfff, SkipTrue: drop(0)},
	}, rest...))
}

// either lets frames through whose loaded value is a or b.
func either(a, b uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: b, SkipTrue: 1},
		bpf.RetConstant{Val: maxFrame},
		bpf.RetConstant{Val: 0},
	}
}
