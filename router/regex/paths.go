package regex

import (
	"regexp/syntax"
	"strings"
)

// Rule is a path as rules have it: exact, or all below it in whole segments.
type Rule struct {
	Path  string
	Exact bool
}

// maxRules bounds how many rules one expression becomes.
const maxRules = 16

// Rules returns the paths that an expression matches as a few rules, or nil if they
// cannot be said so: the expression begins with one of some texts, and goes on with
// whatever is below a path, or ends there.
func (p *Pattern) Rules() []Rule {
	parts := flat(p.parsed)
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		parts = parts[1:]
	}
	texts, at := []string{""}, 0
	for ; at < len(parts); at++ {
		more, finite := textsOf(parts[at])
		if !finite {
			break
		}
		if texts = cross(texts, more); len(texts) > maxRules {
			return nil
		}
	}
	w := &writer{}
	for _, part := range parts[at:] {
		w.group(bare(part))
	}
	rest := w.text.String()
	rules := make([]Rule, 0, len(texts))
	for _, text := range texts {
		r, ok := ruleOf(text, rest)
		if !ok {
			return nil
		}
		rules = append(rules, r)
	}
	return rules
}

// Beginning returns the text that all paths begin with that an expression matches.
func (p *Pattern) Beginning() string {
	var b strings.Builder
	for _, part := range flat(p.parsed) {
		switch {
		case part.Op == syntax.OpBeginText || part.Op == syntax.OpEmptyMatch:
			continue
		case part.Op == syntax.OpLiteral && part.Flags&syntax.FoldCase == 0:
			b.WriteString(string(part.Rune))
			continue
		}
		break
	}
	return b.String()
}

// The ways to say "anything", and "nothing, or anything below".
const (
	anything = `(?:[^\x0a]*)`
	theEnd   = `(?:\z)`
)

func ruleOf(text, rest string) (Rule, bool) {
	whole := strings.HasSuffix(text, "/")
	switch rest {
	case theEnd:
		return Rule{text, true}, strings.HasPrefix(text, "/")
	case "", anything, anything + theEnd:
		return Rule{text, false}, whole && text[0] == '/'
	case `(?:/|\z)`, `(?:/|\z)` + anything, `(?:/|\z)` + anything + theEnd, `(?:\z|/)` + anything, `(?:(?:/[^\x0a]*)?)` + theEnd, `(?:/[^\x0a]*|\z)`:
		if text == "" {
			return Rule{"/", false}, true
		}
		return Rule{text, false}, text[0] == '/' && !whole
	}
	return Rule{}, false
}

// flat returns the parts of an expression, one after the other, without its captures.
func flat(e *syntax.Regexp) []*syntax.Regexp {
	switch e.Op { //nolint:exhaustive // all others are one part
	case syntax.OpCapture:
		return flat(e.Sub[0])
	case syntax.OpConcat:
		var parts []*syntax.Regexp
		for _, part := range e.Sub {
			parts = append(parts, flat(part)...)
		}
		return parts
	}
	return []*syntax.Regexp{e}
}

// bare returns an expression without its captures.
func bare(e *syntax.Regexp) *syntax.Regexp {
	if e.Op == syntax.OpCapture {
		return bare(e.Sub[0])
	}
	out := *e
	out.Sub = make([]*syntax.Regexp, len(e.Sub))
	for i, part := range e.Sub {
		out.Sub[i] = bare(part)
	}
	return &out
}

// textsOf returns the texts that an expression matches, if these are a few.
func textsOf(e *syntax.Regexp) (texts []string, finite bool) {
	switch e.Op { //nolint:exhaustive // all others match too many
	case syntax.OpLiteral:
		return []string{string(e.Rune)}, e.Flags&syntax.FoldCase == 0
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpCapture:
		return textsOf(e.Sub[0])
	case syntax.OpQuest:
		texts, finite = textsOf(e.Sub[0])
		return append([]string{""}, texts...), finite
	case syntax.OpCharClass:
		s, ok := bytesOf(e)
		for c := range 0x80 {
			if s.has(byte(c)) {
				texts = append(texts, string(rune(c)))
			}
		}
		return texts, ok && len(texts) <= maxRules && !s.has(0x80)
	case syntax.OpConcat:
		texts = []string{""}
		for _, part := range e.Sub {
			more, ok := textsOf(part)
			if texts = cross(texts, more); !ok || len(texts) > maxRules {
				return nil, false
			}
		}
		return texts, true
	case syntax.OpAlternate:
		for _, part := range e.Sub {
			more, ok := textsOf(part)
			if texts = append(texts, more...); !ok || len(texts) > maxRules {
				return nil, false
			}
		}
		return texts, true
	}
	return nil, false
}

func cross(begin, end []string) []string {
	out := make([]string, 0, len(begin)*len(end))
	for _, b := range begin {
		for _, e := range end {
			out = append(out, b+e)
		}
	}
	return out
}
