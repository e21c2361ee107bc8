package cases

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority issues the certificates that cases name. Equal names give equal
// certificates during one run.
type authority struct {
	mu     sync.Mutex
	cas    map[string]*keyPair
	issued map[string]*keyPair
}

type keyPair struct {
	cert     *x509.Certificate
	key      crypto.Signer
	certPEM  string
	keyPEM   string
	servable tls.Certificate
}

func newAuthority() *authority {
	return &authority{cas: map[string]*keyPair{}, issued: map[string]*keyPair{}}
}

// pki is shared by all tests of one run: certificates are values.
var pki = sync.OnceValue(newAuthority)

func makePair(t testing.TB, template *x509.Certificate, parent *keyPair, key crypto.Signer) *keyPair {
	t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = serial
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	}
	issuer, signer := template, key
	if parent != nil {
		issuer, signer = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := &keyPair{
		cert: cert, key: key,
		certPEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		keyPEM:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}
	if p.servable, err = tls.X509KeyPair([]byte(p.certPEM), []byte(p.keyPEM)); err != nil {
		t.Fatal(err)
	}
	return p
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// ca returns an authority by name.
func (a *authority) ca(t testing.TB, name string) *keyPair {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.cas[name]; p != nil {
		return p
	}
	p := makePair(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil, newKey(t))
	a.cas[name] = p
	return p
}

// leaf returns a certificate whose common name is the given one. What is before
// a slash says what kind of certificate it is.
func (a *authority) leaf(t testing.TB, name string) *keyPair {
	t.Helper()
	ca := a.ca(t, "ca")
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.issued[name]; p != nil {
		return p
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{"any.test", "named.rs.svc", "cart.demo.svc"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	var key crypto.Signer
	var err error
	switch kind, _, _ := strings.Cut(name, "/"); kind {
	case "www": // for two names
		template.DNSNames = []string{"both.ww.test", "www.both.ww.test"}
	case "weak": // too short for TLS of today
		key, err = rsa.GenerateKey(rand.Reader, 1024)
	case "rsa":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "long": // longer than routes may have; to make one takes seconds
		key = storedKey(t, "testdata/keys/rsa4608.pem")
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "p521":
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "expired":
		template.NotBefore, template.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	case "future":
		template.NotBefore, template.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	case "sha1":
		template.SignatureAlgorithm = x509.ECDSAWithSHA1
	}
	if err != nil {
		t.Fatal(err)
	}
	if key == nil {
		key = newKey(t)
	}
	p := makePair(t, template, ca, key)
	a.issued[name] = p
	return p
}

func storedKey(t testing.TB, file string) crypto.Signer {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// pem joins blocks: "cert:NAME", "key:NAME", "ca:NAME", "old:NAME" for a key in
// the form of its kind, "text" and "other" for blocks of other kinds.
func (a *authority) pem(t testing.TB, words string) string {
	t.Helper()
	var b strings.Builder
	for w := range strings.FieldsSeq(words) {
		kind, name, _ := strings.Cut(w, ":")
		switch kind {
		case "cert":
			b.WriteString(a.leaf(t, name).certPEM)
		case "key":
			b.WriteString(a.leaf(t, name).keyPEM)
		case "ca":
			b.WriteString(a.ca(t, name).certPEM)
		case "old":
			b.WriteString(oldForm(t, a.leaf(t, name).key))
		case "text":
			b.WriteString("Bag Attributes\n  friendlyName: example\n")
		case "other":
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: []byte("no list")}))
		default:
			t.Fatalf("unknown block %q", w)
		}
	}
	return b.String()
}

// oldForm writes a key as OpenSSL did before PKCS 8: RFC 8017 or RFC 5915, the
// latter after the block of its parameters.
func oldForm(t testing.TB, key crypto.Signer) string {
	t.Helper()
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}))
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}})) +
			string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	}
	t.Fatalf("a %T has no old form", key)
	return ""
}

// expand replaces "${cert NAME}", "${key NAME}", "${ca NAME}" and "${crl CA CLIENT…}" in YAML by
// quoted PEM text, "${pem …}" by several blocks, and "${base64 cert NAME}" alike
// for Secrets.
func (a *authority) expand(t testing.TB, text string) string {
	t.Helper()
	for {
		before, rest, ok := strings.Cut(text, "${")
		if !ok {
			return text
		}
		what, after, ok := strings.Cut(rest, "}")
		if !ok {
			t.Fatalf("no } after ${%s", rest)
		}
		kind, name, _ := strings.Cut(what, " ")
		base64ed := kind == "base64"
		if base64ed {
			kind, name, _ = strings.Cut(name, " ")
		}
		var value string
		switch kind {
		case "cert":
			value = a.leaf(t, name).certPEM
		case "key":
			value = a.leaf(t, name).keyPEM
		case "ca":
			value = a.ca(t, name).certPEM
		case "crl":
			value = a.revocations(t, name, time.Now().Add(time.Hour))
		case "crl-ended":
			value = a.revocations(t, name, time.Now().Add(-time.Minute))
		case "pem":
			value = a.pem(t, name)
		case "repeat": // "${repeat 100 x}"
			var n int
			var s string
			if _, err := fmt.Sscan(name, &n, &s); err != nil {
				t.Fatalf("${%s}: %v", what, err)
			}
			text = before + strings.Repeat(s, n) + after
			continue
		default:
			t.Fatalf("unknown ${%s}", what)
		}
		if base64ed {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		text = before + fmt.Sprintf("%q", value) + after
	}
}
