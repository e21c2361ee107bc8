package regex

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// set is a set of bytes.
type set [4]uint64

func (s *set) add(c byte)     { s[c>>6] |= 1 << (c & 63) }
func (s set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s set) with(o set) set {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

func (s set) meets(o set) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

func (s set) without() set {
	for i := range s {
		s[i] = ^s[i]
	}
	return s
}

// Two characters beyond ASCII that are another case of a letter of ASCII: the sign of
// Kelvin and the long s. No byte is one.
const kelvin, longS = '\u212a', '\u017f'

// bytesOf returns the bytes that a class, a literal of one character or a dot means. It
// reports false if the meaning depends on how bytes make up characters.
func bytesOf(e *syntax.Regexp) (set, bool) {
	var s set
	switch e.Op { //nolint:exhaustive // what stands for one character
	case syntax.OpAnyChar:
		return s.without(), true
	case syntax.OpAnyCharNotNL:
		s.add('\n')
		return s.without(), true
	case syntax.OpLiteral:
		return bytesOfLetter(e.Rune[0], e.Flags&syntax.FoldCase != 0)
	}
	return bytesOfClass(e.Rune)
}

func bytesOfLetter(r rune, anyCase bool) (set, bool) {
	var s set
	if r >= 0x80 {
		return s, false
	}
	s.add(byte(r))
	if anyCase && letter(byte(r)) {
		s.add(byte(r) ^ 0x20)
	}
	return s, true
}

// bytesOfClass reads the pairs of first and last characters of a class.
func bytesOfClass(pairs []rune) (set, bool) {
	var s set
	if len(pairs) == 0 {
		return s, false
	}
	high, beyond := 0, false
	for i := 0; i+1 < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		for r := lo; r <= min(hi, 0xff); r++ {
			s.add(byte(r))
			if r >= 0x80 {
				high++
			}
		}
		otherCase := lo == hi && (lo == kelvin || lo == longS)
		beyond = beyond || hi > 0xff && !otherCase
	}
	// All of them, as in [^/], or none.
	return s, high == 0x80 && pairs[len(pairs)-1] == unicode.MaxRune || high == 0 && !beyond
}

// class writes a set in brackets, in the shorter of two ways.
func (s set) class() string {
	in, out := "["+s.ranges()+"]", "[^"+s.without().ranges()+"]"
	if len(out) < len(in) && s != (set{}).without() {
		return out
	}
	return in
}

func (s set) ranges() string {
	var b strings.Builder
	for c := 0; c < 256; c++ {
		if !s.has(byte(c)) {
			continue
		}
		last := c
		for last < 255 && s.has(byte(last+1)) {
			last++
		}
		b.WriteString(escaped(byte(c)))
		if last > c+1 {
			b.WriteByte('-')
		}
		if last > c {
			b.WriteString(escaped(byte(last)))
		}
		c = last
	}
	return b.String()
}
