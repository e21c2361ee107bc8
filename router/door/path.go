package door

import "strings"

// maxPath keeps routing keys far below HAProxy's buffer.
const maxPath = 2048

// PathProblem says what is wrong with a path, or nothing.
func PathProblem(p string) string {
	switch {
	case p == "":
	case p[0] != '/':
		return "must begin with /"
	case len(p) > maxPath:
		return "is longer than 2048 characters"
	case strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' || r == '?' }):
		return "may hold only visible ASCII characters without # and ?; percent-encode others as clients do"
	}
	return ""
}
