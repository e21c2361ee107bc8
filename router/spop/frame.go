package spop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Type is the type of a frame.
type Type byte

// The types of frames.
const (
	TypeHello           Type = 1
	TypeDisconnect      Type = 2
	TypeNotify          Type = 3
	TypeAgentHello      Type = 101
	TypeAgentDisconnect Type = 102
	TypeAck             Type = 103
)

const (
	flagFin   = 1
	flagAbort = 2

	lengthSize = 4
	// minBody is the smallest body of a frame: type, flags and two numbers.
	minBody = 1 + 4 + 1 + 1
)

// Status is why a connection ends.
type Status uint32

// The reasons that the agent gives in DISCONNECT.
const (
	StatusNormal       Status = 0
	StatusTimeout      Status = 2
	StatusTooBig       Status = 3
	StatusInvalid      Status = 4
	StatusNoVersion    Status = 5
	StatusNoFrameSize  Status = 6
	StatusVersion      Status = 8
	StatusBadFrameSize Status = 9
	StatusFragment     Status = 10
)

// ProtocolError is a frame that ends its connection.
type ProtocolError struct {
	Status Status
	Err    error
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("SPOP status %d: %v", e.Status, e.Err)
}

func (e *ProtocolError) Unwrap() error { return e.Err }

func invalid(err error) error { return &ProtocolError{StatusInvalid, err} }

// Header begins each frame.
type Header struct {
	Type   Type
	Flags  uint32
	Stream uint64
	Frame  uint64
}

// ReadFrame reads one frame, without its length, into buf, which it enlarges up to
// limit bytes.
func ReadFrame(r io.Reader, buf []byte, limit uint32) ([]byte, error) {
	buf = grow(buf, lengthSize)
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf, err
	}
	n := binary.BigEndian.Uint32(buf)
	switch {
	case n > limit:
		return buf, &ProtocolError{StatusTooBig, errors.New("a frame is longer than agreed")}
	case n < minBody:
		return buf, invalid(errShort)
	}
	buf = grow(buf, int(n))
	if _, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return buf, err
	}
	return buf, nil
}

func grow(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n, max(n, 2*cap(buf)))
	}
	return buf[:n]
}

// ParseHeader splits a frame into its header and its content.
func ParseHeader(frame []byte) (Header, []byte, error) {
	c := cursor{rest: frame}
	h := Header{Type: Type(c.byte())}
	if flags := c.take(4); flags != nil {
		h.Flags = binary.BigEndian.Uint32(flags)
	}
	h.Stream, h.Frame = c.varint(), c.varint()
	switch {
	case c.err != nil:
		return h, nil, invalid(c.err)
	case h.Flags&flagFin == 0 || h.Flags&flagAbort != 0:
		return h, nil, &ProtocolError{StatusFragment, errors.New("frames in fragments are not supported")}
	}
	return h, c.rest, nil
}

func appendHeader(b []byte, h Header) []byte {
	b = append(b, 0, 0, 0, 0, byte(h.Type))
	b = binary.BigEndian.AppendUint32(b, flagFin)
	return AppendVarint(AppendVarint(b, h.Stream), h.Frame)
}

// Hello is what HAProxy says first.
type Hello struct {
	MaxFrame uint32
	// Check is set by a health check, which ends after the agent's HELLO.
	Check bool
}

// ParseHello reads the content of HAPROXY-HELLO.
func ParseHello(content []byte) (Hello, error) {
	c := cursor{rest: content}
	var h Hello
	var versions []byte
	for n := 0; len(c.rest) > 0; n++ {
		if n == MaxItems {
			return h, invalid(errArgs)
		}
		name, v := c.name(), c.value()
		switch string(name) {
		case "supported-versions":
			versions = v.Text()
		case "max-frame-size":
			if v.Kind == KindUint32 && v.Number < 1<<32 {
				h.MaxFrame = uint32(v.Number)
			}
		case "healthcheck":
			h.Check = v.True()
		}
	}
	switch {
	case c.err != nil:
		return h, invalid(c.err)
	case versions == nil:
		return h, &ProtocolError{StatusNoVersion, errors.New("HAPROXY-HELLO names no version")}
	case !speaksTwo(versions):
		return h, &ProtocolError{StatusVersion, errors.New("HAPROXY-HELLO does not name version 2.0")}
	case h.MaxFrame == 0:
		return h, &ProtocolError{StatusNoFrameSize, errors.New("HAPROXY-HELLO names no largest frame")}
	case h.MaxFrame < MinFrame:
		return h, &ProtocolError{StatusBadFrameSize, errors.New("HAPROXY-HELLO names a largest frame below 256 bytes")}
	}
	return h, nil
}

func speaksTwo(versions []byte) bool {
	for v := range bytes.SplitSeq(versions, []byte(",")) {
		if string(bytes.TrimSpace(v)) == "2.0" {
			return true
		}
	}
	return false
}

// AppendAgentHello appends the agent's answer to HAPROXY-HELLO.
func AppendAgentHello(b []byte, maxFrame uint32) []byte {
	start := len(b)
	b = appendHeader(b, Header{Type: TypeAgentHello})
	b = appendString(appendText(b, "version"), "2.0")
	b = appendUint32(appendText(b, "max-frame-size"), maxFrame)
	b = appendString(appendText(b, "capabilities"), "pipelining")
	putLength(b[start:])
	return b
}

// AppendDisconnect appends the agent's last frame.
func AppendDisconnect(b []byte, status Status, message string) []byte {
	start := len(b)
	b = appendHeader(b, Header{Type: TypeAgentDisconnect})
	b = appendUint32(appendText(b, "status-code"), uint32(status))
	b = appendString(appendText(b, "message"), message)
	putLength(b[start:])
	return b
}

// Arg is an argument of a message.
type Arg struct {
	Name []byte
	Value
}

// Request is one NOTIFY frame with its message. It is used again after its handler
// returns, so nothing of it may be kept.
type Request struct {
	Header
	// Message is the message's name.
	Message []byte
	args    [MaxArgs]Arg
	n       int
	buf     []byte
}

// Args are the arguments of the message.
func (q *Request) Args() []Arg { return q.args[:q.n] }

// Arg returns an argument by its name, or a value of type KindNull.
func (q *Request) Arg(name string) Value {
	for i := range q.args[:q.n] {
		if string(q.args[i].Name) == name {
			return q.args[i].Value
		}
	}
	return Value{}
}

// ParseNotify reads the content of a NOTIFY frame into q.
func (q *Request) ParseNotify(h Header, content []byte) error {
	c := cursor{rest: content}
	q.Header, q.Message, q.n = h, c.name(), 0
	n := int(c.byte())
	if n > MaxArgs {
		return invalid(errArgs)
	}
	for i := range n {
		// HAProxy writes an argument without a name as an empty one.
		q.args[i].Name = c.text()
		if len(q.args[i].Name) > MaxName {
			c.fail(errName)
		}
		q.args[i].Value = c.value()
	}
	switch {
	case c.err != nil:
		return invalid(c.err)
	case len(c.rest) > 0:
		return invalid(errMessage)
	}
	q.n = n
	return nil
}
