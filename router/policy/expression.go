package policy

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"unicode"
)

// Bounds of an expression. HAProxy's expressions (PCRE2) try all ways to share a value
// out among repetitions and alternatives: each repetition multiplies the steps by the
// length of the value, and so does a beginning at any place of it.
const (
	maxRepetitions  = 2
	maxAlternatives = 16
)

// Expression returns a regular expression of RE2 in a form that means the same in PCRE2
// and takes few steps there, or why there is none.
func Expression(text string) (string, error) {
	e, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("is not a regular expression of RE2: %w", err)
	}
	w := &expression{}
	if !anchored(e) {
		w.repetitions++
	}
	ways, err := w.walk(e)
	switch {
	case err != nil:
		return "", err
	case w.repetitions > maxRepetitions:
		return "", errors.New("has too many repetitions, which may take very long: it may have two, or one if it does not begin with ^ or .*")
	case ways > maxAlternatives:
		return "", fmt.Errorf("has more than %d alternatives, which may take very long", maxAlternatives)
	}
	return e.String(), nil
}

// anchored reports whether an expression is tried at the beginning of a value only.
func anchored(e *syntax.Regexp) bool {
	first := e
	for (first.Op == syntax.OpConcat || first.Op == syntax.OpCapture) && len(first.Sub) > 0 {
		first = first.Sub[0]
	}
	if first.Op == syntax.OpStar {
		return first.Sub[0].Op == syntax.OpAnyChar || first.Sub[0].Op == syntax.OpAnyCharNotNL
	}
	return first.Op == syntax.OpBeginText || first.Op == syntax.OpBeginLine
}

type expression struct{ repetitions int }

// walk returns the number of ways through an expression.
func (w *expression) walk(e *syntax.Regexp) (ways int, err error) {
	if !inASCII(e) {
		return 0, errors.New("has characters beyond ASCII, which HAProxy compares as bytes")
	}
	before := w.repetitions
	all := 1
	for _, part := range e.Sub {
		n, err := w.walk(part)
		if err != nil {
			return 0, err
		}
		if e.Op == syntax.OpAlternate {
			ways += n
		} else if all *= n; all > maxAlternatives {
			all = maxAlternatives + 1 // it only grows
		}
	}
	switch e.Op {
	case syntax.OpAlternate:
		return min(ways, maxAlternatives+1), nil
	case syntax.OpQuest:
		return min(all+1, maxAlternatives+1), nil
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		if w.repetitions > before || all > 1 {
			return 0, errors.New("repeats what has repetitions or alternatives, which may take very long")
		}
		w.repetitions++
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpCapture, syntax.OpConcat:
	}
	return all, nil
}

// inASCII reports whether the characters of a literal are ASCII, and those of a class,
// or those that it leaves out.
func inASCII(e *syntax.Regexp) bool {
	for i, r := range e.Rune {
		rest := e.Op == syntax.OpCharClass && i == len(e.Rune)-1 && r == unicode.MaxRune && e.Rune[0] == 0
		if r > unicode.MaxASCII && !rest {
			return false
		}
	}
	return true
}
