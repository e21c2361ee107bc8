package certificate

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

	"github.com/fairlead/fairlead/router/model"
)

// listTime is when the test takes place: no clock is asked for what a list says.
var listTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// listIssuer makes revocation lists.
type listIssuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newListIssuer(t *testing.T, name string, usage x509.KeyUsage) listIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: usage, NotAfter: listTime.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return listIssuer{cert: c, key: key, pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func (i listIssuer) list(t *testing.T, entries int, ends time.Time) string {
	t.Helper()
	issuer := *i.cert
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	l := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: ends.Add(-time.Hour), NextUpdate: ends}
	for n := range entries {
		l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(int64(n) + 1<<40), RevocationTime: l.ThisUpdate})
	}
	der, err := x509.CreateRevocationList(rand.Reader, l, &issuer, i.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: listType, Bytes: der}))
}

func TestRevocableBundle(t *testing.T) {
	t.Parallel()
	const both = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	a, b, again, mute := newListIssuer(t, "a", both), newListIssuer(t, "b", both), newListIssuer(t, "a", both), newListIssuer(t, "mute", x509.KeyUsageCertSign)
	soon := listTime.Add(time.Hour)
	later := soon.Add(time.Hour)
	for name, tt := range map[string]struct {
		authorities, lists string
		most               int
		problem            string
		without            string
		ends               time.Time
	}{
		"one":          {authorities: a.pem, lists: a.list(t, 1, soon), ends: soon},
		"the first":    {authorities: a.pem + b.pem, lists: a.list(t, 0, later) + b.list(t, 0, soon), ends: soon},
		"none of b":    {authorities: a.pem + b.pem, lists: a.list(t, 0, soon), without: "CN=b", ends: soon},
		"of a middle":  {authorities: a.pem, lists: a.list(t, 0, later) + b.list(t, 0, soon), ends: soon},
		"another key":  {authorities: a.pem, lists: again.list(t, 0, soon), problem: "CN=a that it did not sign"},
		"the same key": {authorities: again.pem + a.pem, lists: a.list(t, 0, soon), ends: soon},
		"no right":     {authorities: mute.pem, lists: mute.list(t, 0, soon), problem: "may not sign"},
		"empty":        {authorities: a.pem, lists: "\n", problem: "no revocation list"},
		"junk":         {authorities: a.pem, lists: "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", problem: "cannot be read"},
		"a key":        {authorities: a.pem, lists: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", problem: "no revocation list"},
		"long":         {authorities: a.pem, lists: a.list(t, 1000, soon), most: 15 << 10, problem: "takes 15360 without a reload"},
		"many":         {authorities: a.pem, lists: strings.Repeat(a.list(t, 0, soon), maxLists+1), problem: "more than 64"},
		"large":        {authorities: a.pem, lists: strings.Repeat(a.list(t, 3000, soon), 10), problem: "more than 524288 bytes"},
		"no authority": {authorities: "x", lists: a.list(t, 0, soon), problem: "not PEM text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca, about, err := RevocableBundle(model.Object{Namespace: "n", Name: "r"}, tt.authorities, tt.lists, tt.most)
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("%v, want %q", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(ca.ID, model.RevocableSuffix) || len(about.Ends) == 0 || !about.Ends[0].At.Equal(tt.ends) || strings.Join(about.Without, " ") != tt.without {
				t.Errorf("%s %+v", ca.ID, about)
			}
		})
	}
}

// FuzzLists: only revocation lists survive, re-encoded.
func FuzzLists(f *testing.F) {
	f.Add("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n")
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f", "\n\n"} {
		f.Add("-----BEGIN X509 CRL-----" + s + "MIAA\n" + s + "\n-----END X509 CRL-----" + s + "show info")
	}
	f.Fuzz(func(t *testing.T, text string) {
		texts, lists, err := parseLists(text, 0)
		if err == nil && (len(texts) != len(lists) || len(lists) == 0) {
			t.Fatalf("%d texts, %d lists", len(texts), len(lists))
		}
		for _, one := range texts {
			if strings.Contains(one, "\n\n") || !strings.HasPrefix(one, "-----BEGIN X509 CRL-----\n") || !strings.HasSuffix(one, "-----\n") {
				t.Fatalf("list %q", one)
			}
		}
	})
}
