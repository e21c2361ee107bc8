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
	`%(2f|3b|5c|[01][0-9a-f]|7f|c[01]|25[0-9a-f%]|$|.$|[^0-9a-f]|.[^0-9a-f])`

// parameters are what some programs take off a segment: "/shop;v=1" for "/shop".
var (
	ambiguous  = regexp.MustCompile(`(?i)` + Ambiguous)
	parameters = regexp.MustCompile(`;[^/]*`)
)

// Normal returns a path as any program reads it, without percent-encoding and
// without the parameters of segments. It reports false if programs differ.
func Normal(path string) (string, bool) {
	if plain(path) {
		return path, true // most are, and the expression takes a hundred times longer
	}
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

// plain reports whether nothing in a path could be read in different ways.
func plain(path string) bool {
	return !strings.ContainsAny(path, `%;\`) && !strings.Contains(path, "//") && !strings.Contains(path, "/.") && !strings.HasPrefix(path, ".")
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

// normalRoot begins the keys of normalised paths, after the host. A host in a
// request never holds it: it is looked up in lower case.
const normalRoot = "%2F"

// normalText is what follows the host when a path is looked up normalised.
func normalText(path string) (string, bool) {
	path, ok := Normal(path)
	return encode(path) + normalRoot + "#", ok
}

// encode is HAProxy's url_enc.
func encode(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// Guard adds the keys of normalised paths to a table of one host, made of the
// same rules. What no rule answers is left to less specific tables.
func (t Table) Guard(host string, rules []Rule) {
	var normal []Rule
	for _, r := range rules {
		path, ok := Normal(r.Path)
		if !ok && r.open() {
			// "/." is read in different ways, and "/.x", which begins so, is not.
			path, ok = Normal(r.Path[:strings.LastIndexByte(r.Path, '/')+1])
		}
		switch {
		case r.root():
			normal = append(normal, r)
		case ok && (path == "/" || strings.Trim(path, "/") != ""): // "//" no request gets to
			r.Path = path
			normal = append(normal, r)
		}
	}
	for k, v := range NewTable(host, normal) {
		path, exact := strings.CutSuffix(k[len(host):], "#")
		key := host + encode(path)
		if exact {
			key += "#"
		}
		t[key] = moved(v, func(n int) int {
			if n == len(k) {
				return len(key)
			}
			return len(host) + len(encode(k[len(host):n]))
		})
	}
	t.add(host+normalRoot, Miss)
}

// NormalKey returns what two rules of one host share if they are for the same
// paths, however these are written.
func (r Rule) NormalKey() string {
	if path, ok := Normal(r.Path); ok && !r.root() {
		r.Path = path
	}
	return key("", r)
}

// SameKey reports whether two rules of one host have the same routing key.
func (r Rule) SameKey(o Rule) bool { return key("", r) == key("", o) }
