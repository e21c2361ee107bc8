package spop

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Bounds of what a peer may send.
const (
	// MaxName is the longest name of a message, an argument or a variable.
	MaxName = 64
	// MaxArgs is the largest number of arguments of a message.
	MaxArgs = 24
	// MaxItems is the largest number of items in HAPROXY-HELLO.
	MaxItems = 16
	// MinFrame is the smallest limit of frames that the protocol allows.
	MinFrame = 256
	// maxVarint is the longest encoding of a 64-bit number.
	maxVarint = 10
)

// errShort is a frame that ends within a value. All errors of decoding are fixed
// values, so that a hostile peer costs no memory.
var (
	errShort   = errors.New("the frame ends within a value")
	errVarint  = errors.New("a number has more than 64 bits")
	errName    = errors.New("a name is empty or too long")
	errKind    = errors.New("a value has an unknown type")
	errArgs    = errors.New("a message has too many arguments")
	errMessage = errors.New("a NOTIFY frame must have exactly one message")
)

// Kind is the type of a value.
type Kind byte

// The types of values.
const (
	KindNull Kind = iota
	KindBool
	KindInt32
	KindUint32
	KindInt64
	KindUint64
	KindIPv4
	KindIPv6
	KindString
	KindBinary
)

const (
	kindMask = 0x0f
	trueFlag = 0x10
)

// Value is a typed value. Data points into the frame from which it was read.
type Value struct {
	Kind Kind
	// Number is the value of a bool or an integer.
	Number uint64
	// Data is the value of a string, a binary or an address.
	Data []byte
}

// Text returns the bytes of a string or binary value, and nil for others.
func (v Value) Text() []byte {
	if v.Kind == KindString || v.Kind == KindBinary {
		return v.Data
	}
	return nil
}

// True reports whether v is the boolean "true".
func (v Value) True() bool { return v.Kind == KindBool && v.Number == 1 }

// Addr returns an address, or the zero Addr if v is none.
func (v Value) Addr() netip.Addr {
	if v.Kind != KindIPv4 && v.Kind != KindIPv6 {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(v.Data)
	return a.Unmap()
}

// cursor reads from a frame. After an error all reads return zero values.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

func (c *cursor) byte() byte {
	if len(c.rest) == 0 {
		c.fail(errShort)
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.fail(errShort)
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// varint reads a number: one byte below 240, otherwise four bits in the first byte
// and seven in each further one.
func (c *cursor) varint() uint64 {
	first := uint64(c.byte())
	if first < 240 {
		return first
	}
	v := first
	for shift := 4; ; shift += 7 {
		b := uint64(c.byte())
		if c.err != nil {
			return 0
		}
		add := b << shift
		if shift > 63 || add>>shift != b || v+add < v {
			c.fail(errVarint)
			return 0
		}
		v += add
		if b < 128 {
			return v
		}
	}
}

// AppendVarint appends a number in the protocol's encoding, which HAProxy also
// uses for lists of headers.
func AppendVarint(b []byte, v uint64) []byte {
	if v < 240 {
		return append(b, byte(v))
	}
	b = append(b, byte(v|240))
	for v = (v - 240) >> 4; v >= 128; v = (v - 128) >> 7 {
		b = append(b, byte(v|128))
	}
	return append(b, byte(v))
}

func (c *cursor) text() []byte { return c.take(c.varint()) }

func (c *cursor) name() []byte {
	n := c.text()
	if c.err == nil && (len(n) == 0 || len(n) > MaxName) {
		c.fail(errName)
	}
	return n
}

func (c *cursor) value() Value {
	tag := c.byte()
	v := Value{Kind: Kind(tag & kindMask)}
	switch v.Kind {
	case KindNull:
	case KindBool:
		v.Number = uint64(tag&trueFlag) / trueFlag
	case KindInt32, KindUint32, KindInt64, KindUint64:
		v.Number = c.varint()
	case KindIPv4:
		v.Data = c.take(4)
	case KindIPv6:
		v.Data = c.take(16)
	case KindString, KindBinary:
		v.Data = c.text()
	default:
		c.fail(errKind)
	}
	return v
}

func appendText(b []byte, s string) []byte { return append(AppendVarint(b, uint64(len(s))), s...) }

func appendString(b []byte, s string) []byte {
	return appendText(append(b, byte(KindString)), s)
}

func appendUint32(b []byte, v uint32) []byte {
	return AppendVarint(append(b, byte(KindUint32)), uint64(v))
}

// putLength writes the length of a frame into its first four bytes.
func putLength(frame []byte) { binary.BigEndian.PutUint32(frame, uint32(len(frame)-lengthSize)) }
