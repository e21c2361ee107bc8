package match

import (
	"regexp"
	"strings"
)

// Ambiguous matches paths that programs read in different ways: empty and dot
// segments, encoded slashes, semicolons and control characters, backslashes,
// what is encoded twice, and what is not valid percent-encoding. It ignores
// case, and means the same to Go and to HAProxy's PCRE2.
const Ambiguous = `//|/;[^/]*/|/;(\.|%2e)|(^|/)(\.|%2e){1,2}(;[^/]*)?(/|$)|\\|` +
	`%(2f|3b|5c|[01][0-9a-f]|7f|c[01]|25[0-9a-f][0-9a-f]|$|.$|[^0-9a-f]|.[^0-9a-f])`

// parameters are what some programs take off a segment: "/shop;v=1" for "/shop".
var (
	ambiguous  = regexp.MustCompile(`(?i)` + Ambiguous)
	parameters = regexp.MustCompile(`;[^/]*`)
)

// Normal returns a path as any program reads it, without percent-encoding and
// without the parameters of segments. It reports false if programs differ.
func Normal(path string) (string, bool) {
	if ambiguous.MatchString(path) {
		return "", false
	}
	path = parameters.ReplaceAllString(path, "")
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			c = digit(path[i+1])<<4 | digit(path[i+2])
			i += 2
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

func digit(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// Place returns what two rules of one host share if they are for the same
// paths, however these are written.
func (r Rule) Place() string {
	if path, ok := Normal(r.Path); ok && !r.root() {
		r.Path = path
	}
	return key("", r)
}

// SameKey reports whether two rules of one host have the same routing key.
func (r Rule) SameKey(o Rule) bool { return key("", r) == key("", o) }
