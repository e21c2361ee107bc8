package policy

import (
	"strings"
)

// maxHSTS bounds a header of which all that may be said takes 60 bytes.
const maxHSTS = 256

// hstsBlanks are what may stand around directives and numbers.
const hstsBlanks = " \t\r\n\f\v"

// parseHSTS reads the directives that OpenShift's router takes (RFC 6797) and
// writes them anew, each once, with a blank after a semicolon where the user has
// one. So nothing of the text goes on but digits and these few words.
func parseHSTS(v string) (header string, ok bool) {
	if len(v) > maxHSTS {
		return "", false
	}
	v = strings.TrimSuffix(strings.Trim(v, hstsBlanks), ";")
	seen := map[string]bool{}
	var b strings.Builder
	for item := range strings.SplitSeq(v, ";") {
		name, value := directive(item)
		if name == "" {
			return "", false
		}
		if seen[name] {
			if name == "max-age" {
				return "", false
			}
			continue
		}
		if seen[name] = true; len(seen) > 1 {
			b.WriteByte(';')
			if strings.IndexByte(hstsBlanks, item[0]) >= 0 {
				b.WriteByte(' ')
			}
		}
		b.WriteString(name + value)
	}
	return b.String(), seen["max-age"]
}

// directive returns the name of a directive and what follows it, or nothing if
// it is none that is known.
func directive(item string) (name, value string) {
	item = strings.Trim(item, hstsBlanks)
	word, age, valued := strings.Cut(item, "=")
	word = strings.ToLower(strings.TrimRight(word, hstsBlanks))
	switch {
	case !valued && word == "includesubdomains":
		return "includeSubDomains", ""
	case !valued && word == "preload":
		return "preload", ""
	case !valued || word != "max-age":
		return "", ""
	}
	age = strings.TrimLeft(age, hstsBlanks)
	if n := len(age); n > 1 && age[0] == '"' && age[n-1] == '"' {
		age = age[1 : n-1]
	}
	if age == "" || strings.Trim(age, "0123456789") != "" {
		return "", ""
	}
	return "max-age", "=" + age
}
