package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// ClientCertificate is what a client has to show in the TLS handshake.
type ClientCertificate struct {
	// CA must have signed it, directly or by what the client sends along.
	CA *CA
	// Required refuses requests without a certificate.
	Required bool
	// Subjects are those that are let in; empty is each that the CA has signed. With
	// any, a certificate is required.
	Subjects []Subject
	// SANs are alternative names, one of which is needed; none needs none.
	SANs []SAN
	// Forward is what pods learn, ForwardHeaders if it is empty.
	Forward CertificateForward
}

// CertificateForward says what pods learn of a certificate.
type CertificateForward string

// The letters in records.
const (
	ForwardHeaders CertificateForward = ""
	ForwardNone    CertificateForward = "n"
	ForwardXFCC    CertificateForward = "x"
	ForwardPEM     CertificateForward = "p"
	ForwardDER     CertificateForward = "d"
)

// SAN is an alternative name in a certificate, or a part of one.
type SAN struct {
	// Kind and Match are letters of templates/certificates.lua.
	Kind  SANKind
	Match SANMatch
	// Value is as it stands in certificates: for addresses, 4 or 16 bytes.
	Value string
}

// SANKind is the kind of a name, by the last digit of its tag in DER.
type SANKind string

// The kinds of alternative names.
const (
	SANEmail SANKind = "1"
	SANDNS   SANKind = "2"
	SANURI   SANKind = "6"
	SANIP    SANKind = "7"
)

// SANMatch says how a name is compared.
type SANMatch string

// The ways to compare.
const (
	SANExact  SANMatch = "e"
	SANPrefix SANMatch = "p"
	SANSuffix SANMatch = "s"
)

// SANKey stands behind the name of the backend in the map of subjects.
const SANKey = "S"

// SANList writes what templates/certificates.lua reads.
func (c *ClientCertificate) SANList() string {
	var b strings.Builder
	for i, s := range c.SANs {
		if i > 0 {
			b.WriteByte('+')
		}
		b.WriteString(string(s.Kind) + string(s.Match) + hex.EncodeToString([]byte(s.Value)))
	}
	return b.String()
}

// Subject is a name in a certificate, or the beginning of one.
type Subject struct {
	// Common compares with the common name, else with the whole name as RFC 2253 writes
	// it.
	Common bool
	// Prefix compares with the beginning.
	Prefix bool
	// Expression is true if Value is a regular expression as regex.Pattern.Text has it, for
	// names of up to Longest bytes.
	Expression bool
	Longest    int
	Value      string
}

// PatternKey stands behind the name of the backend in the map of subjects, for expressions.
const PatternKey = "R"

// PatternList writes the subjects that are expressions as templates/certificates.lua reads
// them, or "" if none is one.
func (c *ClientCertificate) PatternList() string {
	var entries []string
	for _, s := range c.Subjects {
		if s.Expression {
			entries = append(entries, s.kind()+strconv.Itoa(s.Longest)+":"+hex.EncodeToString([]byte(s.Value)))
		}
	}
	return strings.Join(entries, "+")
}

// Demanded reports whether requests without a certificate are refused.
func (c *ClientCertificate) Demanded() bool {
	return c.Required || len(c.Subjects)+len(c.SANs) > 0
}

// clientMark begins the marks of authorities. It is no name of a backend. openMark begins
// those of listeners that let in clients whatever they show.
const (
	clientMark = "!c/"
	openMark   = "!o/"
)

// Mark names the authorities by their content: two routes with the
// same mark let in the same certificates.
func (c *ClientCertificate) Mark() string { return markOf(clientMark, c.CA) }

func markOf(prefix string, ca *CA) string {
	sum := sha256.Sum256([]byte(ca.PEM))
	return prefix + hex.EncodeToString(sum[:16])
}

// IsClientMark reports whether a value of the map of server names is a mark.
func IsClientMark(value string) bool { return strings.HasPrefix(value, clientMark) }

// ClientMarkPrefix begins all marks, for rules that look for one.
const ClientMarkPrefix = clientMark

// Key returns what stands for the subject in a map, after the name of the backend: the
// text in hexadecimal, because it may have any characters, and a dot where it ends.
func (s Subject) Key() string {
	end := "."
	if s.Prefix {
		end = ""
	}
	return s.kind() + strings.ToUpper(hex.EncodeToString([]byte(s.Value))) + end
}

func (s Subject) kind() string {
	if s.Common {
		return SubjectCommon
	}
	return SubjectWhole
}

// Letters that begin the keys of subjects.
const (
	SubjectWhole  = "D"
	SubjectCommon = "C"
)

// clientMarkOf writes the mark, and after a plus sign what pods learn.
func clientMarkOf(p *Policy) string {
	if p.Certificate == nil {
		return ""
	}
	if f := p.Certificate.Forward; f != ForwardHeaders {
		return p.Certificate.Mark() + "+" + string(f)
	}
	return p.Certificate.Mark()
}
