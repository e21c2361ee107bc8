package rig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strconv"
	"sync/atomic"
	"time"
)

// Authority issues certificates. It may be used by several goroutines.
type Authority struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial atomic.Int64
}

// NewAuthority makes an authority for the life of a rig.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	a := &Authority{cert: cert, key: key}
	a.serial.Store(1)
	return a, nil
}

// PEM returns the authority's own certificate.
func (a *Authority) PEM() string {
	return block("CERTIFICATE", a.cert.Raw)
}

// Issue returns a new certificate for a host, its key and its serial number.
func (a *Authority) Issue(host string) (cert, key, serial string, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", "", fmt.Errorf("issue a certificate: %w", err)
	}
	number := a.serial.Add(1)
	cert, err = a.certify(host, number, &own.PublicKey)
	if err != nil {
		return "", "", "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return "", "", "", fmt.Errorf("issue a certificate: %w", err)
	}
	return cert, block("PRIVATE KEY", private), strconv.FormatInt(number, 10), nil
}

// Certify returns a certificate for a host and the owner of a key.
func (a *Authority) Certify(host string, key crypto.PublicKey) (string, error) {
	return a.certify(host, a.serial.Add(1), key)
}

func (a *Authority) certify(host string, number int64, key crypto.PublicKey) (string, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: host[:min(len(host), 64)]}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key, a.key)
	if err != nil {
		return "", fmt.Errorf("issue a certificate: %w", err)
	}
	return block("CERTIFICATE", der), nil
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
