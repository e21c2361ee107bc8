package l2

import (
	"fmt"
	"net/netip"

	"github.com/mdlayher/arp"
	"golang.org/x/net/bpf"
)

// Hardware and protocol type of ARP for IPv4 over Ethernet (RFC 826).
const (
	arpEthernet = 1
	arpIPv4     = 0x0800
	ip4Len      = 4
	// arpOp is the offset of the operation in a frame.
	arpOp = etherLen + 6
)

// parseARP reads an ARP frame that came to the interface with the address own.
func parseARP(frame []byte, own mac) (claim, error) {
	if len(frame) < etherLen || etherType(frame) != etherTypeARP {
		return claim{}, errIgnored
	}
	var p arp.Packet
	if err := p.UnmarshalBinary(frame[etherLen:]); err != nil {
		return claim{}, errIgnored
	}
	if p.HardwareType != arpEthernet || p.ProtocolType != arpIPv4 || p.HardwareAddrLength != hwLen || p.IPLength != ip4Len {
		return claim{}, errIgnored
	}
	to, sender := mac(frame[:hwLen]), mac(p.SenderHardwareAddr)
	if !sender.host() || to != own && to != broadcast() || p.Operation != arp.OperationRequest && p.Operation != arp.OperationReply {
		return claim{}, errIgnored
	}
	c := claim{target: p.TargetIP, asker: p.SenderIP, askerMAC: sender}
	// A probe (RFC 5227) has no sender address: it claims nothing, and asks. An
	// announcement has the same address twice: it does not ask.
	if !p.SenderIP.IsUnspecified() {
		c.claimed, c.claimedMAC = p.SenderIP, sender
	}
	c.asks = p.Operation == arp.OperationRequest && p.SenderIP != p.TargetIP
	return c, nil
}

// appendARP appends an ARP frame that says that addr is at own. Both addresses are
// IPv4.
func appendARP(b []byte, op arp.Operation, own mac, addr netip.Addr, to mac, toIP netip.Addr) ([]byte, error) {
	p := arp.Packet{
		HardwareType: arpEthernet, ProtocolType: arpIPv4, HardwareAddrLength: hwLen, IPLength: ip4Len, Operation: op,
		SenderHardwareAddr: own[:], SenderIP: addr, TargetHardwareAddr: to[:], TargetIP: toIP,
	}
	body, err := p.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("write ARP packet: %w", err)
	}
	return append(ether(b, to, own, etherTypeARP), body...), nil
}

// answerARP appends the answer to c, or returns nil if there can be none.
func answerARP(b []byte, own mac, c claim) []byte {
	frame, err := appendARP(b, arp.OperationReply, own, c.target, c.askerMAC, c.asker)
	if err != nil {
		return nil
	}
	return frame
}

// filterARP keeps everything but ARP requests and replies in the kernel, so that
// a noisy segment costs little.
func filterARP() ([]bpf.RawInstruction, error) {
	return foreign(append([]bpf.Instruction{bpf.LoadAbsolute{Off: arpOp, Size: 2}}, either(uint32(arp.OperationRequest), uint32(arp.OperationReply))...)...)
}
