package peers

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Certificates live for Life, and the operator makes a new one each half of it.
const (
	Life = 24 * time.Hour
	// settled is how old a certificate is when it is shown: all routers have it by then.
	settled = time.Hour
	// clockSkew is how far clocks may differ.
	clockSkew = time.Hour
	// MostCertificates is how many there are.
	MostCertificates = 3
)

// Issue makes a certificate that routers of one IngressController show each other: PEM of
// the certificate and its key.
func Issue(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "fairlead-agents"},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(Life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})...), nil
}

// Certificates are those that members accept, the oldest first. They show one of them.
type Certificates struct{ pairs []tls.Certificate }

// Read reads what Issue made, the oldest first: PEM of certificates and their keys.
func Read(all [][]byte, now time.Time) (*Certificates, error) {
	c := &Certificates{}
	if len(all) > MostCertificates {
		all = all[len(all)-MostCertificates:]
	}
	for _, text := range all {
		pair, err := tls.X509KeyPair(text, text)
		if err != nil {
			return nil, fmt.Errorf("read a certificate of agents: %w", err)
		}
		c.pairs = append(c.pairs, pair)
	}
	if c.shown(now) == nil {
		return nil, errNone
	}
	return c, nil
}

var errNone = errors.New("no certificate of agents is valid")

// shown is the newest one that all routers have, or the oldest one that is valid.
func (c *Certificates) shown(now time.Time) (out *tls.Certificate) {
	for i := range c.pairs {
		p := &c.pairs[i]
		if now.Before(p.Leaf.NotAfter) && (out == nil || now.Sub(p.Leaf.NotBefore) >= clockSkew+settled) {
			out = p
		}
	}
	return out
}

// accept refuses peers that have none of the certificates. That they have the key is
// proven by the handshake.
func (c *Certificates) accept(raw [][]byte, _ [][]*x509.Certificate) error {
	for i := range c.pairs {
		if leaf := c.pairs[i].Leaf; len(raw) > 0 && bytes.Equal(raw[0], leaf.Raw) && time.Now().Before(leaf.NotAfter) {
			return nil
		}
	}
	return errors.New("the certificate is not one of this IngressController's routers")
}

// tls is the same for both sides.
func (c *Certificates) tls() *tls.Config {
	show := func() (*tls.Certificate, error) {
		if p := c.shown(time.Now()); p != nil {
			return p, nil
		}
		return nil, errNone
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return show() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return show() },
		// The certificate itself is compared, which is more than a name or an authority.
		InsecureSkipVerify: true, VerifyPeerCertificate: c.accept, SessionTicketsDisabled: true, //nolint:gosec // see accept
	}
}
