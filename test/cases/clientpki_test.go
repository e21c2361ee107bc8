package cases

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// client returns the certificate of a client: "NAME@CA", or "NAME@MIDDLE@CA" for one that
// an authority below another has signed, which is sent along. One whose name begins with
// "expired" has expired; a slash in the name begins the unit.
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
		name, unit, _ := strings.Cut(parts[i], "/")
		template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour)}
		if unit != "" {
			template.Subject.OrganizationalUnit = []string{unit}
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
