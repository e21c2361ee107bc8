package certfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
)

// Names of an authority's files in its folder.
const (
	AuthorityFile    = "ca.crt"
	authorityKeyFile = "ca.key"
	leafFile         = "default.pem"
)

// lifetime is that of an authority and its leaf; renewBefore is when the leaf is made
// again at a start.
const (
	lifetime    = 825 * 24 * time.Hour // what browsers take
	renewBefore = 30 * 24 * time.Hour
)

// Authority returns the certificate for all hosts of a domain, signed by an authority of
// its own, so that clients need to trust one file (AuthorityFile). Both are made in the
// folder if they are not there, are for another domain or about to expire. Only the user
// can read the files.
func Authority(dir, domain string, now time.Time) (*model.Certificate, error) {
	names := []string{"localhost"}
	if domain != "" {
		names = []string{"*." + domain, domain}
	}
	if cert, err := usableLeaf(dir, names, now); err == nil {
		return cert, nil
	}
	ca, caKey, err := authority(dir, now)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	leaf := &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	chain, key, _, err := sign(leaf, ca, caKey, now)
	if err != nil {
		return nil, fmt.Errorf("make a default certificate: %w", err)
	}
	if err := write(filepath.Join(dir, leafFile), append(slices.Clone(chain), key...)); err != nil {
		return nil, err
	}
	return certificate.Default(string(chain), string(key))
}

// usableLeaf returns the leaf in the folder if it is good for the names.
func usableLeaf(dir string, names []string, now time.Time) (*model.Certificate, error) {
	path := filepath.Join(dir, leafFile)
	pair, err := tls.LoadX509KeyPair(path, path)
	if err != nil {
		return nil, err
	}
	ca, _, err := readAuthority(dir)
	if err != nil {
		return nil, err
	}
	leaf := pair.Leaf
	if !slices.Equal(leaf.DNSNames, names) || now.Add(renewBefore).After(leaf.NotAfter) || leaf.CheckSignatureFrom(ca) != nil {
		return nil, errors.New("it is for others")
	}
	return Load(path)
}

// authority reads the authority of the folder, or makes one.
func authority(dir string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	if ca, key, err := readAuthority(dir); err == nil && now.Add(renewBefore).Before(ca.NotAfter) {
		return ca, key, nil
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Fairlead on this machine"}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	chain, keyPEM, key, err := sign(template, nil, nil, now)
	if err != nil {
		return nil, nil, err
	}
	if err := write(filepath.Join(dir, authorityKeyFile), keyPEM); err != nil {
		return nil, nil, err
	}
	if err := write(filepath.Join(dir, AuthorityFile), chain); err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(chain)
	ca, err := x509.ParseCertificate(block.Bytes)
	return ca, key, err
}

func readAuthority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, AuthorityFile), filepath.Join(dir, authorityKeyFile))
	if err != nil {
		return nil, nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, nil, errors.New("no authority of ours")
	}
	return pair.Leaf, key, nil
}

// sign makes a certificate; without an authority it signs itself.
func sign(template, ca *x509.Certificate, caKey *ecdsa.PrivateKey, now time.Time) (chain, keyPEM []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, nil, err
	}
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(lifetime)
	if ca == nil {
		ca, caKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), key, nil
}

// write replaces a file that only the user can read.
func write(path string, text []byte) error {
	fresh := path + ".new"
	_ = os.Remove(fresh)
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
