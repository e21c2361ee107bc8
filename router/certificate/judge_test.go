package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// issued is a certificate with its key.
type issued struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// issue makes a certificate; a nil issuer makes it a root.
func issue(t *testing.T, name string, by *issued, change func(*x509.Certificate)) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: judged.AddDate(0, -1, 0), NotAfter: judged.AddDate(0, 2, 0),
	}
	change(c)
	if by == nil {
		by = &issued{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.Certificate, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{parsed, key}
}

var judged = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestJudge(t *testing.T) {
	t.Parallel()
	authority := func(c *x509.Certificate) { c.IsCA = true }
	published := func(c *x509.Certificate) {
		c.DNSNames, c.IssuingCertificateURL = []string{"www.example.com"}, []string{"http://ca.example.com/"}
	}
	until := func(d time.Duration) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.DNSNames, c.NotAfter = []string{"www.example.com", "*.apps.example.com"}, judged.Add(d)
		}
	}
	root := issue(t, "root", nil, authority)
	middle := issue(t, "middle", root, authority)
	old := issue(t, "old", root, func(c *x509.Certificate) { authority(c); c.NotAfter = judged.Add(-time.Hour) })
	good, bare := issue(t, "leaf", middle, published), issue(t, "leaf", middle, func(*x509.Certificate) {})
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		chain []*issued
		host  string
		soon  time.Duration
		want  []Fault
	}{
		"whole":                   {[]*issued{good, middle}, "www.example.com", 0, nil},
		"with its root":           {[]*issued{good, middle, root}, "", 0, nil},
		"alone":                   {[]*issued{good}, "www.example.com", 0, []Fault{ChainIncomplete}},
		"alone, by a private CA":  {[]*issued{issue(t, "leaf", root, until(60*day))}, "www.example.com", 0, nil},
		"out of order":            {[]*issued{good, root, middle}, "www.example.com", 0, []Fault{ChainOutOfOrder}},
		"another host":            {[]*issued{good, middle}, "shop.example.com", 0, []Fault{NotCovering}},
		"a wildcard host":         {[]*issued{issue(t, "leaf", root, until(60*day))}, "*.apps.example.com", 0, nil},
		"a wildcard it is not":    {[]*issued{good, middle}, "*.example.com", 0, []Fault{NotCovering}},
		"without names":           {[]*issued{bare, middle}, "www.example.com", 0, []Fault{WithoutNames}},
		"over, and another host":  {[]*issued{issue(t, "leaf", root, until(-time.Second))}, "x.example.com", 0, []Fault{Expired, NotCovering}},
		"an issuer is over":       {[]*issued{issue(t, "leaf", old, until(60*day)), old}, "www.example.com", 0, []Fault{Expired}},
		"to come":                 {[]*issued{issue(t, "leaf", root, func(c *x509.Certificate) { published(c); c.NotBefore = judged.Add(day) }), root}, "", 0, []Fault{NotYetValid}},
		"soon":                    {[]*issued{issue(t, "leaf", root, until(10*day))}, "", 0, []Fault{EndsSoon}},
		"later than a third":      {[]*issued{issue(t, "leaf", root, until(20*day))}, "", 0, nil},
		"soon, as the user means": {[]*issued{issue(t, "leaf", root, until(20*day))}, "", 30 * day, []Fault{EndsSoon}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var chain []*x509.Certificate
			for _, c := range tt.chain {
				chain = append(chain, c.Certificate)
			}
			var got []Fault
			for _, p := range Judge(chain, tt.host, judged, tt.soon) {
				got = append(got, p.Fault)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestParse: what is no certificate is passed over, what is a bad one spoils the text.
func TestParse(t *testing.T) {
	t.Parallel()
	root := issue(t, "root", nil, func(*x509.Certificate) {})
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}))
	other := "-----BEGIN EC PARAMETERS-----\nAAAA\n-----END EC PARAMETERS-----\n"
	bad := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"nothing": {"", 0}, "one": {text, 1}, "beside another block": {other + text + "x", 1}, "a bad one": {text + bad, 0},
	} {
		if got := len(Parse(tt.text)); got != tt.want {
			t.Errorf("%s: %d certificates, want %d", name, got, tt.want)
		}
	}
	var many string
	for range 100 {
		many += text
	}
	if got := len(Parse(many)); got != maxParsed {
		t.Errorf("%d of many", got)
	}
}
