package l2

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
)

// Offsets in an ARP frame for IPv4 over Ethernet (RFC 826), and its length.
const (
	arpOp       = etherLen + 6
	arpSender   = etherLen + 8
	arpSenderIP = etherLen + 14
	arpTarget   = etherLen + 18
	arpTargetIP = etherLen + 24
	arpLen      = etherLen + 28
)

// ARP operations.
const (
	arpRequest = 1
	arpReply   = 2
)

// parseARP reads an ARP frame that came to the interface with the address own.
func parseARP(frame []byte, own mac) (claim, error) {
	if len(frame) < arpLen || etherType(frame) != etherTypeARP {
		return claim{}, errIgnored
	}
	body := frame[etherLen:]
	if binary.BigEndian.Uint16(body) != 1 || binary.BigEndian.Uint16(body[2:]) != 0x0800 || body[4] != hwLen || body[5] != 4 {
		return claim{}, errIgnored
	}
	to, sender := mac(frame[:hwLen]), mac(frame[arpSender:])
	op := binary.BigEndian.Uint16(frame[arpOp:])
	if !sender.host() || to != own && to != broadcast() || op != arpRequest && op != arpReply {
		return claim{}, errIgnored
	}
	senderIP, targetIP := netip.AddrFrom4([4]byte(frame[arpSenderIP:])), netip.AddrFrom4([4]byte(frame[arpTargetIP:]))
	c := claim{target: targetIP, asker: senderIP, askerMAC: sender}
	// A probe (RFC 5227) has no sender address: it claims nothing, and asks. An
	// announcement has the same address twice: it does not ask.
	if !senderIP.IsUnspecified() {
		c.claimed, c.claimedMAC = senderIP, sender
	}
	c.asks = op == arpRequest && senderIP != targetIP
	return c, nil
}

// appendARP appends an ARP frame that says that addr is at own.
func appendARP(b []byte, op uint16, own mac, addr netip.Addr, to mac, toIP netip.Addr) []byte {
	b = ether(b, to, own, etherTypeARP)
	b = append(b, 0, 1, 0x08, 0x00, hwLen, 4)
	b = binary.BigEndian.AppendUint16(b, op)
	from4, to4 := addr.As4(), toIP.As4()
	b = append(append(b, own[:]...), from4[:]...)
	return append(append(b, to[:]...), to4[:]...)
}

// answerARP appends the answer to c.
func answerARP(b []byte, own mac, c claim) []byte {
	return appendARP(b, arpReply, own, c.target, c.askerMAC, c.asker)
}

// filterARP keeps everything but ARP requests and replies in the kernel, so that
// a noisy segment costs little.
func filterARP() ([]bpf.RawInstruction, error) {
	return foreign(append([]bpf.Instruction{bpf.LoadAbsolute{Off: arpOp, Size: 2}}, either(arpRequest, arpReply)...)...)
}
