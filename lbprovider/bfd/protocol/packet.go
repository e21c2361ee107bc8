// Package protocol is BFD (RFC 5880) without sockets and clock: the control
// packet and the state machine of one session. Package bfd brings both to the
// network.
//
//	packet received ─→ Machine.Receive ─┐
//	profile changed ─→ Machine.Set…    ─┼─→ Output: packet to send, state changed
//	Machine.Due passed ─→ Machine.Tick ─┘
package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// State is the state of a session's end (RFC 5880 section 4.1).
type State uint8

// States.
const (
	AdminDown State = iota
	Down
	Init
	Up
)

func (s State) String() string {
	switch s {
	case AdminDown:
		return "AdminDown"
	case Down:
		return "Down"
	case Init:
		return "Init"
	case Up:
		return "Up"
	default:
		return fmt.Sprintf("State(%d)", uint8(s))
	}
}

// Diag says why an end left the state Up for the last time.
type Diag uint8

// Diagnostic codes that this package sets; others may come from the peer.
const (
	NoDiag           Diag = 0
	DetectionExpired Diag = 1
	EchoFailed       Diag = 2
	NeighborDown     Diag = 3
	ForwardingReset  Diag = 4
	PathDown         Diag = 5
	ConcatenatedDown Diag = 6
	AdminDownDiag    Diag = 7
	ReverseDown      Diag = 8
)

func (d Diag) String() string {
	names := [...]string{
		"none", "control detection time expired", "echo function failed", "neighbor signaled session down",
		"forwarding plane reset", "path down", "concatenated path down", "administratively down",
		"reverse concatenated path down",
	}
	if int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("code %d", uint8(d))
}

// PacketLen is the length of a control packet without authentication, in bytes.
const PacketLen = 24

// Packet is a control packet (RFC 5880 section 4.1) without authentication.
type Packet struct {
	State      State
	Diag       Diag
	Poll       bool
	Final      bool
	Demand     bool
	DetectMult uint8
	// My and Your are the discriminators of the sender and of the receiver.
	My, Your uint32
	// Intervals, of which microseconds travel.
	DesiredMinTx, RequiredMinRx, RequiredMinEchoRx time.Duration
}

// Flags of the second byte.
const (
	flagPoll       = 1 << 5
	flagFinal      = 1 << 4
	flagAuth       = 1 << 2
	flagDemand     = 1 << 1
	flagMultipoint = 1 << 0
)

// Why a packet is discarded. Parse returns one of these.
var (
	ErrShort      = errors.New("BFD packet is shorter than it says or may be")
	ErrVersion    = errors.New("BFD version is not 1")
	ErrAuth       = errors.New("BFD packet is authenticated, which the session is not")
	ErrMultipoint = errors.New("BFD packet has the multipoint bit set")
	ErrMult       = errors.New("BFD detect multiplier is 0")
	ErrMy         = errors.New("BFD sender's discriminator is 0")
	ErrYour       = errors.New("BFD packet names no session although its sender knows one")
)

// Parse reads a control packet, with the checks of RFC 5880 section 6.8.6 that
// need no session. What follows the packet's own length is ignored.
func Parse(b []byte) (Packet, error) {
	if len(b) < PacketLen {
		return Packet{}, ErrShort
	}
	if b[0]>>5 != 1 {
		return Packet{}, ErrVersion
	}
	if n := int(b[3]); n < PacketLen || n > len(b) {
		return Packet{}, ErrShort
	}
	flags := b[1]
	p := Packet{
		State: State(flags >> 6), Diag: Diag(b[0] & 0x1f),
		Poll: flags&flagPoll != 0, Final: flags&flagFinal != 0, Demand: flags&flagDemand != 0,
		DetectMult: b[2], My: binary.BigEndian.Uint32(b[4:]), Your: binary.BigEndian.Uint32(b[8:]),
		DesiredMinTx:      micros(b[12:]),
		RequiredMinRx:     micros(b[16:]),
		RequiredMinEchoRx: micros(b[20:]),
	}
	switch {
	case p.DetectMult == 0:
		return Packet{}, ErrMult
	case flags&flagMultipoint != 0:
		return Packet{}, ErrMultipoint
	case p.My == 0:
		return Packet{}, ErrMy
	case p.Your == 0 && p.State != Down && p.State != AdminDown:
		return Packet{}, ErrYour
	case flags&flagAuth != 0:
		return Packet{}, ErrAuth
	}
	return p, nil
}

func micros(b []byte) time.Duration {
	return time.Duration(binary.BigEndian.Uint32(b)) * time.Microsecond
}

// Append appends the packet's 24 bytes to b.
func (p Packet) Append(b []byte) []byte {
	flags := uint8(p.State) << 6
	for _, f := range []struct {
		set bool
		bit uint8
	}{{p.Poll, flagPoll}, {p.Final, flagFinal}, {p.Demand, flagDemand}} {
		if f.set {
			flags |= f.bit
		}
	}
	b = append(b, 1<<5|uint8(p.Diag)&0x1f, flags, p.DetectMult, PacketLen)
	b = binary.BigEndian.AppendUint32(b, p.My)
	b = binary.BigEndian.AppendUint32(b, p.Your)
	b = binary.BigEndian.AppendUint32(b, uint32(p.DesiredMinTx/time.Microsecond))
	b = binary.BigEndian.AppendUint32(b, uint32(p.RequiredMinRx/time.Microsecond))
	return binary.BigEndian.AppendUint32(b, uint32(p.RequiredMinEchoRx/time.Microsecond))
}
