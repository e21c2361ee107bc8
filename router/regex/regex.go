// Package regex decides which regular expressions of users are applied to paths and to
// values of headers and parameters, and writes them in a form that means the same to Go and to HAProxy's PCRE2. It is pure.
//
// An expression is one of RE2. It is applied at the beginning of a path, to its bytes:
// Go does so by reading each byte as a character (Match). PCRE2 tries all ways through an
// expression, so the package bounds how many there are, and how long a path may be.
package regex

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// MaxBytes is how long an expression may be as users write it, maxText as it is applied.
const (
	MaxBytes = 512
	maxText  = 2048
)

// Pattern is an expression that can be applied to paths.
type Pattern struct {
	// Text is the expression as it is applied.
	Text string
	// Captures is the number of its captures, and Optional the first of those that may
	// take no part in a match, or 0.
	Captures, Optional int
	// Longest is the longest path that it is applied to, in bytes.
	Longest int
	// Certain expressions take about as many steps as a path has bytes.
	Certain bool

	parsed *syntax.Regexp
}

// BacktracksError is why an expression takes too many steps in PCRE2.
type BacktracksError struct{ Message string }

func (e BacktracksError) Error() string { return e.Message }

// Parse reads an expression of RE2 for paths.
func Parse(text string) (*Pattern, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("must consist of visible ASCII characters, as paths do")
	}
	return parse(text)
}

func parse(text string) (*Pattern, error) {
	switch {
	case text == "":
		return nil, errors.New("must not be empty")
	case len(text) > MaxBytes:
		return nil, fmt.Errorf("must be at most %d bytes long", MaxBytes)
	}
	e, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression of RE2: %w", err)
	}
	p := &Pattern{Captures: e.MaxCap(), parsed: e}
	if p.Longest, p.Certain, err = longest(e); err != nil {
		return nil, err
	}
	w := &writer{}
	if p.Text, err = w.write(e); err != nil {
		return nil, err
	}
	if len(p.Text) > maxText {
		return nil, fmt.Errorf("takes more than %d bytes when it is written out", maxText)
	}
	p.Optional = w.optional
	return p, nil
}

// writer writes expressions out: without flags, and without characters that mean
// something to one of the two alone. Letters and digits stand for themselves.
type writer struct {
	text strings.Builder
	// maybe counts what around the place in hand may take no part in a match.
	maybe    int
	optional int
	err      error
}

// write returns an expression that matches at the beginning of a path only.
func (w *writer) write(e *syntax.Regexp) (string, error) {
	w.text.WriteString(`\A`)
	w.group(e)
	return w.text.String(), w.err
}

func (w *writer) refuse(message string) {
	if w.err == nil {
		w.err = errors.New(message)
	}
}

// group writes an expression so that what follows is about all of it.
func (w *writer) group(e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpCapture, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.part(e)
	default:
		w.text.WriteString("(?:")
		w.part(e)
		w.text.WriteByte(')')
	}
}

func (w *writer) part(e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.characters(e)
	case syntax.OpConcat:
		for _, part := range e.Sub {
			if part.Op == syntax.OpAlternate {
				w.group(part)
			} else {
				w.part(part)
			}
		}
	case syntax.OpAlternate:
		w.maybe++
		for i, part := range e.Sub {
			if i > 0 {
				w.text.WriteByte('|')
			}
			w.part(part)
		}
		w.maybe--
	case syntax.OpCapture:
		if w.maybe > 0 && w.optional == 0 {
			w.optional = e.Cap
		}
		w.text.WriteByte('(')
		w.part(e.Sub[0])
		w.text.WriteByte(')')
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		w.repetition(e)
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		w.text.WriteString(map[syntax.Op]string{
			syntax.OpEmptyMatch: "", syntax.OpBeginText: `\A`, syntax.OpEndText: `\z`, syntax.OpWordBoundary: `\b`, syntax.OpNoWordBoundary: `\B`,
		}[e.Op])
	case syntax.OpBeginLine, syntax.OpEndLine:
		w.refuse("must not have the flag m: a path is one line")
	case syntax.OpNoMatch:
		w.refuse("has a class that no character is in")
	}
}

// characters writes what one byte, or one after the other, must be.
func (w *writer) characters(e *syntax.Regexp) {
	if e.Op != syntax.OpLiteral {
		s, ok := bytesOf(e)
		if !ok {
			w.refuse("has characters beyond ASCII, which stand in paths as several bytes")
		}
		w.text.WriteString(s.class())
		return
	}
	for _, r := range e.Rune {
		if r >= 0x80 {
			w.refuse("has characters beyond ASCII, which stand in paths as several bytes")
			return
		}
		if e.Flags&syntax.FoldCase != 0 && letter(byte(r)) {
			w.text.WriteString("[" + string(r&^0x20) + string(r|0x20) + "]")
			continue
		}
		w.text.WriteString(escaped(byte(r)))
	}
}

func (w *writer) repetition(e *syntax.Regexp) {
	body := e.Sub[0]
	least := e.Min
	switch e.Op { //nolint:exhaustive // the repetitions, of which part calls this
	case syntax.OpStar, syntax.OpQuest:
		least = 0
	case syntax.OpPlus:
		least = 1
	}
	// HAProxy gives no captures behind one that took no part, so an optional capture
	// becomes one of something optional.
	if e.Op == syntax.OpQuest && body.Op == syntax.OpCapture && w.maybe == 0 {
		w.text.WriteByte('(')
		w.quest(e, body.Sub[0])
		w.text.WriteByte(')')
		return
	}
	if least > 0 {
		w.group(body)
	} else {
		w.maybe++
		w.group(body)
		w.maybe--
	}
	switch e.Op { //nolint:exhaustive // the repetitions, of which part calls this
	case syntax.OpStar:
		w.text.WriteByte('*')
	case syntax.OpPlus:
		w.text.WriteByte('+')
	case syntax.OpQuest:
		w.text.WriteByte('?')
	case syntax.OpRepeat:
		fmt.Fprintf(&w.text, "{%d", e.Min)
		if e.Max < 0 {
			w.text.WriteByte(',')
		} else if e.Max != e.Min {
			fmt.Fprintf(&w.text, ",%d", e.Max)
		}
		w.text.WriteByte('}')
	}
	w.lazy(e)
}

func (w *writer) quest(e, body *syntax.Regexp) {
	w.maybe++
	w.group(body)
	w.maybe--
	w.text.WriteByte('?')
	w.lazy(e)
}

func (w *writer) lazy(e *syntax.Regexp) {
	if e.Flags&syntax.NonGreedy != 0 {
		w.text.WriteByte('?')
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// escaped writes one byte for itself.
func escaped(c byte) string {
	if letter(c) || c >= '0' && c <= '9' || c == '/' || c == '_' || c == '~' {
		return string(rune(c))
	}
	return fmt.Sprintf(`\x%02x`, c)
}
