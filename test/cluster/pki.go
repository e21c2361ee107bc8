package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateAge is long enough for a cluster that was not stopped.
const certificateAge = 365 * 24 * time.Hour

// authority signs the certificates of one cluster and writes them into its folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// newAuthority makes ca.crt, ca.key and the service account keys sa.key, sa.pub in dir.
func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the certificate folder: %w", err)
	}
	a := &authority{dir: dir}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the CA key: %w", err)
	}
	template, err := newTemplate(pkix.Name{CommonName: "fairlead test cluster"})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the CA: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("read the CA back: %w", err)
	}
	a.key = key
	if err := a.write("ca", der, key); err != nil {
		return nil, err
	}
	return a, a.serviceAccountKeys()
}

func (a *authority) serviceAccountKeys() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	if err := a.writePEM("sa.pub", "PUBLIC KEY", public); err != nil {
		return err
	}
	return a.writePEM("sa.key", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
}

// identity is a name in a certificate and, for servers, where it is reached.
type identity struct {
	file      string
	name      string
	group     string
	dns       []string
	addresses []net.IP
}

// issue writes FILE.crt and FILE.key, good for both ends of a connection.
func (a *authority) issue(id identity) error {
	subject := pkix.Name{CommonName: id.name}
	if id.group != "" {
		subject.Organization = []string{id.group}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key of %s: %w", id.file, err)
	}
	template, err := newTemplate(subject)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames, template.IPAddresses = id.dns, id.addresses
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign %s: %w", id.file, err)
	}
	return a.write(id.file, der, key)
}

// kubeconfig issues a client certificate and writes DIR/FILE.conf that uses it.
func (a *authority) kubeconfig(id identity, server, dir string) error {
	if err := a.issue(id); err != nil {
		return err
	}
	path := filepath.Join(dir, id.file+".conf")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: cluster
  cluster: {server: %q, certificate-authority: %q}
users:
- name: user
  user: {client-certificate: %q, client-key: %q}
contexts:
- name: context
  context: {cluster: cluster, user: user}
current-context: context
`, server, a.path("ca.crt"), a.path(id.file+".crt"), a.path(id.file+".key"))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", id.file, err)
	}
	return nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateAge),
	}, nil
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", name, err)
	}
	if err := a.writePEM(name+".key", "EC PRIVATE KEY", encoded); err != nil {
		return err
	}
	return a.writePEM(name+".crt", "CERTIFICATE", der)
}

func (a *authority) writePEM(name, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(a.path(name), text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
