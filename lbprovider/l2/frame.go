// Package l2 answers for addresses on the node's own network segments: it
// replies to ARP requests for them and announces them unasked when it takes
// them over. It never adds an address to an interface; the kernel does not own
// them, kube-proxy delivers what arrives.
//
//	Announce(addresses) ─→ Announcer.Run (one goroutine, owns the state)
//	                          ├─ one receiver per interface, reads an atomic snapshot
//	                          └─ bursts of gratuitous ARP
package l2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/arp"
	"golang.org/x/net/bpf"
)

const (
	etherTypeARP = 0x0806
	// Lengths and offsets of an ARP frame for IPv4 over Ethernet.
	etherLen  = 14
	frameLen  = etherLen + 28
	opOffset  = etherLen + 6
	srcHW     = etherLen + 8
	srcIP     = etherLen + 14
	dstIP     = etherLen + 24
	hwLen     = 6
	maxFrames = 1600 // bytes that a read can return; ARP frames are far shorter
)

var errNotARP = errors.New("not an ARP frame for IPv4 over Ethernet")

// mac is a hardware address that can be compared.
type mac [hwLen]byte

func (m mac) addr() net.HardwareAddr { return m[:] }

func broadcast() mac { return mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff} }

// glance is what the receiver reads of every frame before it looks closer.
type glance struct {
	to, sender         mac
	op                 arp.Operation
	senderIP, targetIP netip.Addr
}

// look reads the fields of an ARP frame in place, without allocation.
func look(frame []byte) (glance, error) {
	if len(frame) < frameLen || binary.BigEndian.Uint16(frame[12:]) != etherTypeARP {
		return glance{}, errNotARP
	}
	body := frame[etherLen:]
	if binary.BigEndian.Uint16(body) != 1 || binary.BigEndian.Uint16(body[2:]) != 0x0800 || body[4] != hwLen || body[5] != 4 {
		return glance{}, errNotARP
	}
	return glance{
		to: mac(frame[:hwLen]), sender: mac(frame[srcHW : srcHW+hwLen]),
		op:       arp.Operation(binary.BigEndian.Uint16(frame[opOffset:])),
		senderIP: netip.AddrFrom4([4]byte(frame[srcIP : srcIP+4])),
		targetIP: netip.AddrFrom4([4]byte(frame[dstIP : dstIP+4])),
	}, nil
}

// reply builds the frame that answers request on behalf of own.
func reply(request []byte, own mac) ([]byte, error) {
	var req arp.Packet
	if err := req.UnmarshalBinary(request[etherLen:]); err != nil {
		return nil, fmt.Errorf("read ARP request: %w", err)
	}
	p, err := arp.NewPacket(arp.OperationReply, own.addr(), req.TargetIP, req.SenderHardwareAddr, req.SenderIP)
	if err != nil {
		return nil, fmt.Errorf("build ARP reply: %w", err)
	}
	return seal(p, own, mac(req.SenderHardwareAddr))
}

// gratuitous builds the frame that tells everyone that addr is at own. Some
// systems learn from requests only and some from replies only, so both are sent.
func gratuitous(op arp.Operation, addr netip.Addr, own mac) ([]byte, error) {
	p, err := arp.NewPacket(op, own.addr(), addr, broadcast().addr(), addr)
	if err != nil {
		return nil, fmt.Errorf("build gratuitous ARP: %w", err)
	}
	return seal(p, own, broadcast())
}

func seal(p *arp.Packet, from, to mac) ([]byte, error) {
	body, err := p.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode ARP packet: %w", err)
	}
	frame := make([]byte, 0, etherLen+len(body))
	frame = append(frame, to[:]...)
	frame = append(frame, from[:]...)
	frame = binary.BigEndian.AppendUint16(frame, etherTypeARP)
	return append(frame, body...), nil
}

// filter keeps everything but ARP requests and replies from others in the
// kernel, so that a noisy segment costs little.
func filter() ([]bpf.RawInstruction, error) {
	const outgoing = 4 // PACKET_OUTGOING: our own frames, looped back
	return bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: outgoing, SkipTrue: 4},
		bpf.LoadAbsolute{Off: opOffset, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(arp.OperationRequest), SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(arp.OperationReply), SkipTrue: 1},
		bpf.RetConstant{Val: maxFrames},
		bpf.RetConstant{Val: 0},
	})
}
