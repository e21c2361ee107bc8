package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// Fault is what is wrong with a chain for the clients that it is sent to.
type Fault string

// The faults.
const (
	Expired         Fault = "Expired"
	NotYetValid     Fault = "NotYetValid"
	EndsSoon        Fault = "EndsSoon"
	NotCovering     Fault = "NotCovering"
	WithoutNames    Fault = "WithoutNames"
	ChainIncomplete Fault = "ChainIncomplete"
	ChainOutOfOrder Fault = "ChainOutOfOrder"
)

// Problem is a fault, in words that complete the sentence "the certificate …".
type Problem struct {
	Fault Fault
	Text  string
}

// defaultSoon is when a certificate needs attention before its end.
const defaultSoon = 21 * 24 * time.Hour

// maxParsed bounds what Parse reads of one text.
const maxParsed = 20

// Parse returns the certificates of a PEM text, and nothing if one cannot be read. Keys
// are not looked at.
func Parse(text string) []*x509.Certificate {
	var certs []*x509.Certificate
	rest := []byte(text)
	for len(certs) < maxParsed {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil
		}
		certs = append(certs, c)
	}
	return certs
}

// Judge returns what clients of a host find wrong with a chain at a time, the worst first.
// The chain has at least one certificate. An empty host is not compared; a wildcard host
// stands for any name that it covers. Soon is how long before its end a certificate ends
// soon; zero is three weeks, or a third of its life if that is less.
func Judge(chain []*x509.Certificate, host string, now time.Time, soon time.Duration) []Problem {
	leaf := chain[0]
	problems := times(chain, now, soon)
	if len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0 {
		problems = append(problems, Problem{WithoutNames, "names its host in the common name only; clients refuse it"})
	} else if host != "" && leaf.VerifyHostname(strings.Replace(host, "*", anyLabel, 1)) != nil {
		problems = append(problems, Problem{NotCovering, "is not for " + host + ", but for " + names(leaf) + "; clients refuse it"})
	}
	return append(problems, order(chain)...)
}

// anyLabel stands for any label that a wildcard covers.
const anyLabel = "any"

func times(chain []*x509.Certificate, now time.Time, soon time.Duration) []Problem {
	leaf := chain[0]
	for i, c := range chain {
		switch {
		case !now.After(c.NotAfter):
		case i == 0:
			return []Problem{{Expired, "ended on " + Day(c.NotAfter) + "; clients refuse it"}}
		default:
			return []Problem{{Expired, fmt.Sprintf("has an issuer in its chain, %q, that ended on %s", c.Subject, Day(c.NotAfter))}}
		}
	}
	if soon <= 0 {
		soon = min(defaultSoon, leaf.NotAfter.Sub(leaf.NotBefore)/3)
	}
	switch left := leaf.NotAfter.Sub(now); {
	case now.Before(leaf.NotBefore):
		return []Problem{{NotYetValid, "is valid from " + leaf.NotBefore.UTC().Format(time.RFC3339) + " on; clients refuse it"}}
	case left <= soon:
		return []Problem{{EndsSoon, "ends " + In(left) + ", on " + Day(leaf.NotAfter)}}
	}
	return nil
}

// order finds what is missing in a chain, or not in its place.
func order(chain []*x509.Certificate) []Problem {
	for i, c := range chain[:len(chain)-1] {
		if next := chain[i+1]; !bytes.Equal(c.RawIssuer, next.RawSubject) {
			return []Problem{{ChainOutOfOrder, fmt.Sprintf("is followed by others that do not belong to it or are out of order: after %q comes %q", c.Subject, next.Subject)}}
		}
	}
	// A certificate that says where its issuer is to be had is not that of a root, which
	// clients have themselves.
	switch last := chain[len(chain)-1]; {
	case last.IsCA, bytes.Equal(last.RawIssuer, last.RawSubject), len(last.IssuingCertificateURL) == 0:
		return nil
	default:
		return []Problem{{ChainIncomplete, "is sent without that of its issuer, " + last.Issuer.String()}}
	}
}

// names lists the first names of a certificate.
func names(c *x509.Certificate) string {
	all := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) > 3 {
		return strings.Join(all[:3], ", ") + ", …"
	}
	return strings.Join(all, ", ")
}

// Day is a date as people write it in tables.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// In is a time to come in words, such as "in 11 days".
func In(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("in %d minutes", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("in %d hours", int(d.Hours()))
	}
	return fmt.Sprintf("in %d days", int(d.Hours()/24))
}

// KeyType names the kind and size of a certificate's key, such as "RSA 2048".
func KeyType(c *x509.Certificate) string {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", key.N.BitLen())
	case *ecdsa.PublicKey:
		return fmt.Sprintf("ECDSA %d", key.Params().BitSize)
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return "unknown"
}
