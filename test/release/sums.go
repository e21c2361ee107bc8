package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// sums writes SHA256SUMS, in the form that "sha256sum --check" reads, and returns it.
func (r *release) sums() ([]byte, error) {
	entries, err := os.ReadDir(r.to) // by name
	if err != nil {
		return nil, fmt.Errorf("sum the files: %w", err)
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.to, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("sum the files: %w", err)
		}
		fmt.Fprintf(&sums, "%s  %s\n", sumOf(content), entry.Name())
	}
	return sums.Bytes(), r.file("SHA256SUMS", sums.Bytes())
}

// sign writes the signature of the sums (RFC 8032, 64 bytes), and the public key.
func (r *release) sign(sums []byte) error {
	public, err := x509.MarshalPKIXPublicKey(r.key.Public())
	if err != nil {
		return fmt.Errorf("write the public key: %w", err)
	}
	if err := r.file("release.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})); err != nil {
		return err
	}
	return r.file("SHA256SUMS.sig", ed25519.Sign(r.key, sums))
}

// readKey reads what "openssl genpkey -algorithm ed25519" writes.
func readKey(text []byte) (ed25519.PrivateKey, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("want one block PRIVATE KEY (PKCS #8, PEM), as \"openssl genpkey -algorithm ed25519\" writes it")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the block PRIVATE KEY holds no key") // the library's error may quote parts of it
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key is a %T, want Ed25519", parsed)
	}
	return key, nil
}

// sumOf is the sum of a content, as SHA256SUMS has it.
func sumOf(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
