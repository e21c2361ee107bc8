package ingest

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
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

// pemTexts are a chain, its key and the CA certificates that complete it.
type pemTexts struct{ chain, key, ca string }

// certificate checks PEM texts, and returns them as HAProxy loads them. RSA keys
// have at most rsaBits, or the default if that is zero. What is too large is
// refused before its key is read, which is slow as well. Errors never hold key
// material.
func certificate(owner model.Key, host string, in pemTexts, rsaBits int) (*model.Certificate, error) {
	certs, keys, err := blocks(in.chain, maxChain)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	_, ownKeys, err := blocks(in.key, maxChain)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	caCerts, _, err := blocks(in.ca, maxChain)
	if err != nil {
		return nil, fmt.Errorf("caCertificate: %w", err)
	}
	keys = append(ownKeys, keys...)
	switch {
	case len(certs) == 0:
		return nil, errors.New("certificate: no certificate found in the PEM text")
	case len(keys) == 0:
		return nil, errors.New("key: no key specified")
	case len(keys[0]) > maxKeyBytes:
		return nil, errors.New("key: is too long")
	case in.ca != "" && len(caCerts) == 0:
		return nil, errors.New("caCertificate: no certificate found in the PEM text")
	}
	all := slices.Concat(certs, caCerts)
	if err := checkChain(all, cmp.Or(rsaBits, defaultMaxRSABits)); err != nil {
		return nil, err
	}
	if _, err := tls.X509KeyPair([]byte(strings.Join(all, "")), []byte(keys[0])); err != nil {
		return nil, fmt.Errorf("certificate and key: %s", strings.TrimPrefix(err.Error(), "tls: "))
	}
	text := strings.Join(all, "") + keys[0]
	sum := sha256.Sum256([]byte(strings.Join(all, "")))
	return &model.Certificate{ID: contentID(owner, host, text), Chain: hex.EncodeToString(sum[:12]), PEM: text}, nil
}

// bundle checks a list of CA certificates.
func bundle(owner model.Key, text string) (*model.CA, error) {
	certs, _, err := blocks(text, maxBundle)
	if err != nil {
		return nil, err
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate found in the PEM text")
	}
	if err := checkBundle(certs); err != nil {
		return nil, err
	}
	clean := strings.Join(certs, "")
	return &model.CA{ID: contentID(owner, "", clean), PEM: clean}, nil
}

// DestinationCA checks the router's own CA bundle for pods.
func DestinationCA(text string) (*model.CA, error) {
	return bundle(model.Key{Namespace: "default", Name: "destination"}, text)
}

// blocks splits PEM text into certificates and private keys, re-encoded so
// that nothing but them remains. Text around the blocks is dropped, and nothing is
// read after the first block beyond most.
func blocks(text string, most int) (certs, keys []string, err error) {
	rest := []byte(text)
	for len(certs)+len(keys) <= most {
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
func (b *builder) routeCertificate(owner model.Key, host string, t *routev1.TLSConfig) (*model.Certificate, model.Key, error) {
	if t.ExternalCertificate == nil || t.ExternalCertificate.Name == "" {
		if t.Certificate == "" {
			return nil, model.Key{}, b.material.withoutCertificate(t)
		}
		cert, err := b.material.certificate(owner, host, pemTexts{t.Certificate, t.Key, t.CACertificate}, b.settings.MaxRSABits)
		cert, err = fitting(cert, err, b.settings.MaxCertificateBytes)
		return cert, model.Key{}, err
	}
	name := model.Key{Namespace: owner.Namespace, Name: t.ExternalCertificate.Name}
	secret, err := b.src.Secret(name)
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
	cert, err := b.material.certificate(owner, host,
		pemTexts{string(secret.Data[corev1.TLSCertKey]), string(secret.Data[corev1.TLSPrivateKeyKey]), t.CACertificate}, b.settings.MaxRSABits)
	cert, err = fitting(cert, err, b.settings.MaxCertificateBytes)
	return cert, name, err
}

// withoutCertificate checks what has no effect without a certificate: as on
// OpenShift it must be right all the same.
func (m *Material) withoutCertificate(t *routev1.TLSConfig) error {
	if t.Key == "" && t.CACertificate == "" {
		return nil
	}
	return m.get(texts{kind: "unused", pem: pemTexts{key: t.Key, ca: t.CACertificate}}, func() kept { return kept{err: checkUnused(t)} }).err
}

func checkUnused(t *routev1.TLSConfig) error {
	if _, keys, err := blocks(t.Key, maxChain); t.Key != "" && (err != nil || len(keys) == 0) {
		return errors.New("key: no private key found in the PEM text")
	}
	if certs, _, err := blocks(t.CACertificate, maxChain); t.CACertificate != "" && (err != nil || len(certs) == 0) {
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
// hosts without one and clients that name no host. It is an administrator's, who
// may choose an RSA key as long as is allowed at all.
func DefaultCertificate(chain, key string) (*model.Certificate, error) {
	return certificate(model.Key{Namespace: "default", Name: "default"}, "*", pemTexts{chain: chain, key: key}, MaxRSABits)
}
