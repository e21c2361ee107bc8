package regex

import (
	"regexp/syntax"
	"strings"
)

// Example returns a short path that an expression as Pattern.Text has it matches, or "" if
// none was found.
func Example(text string) string {
	path := ExampleValue(text)
	if strings.Contains(path, " ") {
		return ""
	}
	return path
}

// ExampleValue is Example for values of headers and parameters.
func ExampleValue(text string) string {
	e, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	example(&b, e)
	if Match(text, b.String()) == nil {
		return ""
	}
	return b.String()
}

func example(b *strings.Builder, e *syntax.Regexp) {
	switch e.Op { //nolint:exhaustive // all others may be empty
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s, _ := bytesOf(e)
		for _, c := range []byte("xabcdefghijklmnopqrstuvwyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ/-_.~!$&'()*+,:=@ ") {
			if s.has(c) {
				b.WriteByte(c)
				return
			}
		}
	case syntax.OpConcat:
		for _, part := range e.Sub {
			example(b, part)
		}
	case syntax.OpCapture, syntax.OpAlternate, syntax.OpPlus:
		example(b, e.Sub[0])
	case syntax.OpRepeat:
		for range e.Min {
			example(b, e.Sub[0])
		}
	}
}
