package regex

import (
	"errors"
	"strings"
)

// Lengths of paths that expressions are compared with to find their claim. A host may have
// many of these expressions, and each request is compared with all of them in the worst
// case, so they are shorter than for rewriting.
const (
	longestMatched      = 2048
	longestMatchedOther = 256
)

// Matcher is an expression that says which requests a claim is for.
type Matcher struct {
	// Beginning is what all of its paths begin with; it begins with "/". It is empty for
	// an expression of values.
	Beginning string
	// Pattern is the expression as it is applied (Pattern.Text), and Longest the
	// longest text that it is compared with, in bytes. Certain ones take about as many
	// steps as the text has bytes.
	Pattern string
	Longest int
	Certain bool
}

// ParseMatcher reads an expression of RE2 that says which paths a claim is for.
func ParseMatcher(text string, anyCase bool) (*Matcher, error) {
	for i := range len(text) {
		if text[i] == '%' || text[i] == ';' {
			return nil, errors.New("must not have % or ;, because programs decode paths and take parameters off before they read them")
		}
	}
	if anyCase {
		text = "(?i)" + text
	}
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	m := &Matcher{Beginning: p.Beginning(), Pattern: p.Text, Longest: p.Compared(), Certain: p.Certain}
	if m.Beginning == "" {
		m.Beginning = "/" // as each path does
	}
	if m.Beginning[0] != '/' {
		return nil, errors.New("must begin with /, as each path does")
	}
	return m, nil
}

// ParseValue reads an expression of RE2 that a whole value of a header or parameter must
// match. It has the bounds of expressions for paths, and begins with no text.
func ParseValue(text string) (*Matcher, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return nil, errors.New("must consist of printable ASCII characters")
	}
	_, err := parse(text) // what follows must not make sense of half an expression
	if err != nil {
		return nil, err
	}
	p, err := parse("(?:" + text + ")$")
	if err != nil {
		return nil, err
	}
	return &Matcher{Pattern: p.Text, Longest: p.Compared(), Certain: p.Certain}, nil
}

// Compared is the longest path that an expression may be compared with where each request
// may be compared with many of them.
func (p *Pattern) Compared() int {
	if p.Certain {
		return min(p.Longest, longestMatched)
	}
	return min(p.Longest, longestMatchedOther)
}
