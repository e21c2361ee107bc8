// Package certfile gives the router its default certificate: from a file or
// directory that it watches, or self-signed where none is given.
package certfile

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
)

// pollInterval is how often the file is looked at. Secrets in pods change by a
// symlink swap, which every way of watching sees late or not at all, save this.
const pollInterval = 2 * time.Second

// Load reads a PEM file that holds chain and key, or a directory with tls.crt
// and tls.key as a mounted Secret has them.
func Load(path string) (*model.Certificate, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("default certificate: %w", err)
	}
	chainFile, keyFile := path, path
	if info.IsDir() {
		chainFile, keyFile = filepath.Join(path, "tls.crt"), filepath.Join(path, "tls.key")
	}
	chain, err := os.ReadFile(chainFile)
	if err != nil {
		return nil, fmt.Errorf("default certificate: %w", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("default certificate: %w", err)
	}
	cert, err := certificate.Default(string(chain), string(key))
	if err != nil {
		return nil, fmt.Errorf("default certificate %s: %w", path, err)
	}
	return cert, nil
}

// Watch sends the certificate whenever its file has changed to another valid
// one. A broken file is logged once and the certificate in use stays.
func Watch(ctx context.Context, path string, last *model.Certificate, log *slog.Logger) <-chan *model.Certificate {
	out := make(chan *model.Certificate)
	go func() {
		var complaint string
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pollInterval):
			}
			cert, err := Load(path)
			if err != nil {
				if complaint != err.Error() {
					complaint = err.Error()
					log.Error("cannot use the new default certificate, the old one stays", "err", err)
				}
				continue
			}
			complaint = ""
			if cert.ID == last.ID {
				continue
			}
			select {
			case out <- cert:
				last = cert
				log.Info("default certificate changed")
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// SelfSigned makes a certificate for every host of a domain, or for localhost.
func SelfSigned(domain string) (*model.Certificate, error) {
	name := "localhost"
	if domain != "" {
		name = "*." + domain
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a default certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make a default certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "fairlead router"}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a default certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a default certificate: %w", err)
	}
	return certificate.Default(
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
}

// SystemFile is where images of Fairlead, Debian and others have the authorities that they
// trust.
const SystemFile = "/etc/ssl/certs/ca-certificates.crt"

// System reads the authorities of the machine, nil if it has none.
func System(path string) (*model.CA, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the authorities that the machine trusts: %w", err)
	}
	ca, err := certificate.SystemCA(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the authorities that the machine trusts: %s: %w", path, err)
	}
	return ca, nil
}
