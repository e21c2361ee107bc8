package match

import (
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// AdmitsSubject reports whether a certificate with a name, as RFC 2253 writes it, and a common
// name is let in by subjects, as the rules of the policy and templates/certificates.lua do.
func AdmitsSubject(c *model.ClientCertificate, name, common string) bool {
	plain, commons := PlainName(name)
	return len(c.Subjects) == 0 || slices.ContainsFunc(c.Subjects, func(s model.Subject) bool {
		text := name
		if s.Common {
			text = common
		}
		switch {
		case s.Expression:
			return plain && text != "" && len(text) <= s.Longest && (!s.Common || commons == 1) && regex.Match(s.Value, text) != nil
		case s.Prefix:
			return text != "" && strings.HasPrefix(text, s.Value)
		}
		return text == s.Value
	})
}

// PlainName reports whether each comma of a name, as RFC 2253 writes it, ends a part, and each
// part is one type, an equals sign and a value of its own: then no value can look like another
// part. Commons counts the common names.
func PlainName(name string) (plain bool, commons int) {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) || strings.ContainsAny(name, "\\+\"<>;") {
		return false, 0
	}
	for part := range strings.SplitSeq(name, ",") {
		kind, value, _ := strings.Cut(part, "=")
		if kind == "" || strings.ContainsFunc(kind, func(r rune) bool { return !typeLetter(r) }) || value == "" || value[0] == '#' || strings.Contains(value, "=") {
			return false, 0
		}
		if kind == "CN" {
			commons++
		}
	}
	return true, commons
}

func typeLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-'
}
