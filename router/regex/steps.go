package regex

import (
	"regexp/syntax"
	"slices"
)

// PCRE2 goes back to its last decision whenever it gets no further. A decision is certain
// if the next byte makes it: then going back fails at once, and all of an expression takes
// about as many steps as the path has bytes. Each repetition that is not certain
// multiplies that by the length of the path, each alternative by their number.
const (
	// steps is about how many a match may take.
	steps = 1 << 18
	// longestPath is the longest path where all is certain, and longestOther where one
	// repetition is not.
	longestPath, longestOther = 8192, 512
	// maxWays bounds the product of the alternatives that are not certain.
	maxWays = 16
	// fewWays is how many an expression may have that is compared with the paths of a host
	// beside many others.
	fewWays = 4
	// maxShort bounds repetitions that count as alternatives.
	maxShort = 8
)

// counter finds decisions that are not certain.
type counter struct {
	repetitions, ways int
	err               error
}

// longest returns the longest path that an expression may be applied to, and whether
// it takes about as many steps as the path has bytes.
func longest(e *syntax.Regexp) (n int, certain bool, err error) {
	c := &counter{ways: 1}
	c.walk(e, set{}, false)
	switch {
	case c.err != nil:
		return 0, false, c.err
	case c.repetitions > 1:
		return 0, false, BacktracksError{"has two repetitions that can share out a path in many ways, such as .* and .*; write [^/]+ for one segment"}
	case c.ways > maxWays:
		return 0, false, BacktracksError{"has too many alternatives that begin alike, or are followed by what they may hold"}
	case c.repetitions == 0:
		return longestPath, c.ways <= fewWays, nil
	}
	n = longestOther
	for n*n*c.ways > steps {
		n /= 2
	}
	return n, false, nil
}

func (c *counter) refuse(message string) {
	if c.err == nil {
		c.err = BacktracksError{message}
	}
}

// walk looks at a part of an expression: next are the bytes that may follow it, and looped
// is true within a repetition.
func (c *counter) walk(e *syntax.Regexp, next set, looped bool) {
	switch e.Op {
	case syntax.OpConcat:
		for _, part := range slices.Backward(e.Sub) {
			c.walk(part, next, looped)
			next = begin(part, next)
		}
	case syntax.OpCapture:
		c.walk(e.Sub[0], next, looped)
	case syntax.OpAlternate:
		c.alternatives(e, next, looped)
	case syntax.OpQuest, syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		c.repetition(e, next, looped)
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
}

func (c *counter) alternatives(e *syntax.Regexp, next set, looped bool) {
	var before set
	certain := true
	for _, part := range e.Sub {
		first := begin(part, next)
		certain = certain && !first.meets(before)
		before = before.with(first)
		c.walk(part, next, looped)
	}
	if !certain {
		c.choose(len(e.Sub), looped)
	}
}

// choose counts ways that are not certain.
func (c *counter) choose(ways int, looped bool) {
	if looped {
		c.refuse("repeats what can match in several ways, which may take very long")
	}
	c.ways = min(c.ways*ways, maxWays+1)
}

func (c *counter) repetition(e *syntax.Regexp, next set, looped bool) {
	body := e.Sub[0]
	least, most := e.Min, e.Max
	switch e.Op { //nolint:exhaustive // the repetitions, of which walk calls this
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpQuest:
		least, most = 0, 1
	}
	if empty(body) {
		c.refuse("repeats what may be empty, which may take very long")
		return
	}
	again := begin(body, set{})
	certain := least == most || !again.meets(next)
	switch {
	case certain:
	case most >= 0 && most-least < maxShort:
		c.choose(most-least+1, looped)
	case looped:
		c.refuse("has a repetition within a repetition that can share out a path in many ways, which may take very long")
	default:
		c.repetitions++
	}
	if most != 1 {
		next, looped = next.with(again), true
	}
	c.walk(body, next, looped)
}

// empty reports whether a part may match nothing. What only looks at its place does.
func empty(e *syntax.Regexp) bool {
	switch e.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar, syntax.OpNoMatch:
		return false
	case syntax.OpConcat:
		return !slices.ContainsFunc(e.Sub, func(part *syntax.Regexp) bool { return !empty(part) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(e.Sub, empty)
	case syntax.OpCapture, syntax.OpPlus:
		return empty(e.Sub[0])
	case syntax.OpRepeat:
		return e.Min == 0 || empty(e.Sub[0])
	case syntax.OpStar, syntax.OpQuest, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
	return true
}

// begin returns the bytes that a part may begin with, and those that may follow it if it
// may be empty. Nothing follows the end of a path.
func begin(e *syntax.Regexp, next set) set {
	switch e.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		s, _ := bytesOf(e)
		return s
	case syntax.OpConcat:
		for _, part := range slices.Backward(e.Sub) {
			next = begin(part, next)
		}
		return next
	case syntax.OpAlternate:
		var s set
		for _, part := range e.Sub {
			s = s.with(begin(part, next))
		}
		return s
	case syntax.OpCapture, syntax.OpPlus:
		return begin(e.Sub[0], next)
	case syntax.OpRepeat:
		s := begin(e.Sub[0], next)
		if e.Min == 0 {
			s = s.with(next)
		}
		return s
	case syntax.OpStar, syntax.OpQuest:
		return begin(e.Sub[0], next).with(next)
	case syntax.OpEndText, syntax.OpNoMatch:
		return set{}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
	return next
}
