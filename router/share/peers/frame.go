package peers

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/fairlead/fairlead/router/share"
)

// A frame is its length in two bytes, and a message: kind, flags, six numbers of eight
// bytes, four of four, and two texts, each with its length in a byte.
const (
	fixedSize = 2 + 6*8 + 4*4
	// maxFrame is the longest message.
	maxFrame = fixedSize + 2 + 63 + 160
)

// Flags.
const (
	flagActing = 1 << iota
	flagComplete
	flagConsent
	flagLeaving
	knownFlags = flagActing | flagComplete | flagConsent | flagLeaving
)

// errFrame is an invalid frame.
var errFrame = errors.New("invalid frame")

// appendFrame adds the frame of a message.
func appendFrame(b []byte, m *share.Message) []byte {
	start := len(b)
	b = append(b, 0, 0, byte(m.Kind), flags(m))
	for _, n := range []uint64{m.Process, m.Number, m.View, m.Line, uint64(m.Ends), uint64(m.Wait)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	for _, n := range []int64{m.Count, m.Limit.Requests, m.Limit.Per.Milliseconds(), m.Limit.Burst} {
		b = binary.BigEndian.AppendUint32(b, uint32(n)) // limits are checked, and parts of 24 h in ms fit
	}
	b = append(append(b, byte(len(m.Key.Namespace))), m.Key.Namespace...)
	b = append(append(b, byte(len(m.Key.Name))), m.Key.Name...)
	binary.BigEndian.PutUint16(b[start:], uint16(len(b)-start-2)) // at most maxFrame
	return b
}

func flags(m *share.Message) (f byte) {
	for _, flag := range []struct {
		set bool
		bit byte
	}{{m.Acting, flagActing}, {m.Complete, flagComplete}, {m.Consent, flagConsent}, {m.Leaving, flagLeaving}} {
		if flag.set {
			f |= flag.bit
		}
	}
	return f
}

// readFrame reads the frame of a message.
func readFrame(r io.Reader) (*share.Message, error) {
	var buf [maxFrame]byte
	if _, err := io.ReadFull(r, buf[:2]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(buf[:]))
	if n < fixedSize+2 || n > maxFrame {
		return nil, errFrame
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		return nil, err
	}
	return parse(buf[:n])
}

// parse reads a message.
func parse(b []byte) (*share.Message, error) {
	if len(b) < fixedSize+2 || b[1]&^knownFlags != 0 {
		return nil, errFrame
	}
	m := &share.Message{Kind: share.Kind(b[0]), Acting: b[1]&flagActing != 0, Complete: b[1]&flagComplete != 0, Consent: b[1]&flagConsent != 0, Leaving: b[1]&flagLeaving != 0}
	if m.Kind < share.Ask || m.Kind > share.End {
		return nil, errFrame
	}
	b = b[2:]
	next := func() (n uint64) {
		n, b = binary.BigEndian.Uint64(b), b[8:]
		return n
	}
	m.Process, m.Number, m.View, m.Line = next(), next(), next(), next()
	m.Ends, m.Wait = time.Duration(next()), time.Duration(next()) // negative ones are refused below
	small := func() (n int64) {
		n, b = int64(binary.BigEndian.Uint32(b)), b[4:]
		return n
	}
	m.Count, m.Limit.Requests = small(), small()
	m.Limit.Per = time.Duration(small()) * time.Millisecond
	m.Limit.Burst = small()
	var ok bool
	if m.Key.Namespace, b, ok = text(b, 63); !ok {
		return nil, errFrame
	}
	if m.Key.Name, b, ok = text(b, 160); !ok || len(b) > 0 || m.Ends < 0 || m.Wait < 0 {
		return nil, errFrame
	}
	return m, nil
}

func text(b []byte, most int) (string, []byte, bool) {
	if len(b) == 0 || int(b[0]) > most || len(b) <= int(b[0]) {
		return "", nil, false
	}
	n := int(b[0]) + 1
	return string(b[1:n]), b[n:], true
}

// The first bytes of a connection are these, and the text with the ID of the member that
// connects.
var preamble = []byte("fairlead-share 1\n")

const longestID = 64

func appendHello(b, kind []byte, id string) []byte {
	return append(append(append(b, kind...), byte(len(id))), id...)
}

// readHello returns which member connects, and whether that is for one call.
func readHello(r io.Reader) (id string, call bool, err error) {
	head := make([]byte, len(preamble)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", false, err
	}
	n, kind := int(head[len(preamble)]), string(head[:len(preamble)])
	if call = kind == string(callPreamble); !call && kind != string(preamble) || n == 0 || n > longestID {
		return "", false, errFrame
	}
	name := make([]byte, n)
	if _, err := io.ReadFull(r, name); err != nil {
		return "", false, err
	}
	return string(name), call, nil
}
