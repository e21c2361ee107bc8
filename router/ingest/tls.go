package ingest

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/model"
)

// certificate checks a chain, its key and the CA certificates that complete
// it, and returns them as HAProxy loads them. Errors never hold key material.
func certificate(owner model.Key, host, chain, key, ca string) (*model.Certificate, error) {
	certs, keys, err := blocks(chain)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	_, ownKeys, err := blocks(key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	caCerts, _, err := blocks(ca)
	if err != nil {
		return nil, fmt.Errorf("caCertificate: %w", err)
	}
	keys = append(ownKeys, keys...)
	switch {
	case len(certs) == 0:
		return nil, errors.New("certificate: no certificate found in the PEM text")
	case len(keys) == 0:
		return nil, errors.New("key: no key specified")
	case ca != "" && len(caCerts) == 0:
		return nil, errors.New("caCertificate: no certificate found in the PEM text")
	}
	all := slices.Concat(certs, caCerts)
	pair, err := tls.X509KeyPair([]byte(strings.Join(all, "")), []byte(keys[0]))
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %s", strings.TrimPrefix(err.Error(), "tls: "))
	}
	for i, der := range pair.Certificate {
		if err := checkCertificate(der); err != nil {
			return nil, fmt.Errorf("certificate %d of the chain: %w", i+1, err)
		}
	}
	text := strings.Join(all, "") + keys[0]
	sum := sha256.Sum256([]byte(strings.Join(all, "")))
	return &model.Certificate{ID: contentID(owner, host, text), Chain: hex.EncodeToString(sum[:12]), PEM: text}, nil
}

// minRSABits is the shortest RSA key that TLS libraries still take.
const minRSABits = 2048

// checkCertificate refuses what HAProxy's TLS library would refuse: one such
// certificate in its files would keep HAProxy from starting, for all routes.
func checkCertificate(der []byte) error {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "x509: "))
	}
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < minRSABits {
		return fmt.Errorf("its RSA key has %d bits and needs %d", key.N.BitLen(), minRSABits)
	}
	if bytes.Equal(c.RawSubject, c.RawIssuer) {
		return nil // nobody checks how a root has signed itself
	}
	switch c.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return fmt.Errorf("it is signed with %s, which is too weak", c.SignatureAlgorithm)
	default:
		return nil
	}
}

// bundle checks a list of CA certificates.
func bundle(owner model.Key, text string) (*model.CA, error) {
	certs, _, err := blocks(text)
	if err != nil {
		return nil, err
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate found in the PEM text")
	}
	for i, c := range certs {
		block, _ := pem.Decode([]byte(c))
		if err := checkCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("certificate %d: %w", i+1, err)
		}
	}
	clean := strings.Join(certs, "")
	return &model.CA{ID: contentID(owner, "", clean), PEM: clean}, nil
}

// DestinationCA checks the router's own CA bundle for pods.
func DestinationCA(text string) (*model.CA, error) {
	return bundle(model.Key{Namespace: "default", Name: "destination"}, text)
}

// blocks splits PEM text into certificates and private keys, re-encoded so
// that nothing but them remains. Text around the blocks is dropped.
func blocks(text string) (certs, keys []string, err error) {
	rest := []byte(text)
	for {
		var b *pem.Block
		b, rest = pem.Decode(rest)
		if b == nil {
			break
		}
		b.Headers = nil
		switch b.Type {
		case "CERTIFICATE":
			certs = append(certs, string(pem.EncodeToMemory(b)))
		case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY":
			keys = append(keys, string(pem.EncodeToMemory(b)))
		case "PUBLIC KEY", "RSA PUBLIC KEY", "EC PARAMETERS":
		default:
			return nil, nil, fmt.Errorf("unrecognized PEM block %q", b.Type)
		}
	}
	if len(certs) == 0 && len(keys) == 0 && strings.TrimSpace(text) != "" {
		return nil, nil, errors.New("not PEM text")
	}
	return certs, keys, nil
}

// contentID is unique per owner, host and content. The host is part of it, so
// that a moved certificate is a new one and each has one crt-list line.
func contentID(owner model.Key, host, text string) string {
	sum := sha256.Sum256([]byte(host + "\x00" + text))
	name := owner.Name
	if len(owner.Namespace)+len(name) > maxFileName {
		long := sha256.Sum256([]byte(name))
		name = model.LongName + hex.EncodeToString(long[:8])
	}
	return owner.Namespace + ":" + name + ":" + hex.EncodeToString(sum[:6])
}

// maxFileName leaves room for a hash and an ending below the 255 bytes of a
// file's name.
const maxFileName = 200

// routeCertificate returns the certificate that a route brings, or nil.
func routeCertificate(owner model.Key, host string, t *routev1.TLSConfig, src Source) (*model.Certificate, model.Key, error) {
	if t.ExternalCertificate == nil || t.ExternalCertificate.Name == "" {
		if t.Certificate == "" {
			return nil, model.Key{}, withoutCertificate(t)
		}
		cert, err := certificate(owner, host, t.Certificate, t.Key, t.CACertificate)
		return cert, model.Key{}, err
	}
	name := model.Key{Namespace: owner.Namespace, Name: t.ExternalCertificate.Name}
	secret, err := src.Secret(name)
	if err != nil {
		var p interface{ Pending() bool }
		return nil, name, &externalError{err.Error(), errors.As(err, &p) && p.Pending()}
	}
	if secret == nil {
		return nil, name, &externalError{message: fmt.Sprintf("secret %q not found", name.Name)}
	}
	if secret.Type != corev1.SecretTypeTLS {
		return nil, name, &externalError{message: fmt.Sprintf("secret %q must be of type %s, it is %s", name.Name, corev1.SecretTypeTLS, secret.Type)}
	}
	cert, err := certificate(owner, host, string(secret.Data[corev1.TLSCertKey]), string(secret.Data[corev1.TLSPrivateKeyKey]), t.CACertificate)
	return cert, name, err
}

// withoutCertificate checks what has no effect without a certificate: as on
// OpenShift it must be right all the same.
func withoutCertificate(t *routev1.TLSConfig) error {
	if _, keys, err := blocks(t.Key); t.Key != "" && (err != nil || len(keys) == 0) {
		return errors.New("key: no private key found in the PEM text")
	}
	if certs, _, err := blocks(t.CACertificate); t.CACertificate != "" && (err != nil || len(certs) == 0) {
		return errors.New("caCertificate: no certificate found in the PEM text")
	}
	return nil
}

// externalError is a Secret that cannot be used, as opposed to its content.
type externalError struct {
	message string
	// pending is true while the Secret is still being fetched.
	pending bool
}

func (e *externalError) Error() string { return e.message }

// DefaultCertificate checks the router's own certificate, which answers for
// hosts without one and clients that name no host.
func DefaultCertificate(chain, key string) (*model.Certificate, error) {
	return certificate(model.Key{Namespace: "default", Name: "default"}, "*", chain, key, "")
}
