package explain

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Subject is the name in a certificate that the client shows.
type Subject struct {
	// Name is as RFC 2253 writes it, and Common the last common name in the certificate, which
	// is the first one of the text; each may be empty.
	Name, Common string
	// None says that the client shows no certificate.
	None bool
}

// parseSubject reads a name as "openssl x509 -noout -subject -nameopt RFC2253" prints it, or "-" for no
// certificate. An empty text is not known.
func parseSubject(text string, secure bool) (*Subject, error) {
	name := strings.TrimPrefix(text, "subject=")
	switch {
	case text == "":
		return nil, nil //nolint:nilnil // it is not given
	case !secure:
		return nil, fmt.Errorf("--client-subject is for TLS, and the URL begins with http://; write https://")
	case text == "-":
		return &Subject{None: true}, nil
	}
	s := &Subject{Name: name}
	for _, part := range splitName(name, ',') {
		for _, pair := range splitName(part, '+') {
			kind, value, ok := strings.Cut(pair, "=")
			if !ok || kind == "" || strings.ContainsAny(kind, " /\\") || strings.HasPrefix(value, " ") {
				return nil, fmt.Errorf(`--client-subject %q is not a name as RFC 2253 writes it; write one such as CN=alice,OU=staff,O=Example, as "openssl x509 -noout -subject -nameopt RFC2253" prints it, or - for no certificate`, text)
			}
			plain, known := plainValue(value)
			if !known {
				return nil, fmt.Errorf("--client-subject %q: %s has an escape that RFC 2253 does not know; write a backslash before each of , + \" \\ < > ; that is part of a value", text, pair)
			}
			if kind == "CN" && s.Common == "" {
				s.Common = plain
			}
		}
	}
	return s, nil
}

// splitName splits a name at a character that no backslash precedes.
func splitName(name string, at byte) (parts []string) {
	begin := 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case at:
			parts, begin = append(parts, name[begin:i]), i+1
		}
	}
	return append(parts, name[begin:])
}

// plainValue takes the escapes out of a value.
func plainValue(value string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			out.WriteByte(value[i])
			continue
		}
		if i+2 < len(value) {
			if b, err := hex.DecodeString(value[i+1 : i+3]); err == nil {
				out.Write(b)
				i += 2
				continue
			}
		}
		if i++; i == len(value) || !strings.ContainsRune(",=+<>#;\"\\ ", rune(value[i])) {
			return "", false
		}
		out.WriteByte(value[i])
	}
	return out.String(), true
}

// show has a client show what the request says.
func (s *Subject) show(c *match.Client) {
	switch {
	case s == nil:
	case s.None:
		c.Shows = match.ShowsNone
	default:
		c.Shows, c.Subject, c.CommonName = match.ShowsCertificate, s.Name, s.Common
	}
}

// assumed says what of a certificate explain cannot judge.
func (s *Subject) assumed(p *model.Policy) (notes []string) {
	switch k := p.Certificate; {
	case k == nil && s != nil && !s.None:
		notes = append(notes, "the policies of the route ask for no client certificate")
	case k == nil:
	case s == nil && len(k.Subjects) > 0:
		notes = append(notes, "the route admits only some subjects of client certificates; name one with --client-subject")
	case s != nil && !s.None:
		notes = append(notes, "it is assumed that an authority of the policy has signed the client's certificate, and that it is not revoked")
		if len(k.SANs) > 0 {
			notes = append(notes, "the policy asks for alternative names (sans), too, which are not judged")
		}
	}
	return notes
}
