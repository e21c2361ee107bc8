// Package certificate reads the PEM texts that users bring: chains with their
// keys, and bundles of authorities. It refuses what HAProxy would refuse, and what
// costs too much in every TLS handshake. It is pure.
package certificate

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Texts are PEM texts: a chain, its key and the CA certificates that complete it.
type Texts struct{ Chain, Key, CA string }

// Read checks PEM texts, and returns them as HAProxy loads them. RSA keys
// have at most rsaBits, or the default if that is zero. What is too large is
// refused before its key is read, which is slow as well. Errors never hold key
// material.
func Read(owner model.Object, host string, in Texts, rsaBits int) (*model.Certificate, error) {
	certs, keys, err := blocks(in.Chain, maxChain)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	_, ownKeys, err := blocks(in.Key, maxChain)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	caCerts, _, err := blocks(in.CA, maxChain)
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
	case in.CA != "" && len(caCerts) == 0:
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

// Copy returns a certificate that serves several hosts for one of them: each host's is there by
// itself.
func Copy(c *model.Certificate, host string) *model.Certificate {
	sum := sha256.Sum256([]byte(host))
	return &model.Certificate{ID: c.ID + "-" + hex.EncodeToString(sum[:6]), Chain: c.Chain, PEM: c.PEM}
}

// For returns a certificate that was read as that of a further host of its owner, and
// why clients refuse it there, if they do.
func For(c *model.Certificate, owner model.Object, host string) (*model.Certificate, error) {
	block, _ := pem.Decode([]byte(c.PEM))
	if block == nil {
		return nil, errors.New("no certificate found in the PEM text")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	if err := leaf.VerifyHostname(host); err != nil {
		return nil, err //nolint:wrapcheck // it names the certificate's hosts
	}
	return &model.Certificate{ID: contentID(owner, host, c.PEM), Chain: c.Chain, PEM: c.PEM}, nil
}

// Bundle checks a list of CA certificates.
func Bundle(owner model.Object, text string) (*model.CA, error) {
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
	return Bundle(model.Object{Namespace: "default", Name: "destination"}, text)
}

// mostSystem bounds the authorities of a machine; distributions have some 150.
const mostSystem = 1000

// SystemCA reads the authorities that a machine trusts, as distributions keep them. What the
// router cannot use, such as a key of another kind, is left out.
func SystemCA(text string) (*model.CA, error) {
	certs, _, err := blocks(text, mostSystem)
	if err != nil {
		return nil, err
	}
	certs = slices.DeleteFunc(certs, func(c string) bool { return checkText(c, MaxRSABits) != nil })
	if len(certs) == 0 {
		return nil, errors.New("no certificate found in the PEM text")
	}
	clean := strings.Join(certs, "")
	return &model.CA{ID: contentID(model.Object{Namespace: "default", Name: "system"}, "", clean), PEM: clean}, nil
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
func contentID(owner model.Object, host, text string) string {
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

// unused checks what has no effect without a certificate: as on OpenShift it must
// be right all the same.
func unused(in Texts) error {
	if _, keys, err := blocks(in.Key, maxChain); in.Key != "" && (err != nil || len(keys) == 0) {
		return errors.New("key: no private key found in the PEM text")
	}
	if certs, _, err := blocks(in.CA, maxChain); in.CA != "" && (err != nil || len(certs) == 0) {
		return errors.New("caCertificate: no certificate found in the PEM text")
	}
	return nil
}

// Default checks the router's own certificate, which answers for
// hosts without one and clients that name no host. It is an administrator's, who
// may choose an RSA key as long as is allowed at all.
func Default(chain, key string) (*model.Certificate, error) {
	return Read(model.Object{Namespace: "default", Name: "default"}, "*", Texts{Chain: chain, Key: key}, MaxRSABits)
}
