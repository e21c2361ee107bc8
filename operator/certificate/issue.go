// Package certificate makes the certificates that routers serve
// where no user gave them one: a CA of the operator, and a wildcard certificate
// per domain that the CA signs.
//
// It is pure but for the random numbers of keys: times are parameters.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/fairlead/fairlead/router/certificate"
)

const (
	// caValidity is long, because every new CA must be given to the clients.
	caValidity = 10 * 365 * 24 * time.Hour
	// leafValidity is below the 398 days that browsers accept.
	leafValidity = 365 * 24 * time.Hour
	// caRenewal and leafRenewal are how long before their end they are replaced.
	caRenewal   = 398 * 24 * time.Hour
	leafRenewal = 60 * 24 * time.Hour
	// clockSkew is how far the clock of a client may be behind.
	clockSkew = time.Hour
)

// NewCA returns a self-signed CA.
func NewCA(now time.Time) (certificate.Pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("ingress-operator@%d", now.Unix())},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(caValidity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	return sign(template, nil, nil)
}

// NewWildcard returns a serving certificate for *.domain and domain, signed by the CA.
func NewWildcard(ca certificate.Pair, domain string, now time.Time) (certificate.Pair, error) {
	caCertificate, err := ca.Leaf()
	if err != nil {
		return certificate.Pair{}, fmt.Errorf("use the CA: %w", err)
	}
	loaded, err := tls.X509KeyPair(ca.Certificate, ca.Key)
	if err != nil {
		return certificate.Pair{}, fmt.Errorf("use the CA: %w", err)
	}
	wildcard := "*." + domain
	template := &x509.Certificate{
		DNSNames:              []string{wildcard, domain},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(leafValidity),
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	// A common name has room for 64 bytes only; clients use DNSNames anyway.
	if len(wildcard) <= 64 {
		template.Subject = pkix.Name{CommonName: wildcard}
	}
	return sign(template, caCertificate, loaded.PrivateKey)
}

// UsableCA reports whether the CA can sign and has enough time left.
func UsableCA(ca certificate.Pair, now time.Time) bool {
	c, err := ca.Leaf()
	return err == nil && c.IsCA && ca.Check() == nil && now.Add(caRenewal).Before(c.NotAfter)
}

// UsableWildcard reports whether the certificate is for the domain, was signed
// by the CA and has enough time left.
func UsableWildcard(p, ca certificate.Pair, domain string, now time.Time) bool {
	if p.Check() != nil {
		return false
	}
	c, err := p.Leaf()
	if err != nil {
		return false
	}
	caCertificate, err := ca.Leaf()
	if err != nil || c.CheckSignatureFrom(caCertificate) != nil {
		return false
	}
	return c.VerifyHostname("x."+domain) == nil && now.Add(leafRenewal).Before(c.NotAfter)
}

// sign makes a key and a certificate for it; without a parent it signs itself.
func sign(template, parent *x509.Certificate, parentKey any) (certificate.Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate.Pair{}, fmt.Errorf("make a key: %w", err)
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return certificate.Pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return certificate.Pair{}, fmt.Errorf("sign the certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return certificate.Pair{}, fmt.Errorf("encode the key: %w", err)
	}
	return certificate.Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
