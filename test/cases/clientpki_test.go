package cases

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

// client returns the certificate of a client: "NAME@CA", or "NAME@MIDDLE@CA" for one that
// an authority below another has signed, which is sent along. One whose name begins with
// "expired" has expired; a slash in the name begins the unit, or several of one part, a tilde alternative names.
func (a *authority) client(words string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.issued["client "+words]; p != nil {
		return &p.servable, nil
	}
	parts := strings.Split(words, "@")
	parent := a.cas[parts[len(parts)-1]]
	if parent == nil || len(parts) < 2 {
		return nil, fmt.Errorf("%q names no authority of a client that the case has", words)
	}
	var chain [][]byte
	signer := tls.Certificate{Certificate: [][]byte{parent.cert.Raw}, PrivateKey: parent.key, Leaf: parent.cert}
	for i := len(parts) - 2; i >= 0; i-- {
		whole, alternatives, _ := strings.Cut(parts[i], "~")
		name, unit, _ := strings.Cut(whole, "/")
		template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour)}
		if unit != "" {
			template.Subject.OrganizationalUnit = strings.Split(unit, "/")
		}
		if err := alternativeNames(template, alternatives); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "expired") {
			template.NotAfter = time.Now().Add(-time.Hour)
		}
		template.ExtKeyUsage, template.KeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, x509.KeyUsageDigitalSignature
		if i > 0 {
			template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		}
		own, err := sign(template, signer)
		if err != nil {
			return nil, err
		}
		chain = append([][]byte{own.Certificate[0]}, chain...)
		signer = *own
	}
	p := &keyPair{cert: signer.Leaf, servable: tls.Certificate{Certificate: chain, PrivateKey: signer.PrivateKey, Leaf: signer.Leaf}}
	a.issued["client "+words] = p
	return &p.servable, nil
}

func sign(template *x509.Certificate, by tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100)); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.Leaf, key.Public(), by.PrivateKey)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// alternativeNames adds names to a certificate: "KIND:VALUE" with tildes between them.
func alternativeNames(c *x509.Certificate, text string) error {
	if text == "" {
		return nil
	}
	for name := range strings.SplitSeq(text, "~") {
		kind, value, _ := strings.Cut(name, ":")
		switch kind {
		case "dns":
			c.DNSNames = append(c.DNSNames, value)
		case "email":
			c.EmailAddresses = append(c.EmailAddresses, value)
		case "ip":
			c.IPAddresses = append(c.IPAddresses, net.ParseIP(value))
		case "uri":
			u, err := url.Parse(value)
			if err != nil {
				return err
			}
			c.URIs = append(c.URIs, u)
		default:
			return fmt.Errorf("%q is no kind of a name", kind)
		}
	}
	return nil
}

// revocations is the list of an authority, with the certificates of some of its clients, and
// when it ends.
func (a *authority) revocations(t testing.TB, words string, ends time.Time) string {
	t.Helper()
	name, clients, _ := strings.Cut(words, " ")
	ca := a.ca(t, name)
	list := &x509.RevocationList{Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: ends.Add(-24 * time.Hour), NextUpdate: ends}
	for client := range strings.FieldsSeq(clients) {
		c, err := a.client(client)
		if err != nil {
			t.Fatal(err)
		}
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: c.Leaf.SerialNumber, RevocationTime: list.ThisUpdate})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, ca.cert, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}
