package spop

import (
	"bytes"
	"errors"
	"iter"
)

// Bounds of a list of headers.
const (
	// MaxHeaders is the largest number of headers in a list.
	MaxHeaders = 256
	// MaxHeader is the longest header, name and value together.
	MaxHeader = 32 << 10
)

// ErrHeader is a header that cannot stand in a list.
var ErrHeader = errors.New("not a valid header")

// Headers are all headers of a request as HAProxy's req.hdrs_bin has them: names
// and values with their lengths, and two empty texts at the end.
type Headers struct{ list []byte }

// ParseHeaders checks a list of headers.
func ParseHeaders(list []byte) (Headers, error) {
	c := cursor{rest: list}
	for n := 0; ; n++ {
		name, value := c.text(), c.text()
		switch {
		case c.err != nil:
			return Headers{}, c.err
		case len(name) == 0 && len(value) == 0 && len(c.rest) == 0:
			return Headers{list}, nil
		case len(name) == 0 || n == MaxHeaders || len(name)+len(value) > MaxHeader:
			return Headers{}, ErrHeader
		}
	}
}

// All ranges over names and values. They point into the list.
func (h Headers) All() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		c := cursor{rest: h.list}
		for {
			name, value := c.text(), c.text()
			if len(name) == 0 || !yield(name, value) {
				return
			}
		}
	}
}

// Get returns the value of a header and how often it is there. The name must be in
// lower case.
func (h Headers) Get(name string) (value []byte, count int) {
	for n, v := range h.All() {
		if sameName(n, name) {
			if count == 0 {
				value = v
			}
			count++
		}
	}
	return value, count
}

// sameName compares a name with one in lower case.
func sameName(n []byte, lower string) bool {
	if len(n) != len(lower) {
		return false
	}
	for i := range n {
		c := n[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// AppendHeader appends a header to a list for HAProxy's set-headers-bin and
// add-headers-bin. It refuses all that could end a line or a name.
func AppendHeader(list []byte, name, value string) ([]byte, error) {
	if !ValidName(name) || !ValidValue(value) || len(name)+len(value) > MaxHeader {
		return list, ErrHeader
	}
	return appendText(appendText(list, name), value), nil
}

// EndHeaders ends a list of headers.
func EndHeaders(list []byte) []byte { return append(list, 0, 0) }

// AppendName appends a name to a list for HAProxy's del-headers-bin.
func AppendName(list []byte, name string) ([]byte, error) {
	if !ValidName(name) || len(name) > MaxHeader {
		return list, ErrHeader
	}
	return appendText(list, name), nil
}

// EndNames ends a list of names.
func EndNames(list []byte) []byte { return append(list, 0) }

// ValidName reports whether a text is the name of a header (RFC 9110, a token).
func ValidName(name string) bool {
	for i := range len(name) {
		if !tokenByte(name[i]) {
			return false
		}
	}
	return name != ""
}

func tokenByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return false
}

// ValidValue reports whether a text can be the value of a header.
func ValidValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// Clone returns a list that does not point into a frame.
func (h Headers) Clone() Headers { return Headers{bytes.Clone(h.list)} }
