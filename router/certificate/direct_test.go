package certificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
)

// TestDirect: only authorities that are the end of their chain, and say that none is below them,
// have nothing but what they have signed themselves.
func TestDirect(t *testing.T) {
	t.Parallel()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	root, other := key(), key()
	text := func(length int, isCA bool, by *ecdsa.PrivateKey, issuer string) string {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
			IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLen: length, MaxPathLenZero: length == 0,
		}
		parent := *c
		parent.Subject.CommonName = issuer
		der, err := x509.CreateCertificate(rand.Reader, c, &parent, root.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	good := text(0, true, root, "ca")
	for name, test := range map[string]struct{ pem, want string }{
		"length 0":         {good, ""},
		"with a list":      {good + "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", ""},
		"no length":        {text(-1, true, root, "ca"), "path length"},
		"length 1":         {text(1, true, root, "ca"), "path length"},
		"no authority":     {text(-1, false, root, "ca"), "CN=ca"},
		"intermediate":     {text(0, true, other, "root"), "intermediate"},
		"of the same name": {text(0, true, other, "ca"), "intermediate"},
		"the second one":   {good + text(-1, true, root, "ca"), "path length"},
		"damaged":          {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "read the certificate"},
	} {
		err := certificate.Direct(&model.CA{PEM: test.pem})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
