package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// What a certificate may cost. HAProxy signs with the first key of a chain in
// every full TLS handshake, in a thread that serves all other routes meanwhile:
// 0.3 ms with RSA of 2048 bits, 3 ms with 4096, some 250 ms with 16384. It sends the
// whole chain each time. The other keys are only for checking, where a long one
// costs little and a long exponent much.
const (
	// MinRSABits is the shortest RSA key that TLS libraries still take.
	MinRSABits = 2048
	// MaxRSABits is what an administrator may allow, and what authorities may have.
	MaxRSABits = 8192
	// defaultMaxRSABits is the default of an IngressController.
	defaultMaxRSABits = 4096
	// maxExponent is that of Go's own RSA.
	maxExponent = math.MaxInt32
	// maxKeyBytes is far above what a key of MaxRSABits takes, as PEM text.
	maxKeyBytes = 16 << 10
	// maxChain and maxChainBytes bound what is sent to clients, maxBundle and
	// maxBundleBytes a list of authorities; that of a Linux system has 150.
	maxChain, maxChainBytes   = 10, 64 << 10
	maxBundle, maxBundleBytes = 256, 512 << 10
)

// curves are those of which a signature costs little and clients know.
var curves = []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}

// checkChain checks the certificates that clients are sent. The first one
// belongs to the key that HAProxy signs with.
func checkChain(certs []string, rsaBits int) error {
	if err := checkSize(certs, maxChain, maxChainBytes); err != nil {
		return fmt.Errorf("certificate: the chain has %w", err)
	}
	for i, text := range certs {
		if i > 0 {
			rsaBits = MaxRSABits
		}
		if err := checkText(text, rsaBits); err != nil {
			return fmt.Errorf("certificate %d of the chain: %w", i+1, err)
		}
	}
	return nil
}

// Fits refuses a certificate that HAProxy takes only from its files, where each
// change of it would be a reload. Zero is no limit.
func Fits(c *model.Certificate, most int) error {
	if most > 0 && len(c.PEM) > most {
		return fmt.Errorf("certificate: with its chain and its key it has %d bytes, and this version of HAProxy takes %d without a reload", len(c.PEM), most)
	}
	return nil
}

// checkBundle checks a list of authorities.
func checkBundle(certs []string) error {
	if err := checkSize(certs, maxBundle, maxBundleBytes); err != nil {
		return fmt.Errorf("has %w", err)
	}
	for i, text := range certs {
		if err := checkText(text, MaxRSABits); err != nil {
			return fmt.Errorf("certificate %d: %w", i+1, err)
		}
	}
	return nil
}

func checkSize(certs []string, most, mostBytes int) error {
	if len(certs) > most {
		return fmt.Errorf("more than %d certificates", most)
	}
	total := 0
	for _, c := range certs {
		total += len(c)
	}
	if total > mostBytes {
		return fmt.Errorf("%d bytes, and %d is the most", total, mostBytes)
	}
	return nil
}

// checkText checks one certificate, a PEM block.
func checkText(text string, rsaBits int) error {
	block, _ := pem.Decode([]byte(text))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "x509: "))
	}
	return Check(c, rsaBits)
}

// Check refuses a certificate whose key costs too much, with RSA keys
// of at most so many bits, and what HAProxy's TLS library would refuse: one such
// certificate in its files would keep HAProxy from starting, for all routes.
func Check(c *x509.Certificate, rsaBits int) error {
	if err := checkKey(c.PublicKey, rsaBits); err != nil {
		return err
	}
	if bytes.Equal(c.RawSubject, c.RawIssuer) {
		return nil // no client checks how a root has signed itself
	}
	switch c.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return fmt.Errorf("it is signed with %s, which is too weak", c.SignatureAlgorithm)
	default:
		return nil
	}
}

func checkKey(key any, rsaBits int) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		switch bits := key.N.BitLen(); {
		case bits < MinRSABits:
			return fmt.Errorf("its RSA key has %d bits and needs %d", bits, MinRSABits)
		case bits > rsaBits:
			return fmt.Errorf("its RSA key has %d bits; the most is %d", bits, rsaBits)
		case key.E < 3 || key.E > maxExponent || key.E%2 == 0:
			return fmt.Errorf("the exponent of its RSA key is not an odd number from 3 to %d", maxExponent)
		}
		return nil
	case *ecdsa.PublicKey:
		if !slices.Contains(curves, key.Curve) {
			return fmt.Errorf("its key is on the curve %s; use P-256, P-384 or P-521", key.Curve.Params().Name)
		}
		return nil
	case ed25519.PublicKey:
		return nil
	default:
		return errors.New("its key is neither RSA nor ECDSA nor Ed25519")
	}
}
