package regex

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// MaxReplacement is how long a replacement may be, and maxReferences how often it may
// refer to captures: both bound what a path can become.
const (
	MaxReplacement = 1024
	maxReferences  = 9
	// LongestResult is the longest path that a replacement makes.
	LongestResult = 8192
)

// replacementText keeps out what cannot stand in a path, and "?" and "#", which end one.
var replacementText = regexp.MustCompile(`^[/$][!$%&()*+,\-./0-9:;<=>@A-Z\[\]^_\x60a-z{}~]*$`)

// CheckReplacement returns why a text cannot replace the paths that a pattern matches.
func (p *Pattern) CheckReplacement(text string) error {
	if len(text) > MaxReplacement || !replacementText.MatchString(text) {
		return fmt.Errorf(`must be a path that begins with / or $ and holds at most %d visible ASCII characters without " ' # ? | and backslash`, MaxReplacement)
	}
	references := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		i++
		switch {
		case i == len(text) || text[i] != '$' && (text[i] < '1' || text[i] > '9'):
			return errors.New("must have a digit from 1 to 9, or a second $ for a dollar sign, after each $")
		case text[i] == '$':
			continue
		}
		n := int(text[i] - '0')
		references++
		switch {
		case n > p.Captures:
			return fmt.Errorf("refers to $%d, but the pattern has %d captures", n, p.Captures)
		case p.Optional > 0 && n > p.Optional:
			return fmt.Errorf("refers to $%d behind $%d, which may take no part in a match; write (a|b) in place of (a)|(b), and ((?:a)?) in place of (a)?", n, p.Optional)
		}
	}
	if references > maxReferences {
		return fmt.Errorf("refers to captures more than %d times", maxReferences)
	}
	return nil
}

// Without returns a replacement without references to captures that the pattern does not
// have. For nginx these are empty.
func (p *Pattern) Without(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '$' && i+1 < len(text) {
			c := text[i+1]
			i++
			if c < '1' || c > '9' || int(c-'0') <= p.Captures {
				b.WriteString(text[i-1 : i+1])
			}
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Outcome is what becomes of a path.
type Outcome struct {
	Path string
	// TooLong paths are answered 414.
	TooLong bool
}

// Replace applies an expression as Pattern.Text has it, as HAProxy does
// (templates/rewrite.lua). A path that it does not match stays.
func Replace(text, replacement string, longest int, path string) Outcome {
	if len(path) > longest {
		return Outcome{Path: path, TooLong: true}
	}
	captures := Match(text, path)
	if captures == nil {
		return Outcome{Path: path}
	}
	var b strings.Builder
	for i := 0; i < len(replacement); i++ {
		if replacement[i] != '$' || i+1 == len(replacement) {
			b.WriteByte(replacement[i])
			continue
		}
		i++
		if c := replacement[i]; c == '$' {
			b.WriteByte(c)
		} else if n := int(c - '0'); n < len(captures) {
			b.WriteString(captures[n])
		}
	}
	to := b.String()
	if !strings.HasPrefix(to, "/") {
		to = "/" + to
	}
	if len(to) > LongestResult {
		return Outcome{Path: path, TooLong: true}
	}
	return Outcome{Path: to}
}

// Match returns what the captures of an expression, as Pattern.Text has it, hold: the
// first is all that it matches. It is nil if the expression does not match.
func Match(text, path string) []string {
	e, err := regexp.Compile(text)
	if err != nil {
		return nil // HAProxy does not compile it, either
	}
	// Each byte as a character of its own.
	wide := make([]rune, len(path))
	for i := range len(path) {
		wide[i] = rune(path[i])
	}
	found := e.FindStringSubmatch(string(wide))
	for i, text := range found {
		narrow := make([]byte, 0, len(text))
		for _, r := range text {
			narrow = append(narrow, byte(r))
		}
		found[i] = string(narrow)
	}
	return found
}
