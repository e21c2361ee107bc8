package spop

import "errors"

// Scope is where a variable lives.
type Scope byte

// The scopes of variables.
const (
	ScopeProcess Scope = iota
	ScopeSession
	ScopeTransaction
	ScopeRequest
	ScopeResponse
)

const actionSet = 1

// ErrTooLong is an answer that does not fit into a frame.
var ErrTooLong = errors.New("the answer does not fit into a frame")

// Reply collects the variables of an answer. If one of them does not fit, the
// answer sets none: half an answer could be a verdict without its conditions.
type Reply struct {
	buf   []byte
	start int
	limit int
	over  bool
}

// begin makes r the empty answer to the frame of a header.
func (r *Reply) begin(h Header, limit uint32) {
	r.buf = appendHeader(r.buf[:0], Header{Type: TypeAck, Stream: h.Stream, Frame: h.Frame})
	r.start, r.limit, r.over = len(r.buf), int(limit)+lengthSize, false
}

// Reset drops what was set.
func (r *Reply) Reset() { r.buf, r.over = r.buf[:r.start], false }

func (r *Reply) set(s Scope, name string, size int) bool {
	if r.over || len(name) == 0 || len(name) > MaxName ||
		len(r.buf)+len(name)+size+2*maxVarint+4 > r.limit {
		r.over = true
		return false
	}
	r.buf = appendText(append(r.buf, actionSet, 3, byte(s)), name)
	return true
}

// SetString sets a variable to a text.
func (r *Reply) SetString(s Scope, name, value string) {
	if r.set(s, name, len(value)) {
		r.buf = appendString(r.buf, value)
	}
}

// SetBinary sets a variable to bytes.
func (r *Reply) SetBinary(s Scope, name string, value []byte) {
	if r.set(s, name, len(value)) {
		r.buf = append(AppendVarint(append(r.buf, byte(KindBinary)), uint64(len(value))), value...)
	}
}

// SetInt sets a variable to a number.
func (r *Reply) SetInt(s Scope, name string, value int64) {
	if r.set(s, name, maxVarint) {
		r.buf = AppendVarint(append(r.buf, byte(KindInt64)), uint64(value))
	}
}

// frame returns the whole frame. An answer that did not fit sets nothing, and err
// says so.
func (r *Reply) frame() ([]byte, error) {
	var err error
	if r.over {
		r.Reset()
		err = ErrTooLong
	}
	putLength(r.buf)
	return r.buf, err
}

// Fits reports whether all that was set fits into the frame.
func (r *Reply) Fits() bool { return !r.over }

// Answered returns the variables that an answer sets, for tests and for programs that
// speak HAProxy's part.
func Answered(limit uint32, answer func(*Reply)) map[string]Value {
	var r Reply
	r.begin(Header{}, limit)
	answer(&r)
	b, _ := r.frame()
	_, content, err := ParseHeader(b[lengthSize:])
	if err != nil {
		return nil
	}
	return ReadActions(content)
}

// ReadActions returns the variables that the content of an ACK frame sets, whatever
// their scope, or nil if it is invalid.
func ReadActions(content []byte) map[string]Value {
	c := cursor{rest: content}
	set := map[string]Value{}
	for len(c.rest) > 0 {
		if head := c.take(3); head == nil || head[0] != actionSet || head[1] != 3 {
			return nil
		}
		name := string(c.name())
		set[name] = c.value()
	}
	if c.err != nil {
		return nil
	}
	return set
}
