package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Pair is a certificate (chain) with its key, both PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Check returns what makes the pair unusable, in words for its owner, or nil.
// It never quotes key material.
func (p Pair) Check() error {
	switch {
	case len(bytes.TrimSpace(p.Certificate)) == 0:
		return errors.New("tls.crt is empty")
	case len(bytes.TrimSpace(p.Key)) == 0:
		return errors.New("tls.key is empty")
	}
	if _, err := tls.X509KeyPair(p.Certificate, p.Key); err != nil {
		return fmt.Errorf("tls.crt and tls.key: %w", err)
	}
	return nil
}

// Covers returns an error that names the host and the names in the certificate
// if the certificate is not for the host.
func (p Pair) Covers(host string) error {
	c, err := p.Leaf()
	if err != nil {
		return err
	}
	return c.VerifyHostname(host)
}

// WithoutNames reports whether the certificate names its hosts in the common name
// only, which clients have not looked at for years.
func (p Pair) WithoutNames() bool {
	c, err := p.Leaf()
	return err == nil && len(c.DNSNames) == 0 && len(c.IPAddresses) == 0
}

// Leaf parses the first certificate of a pair.
func (p Pair) Leaf() (*x509.Certificate, error) {
	block, _ := pem.Decode(p.Certificate)
	if block == nil {
		return nil, errors.New("no PEM block in the certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
