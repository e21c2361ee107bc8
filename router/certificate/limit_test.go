package certificate

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// fakeRSA is a public key of so many bits. Nobody has its other half, which
// would take minutes to make: what is refused must be so before that is read.
func fakeRSA(bits, exponent int) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: exponent}
}

// signed returns the PEM text of a certificate for a public key.
func signed(t *testing.T, public any, extra int) string {
	t.Helper()
	ca, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
	}
	for i := range extra {
		template.DNSNames = append(template.DNSNames, strings.Repeat("x", 60)+"."+string(rune('a'+i%26))+".test")
	}
	issuer := &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, public, ca)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func keyText(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestKeyLimits: what a certificate may cost in a handshake. One signature with
// an RSA key of 16384 bits takes a quarter of a second of HAProxy's thread.
func TestKeyLimits(t *testing.T) {
	t.Parallel()
	ec := func(c elliptic.Curve) *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	own := ec(elliptic.P256())
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good, p224, p521 := signed(t, own.Public(), 0), ec(elliptic.P224()), ec(elliptic.P521())
	for name, tt := range map[string]struct {
		chain, key, ca string
		bits           int
		want           string
	}{
		"P-256":                         {chain: good, key: keyText(t, own)},
		"P-521":                         {chain: signed(t, p521.Public(), 0), key: keyText(t, p521)},
		"Ed25519":                       {chain: signed(t, edwards.Public(), 0), key: keyText(t, edwards)},
		"P-224":                         {chain: signed(t, p224.Public(), 0), key: keyText(t, p224), want: "certificate 1 of the chain: its key is on the curve P-224; use P-256, P-384 or P-521"},
		"RSA 16384":                     {chain: signed(t, fakeRSA(16384, 65537), 0), key: keyText(t, own), want: "certificate 1 of the chain: its RSA key has 16384 bits; the most is 4096"},
		"RSA 16384 with all allowed":    {chain: signed(t, fakeRSA(16384, 65537), 0), key: keyText(t, own), bits: MaxRSABits, want: "the most is 8192"},
		"RSA 4104":                      {chain: signed(t, fakeRSA(4104, 65537), 0), key: keyText(t, own), want: "the most is 4096"},
		"RSA 4104 where it is allowed":  {chain: signed(t, fakeRSA(4104, 65537), 0), key: keyText(t, own), bits: MaxRSABits, want: "private key"},
		"RSA with a long exponent":      {chain: signed(t, fakeRSA(2048, 1<<33+1), 0), key: keyText(t, own), want: "exponent"},
		"RSA with an even exponent":     {chain: signed(t, fakeRSA(2048, 4), 0), key: keyText(t, own), want: "exponent"},
		"an authority may have 8192":    {chain: good + signed(t, fakeRSA(8192, 65537), 0), key: keyText(t, own)},
		"an authority of 16384":         {chain: good, ca: signed(t, fakeRSA(16384, 3), 0), key: keyText(t, own), want: "certificate 2 of the chain: its RSA key has 16384 bits; the most is 8192"},
		"a chain of ten":                {chain: strings.Repeat(good, 10), key: keyText(t, own)},
		"a chain of eleven":             {chain: strings.Repeat(good, 10), ca: good, key: keyText(t, own), want: "more than 10 certificates"},
		"a certificate with many names": {chain: signed(t, own.Public(), 1000), key: keyText(t, own), want: "bytes, and 65536 is the most"},
		"a key of 100 kB":               {chain: good, key: pemOf("PRIVATE KEY", 100000), want: "key: is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(model.Object{Kind: "Route", Namespace: "a", Name: "b"}, "h", Texts{tt.chain, tt.key, tt.ca}, tt.bits)
			if got := text(err); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func pemOf(kind string, n int) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: make([]byte, n)}))
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestBundleLimits: what a list of authorities may cost when HAProxy checks a
// pod by it.
func TestBundleLimits(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := signed(t, key.Public(), 0)
	for name, tt := range map[string]struct{ text, want string }{
		"as many as a system has":  {strings.Repeat(good, 150), ""},
		"257":                      {strings.Repeat(good, 257), "more than 256 certificates"},
		"large ones":               {strings.Repeat(signed(t, key.Public(), 1000), 6), "bytes, and 524288 is the most"},
		"RSA 16384":                {good + signed(t, fakeRSA(16384, 65537), 0), "certificate 2: its RSA key has 16384 bits; the most is 8192"},
		"RSA with a long exponent": {signed(t, fakeRSA(2048, 1<<33+1), 0), "certificate 1: the exponent"},
	} {
		if _, err := Bundle(model.Object{}, tt.text); (text(err) == "") != (tt.want == "") || !strings.Contains(text(err), tt.want) {
			t.Errorf("%s: %q, want %q", name, text(err), tt.want)
		}
	}
}
