package rfc2136

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	mdns "github.com/miekg/dns"
)

// Key is a shared secret (RFC 8945).
type Key struct {
	// Name is the key's name on the server, with a dot at its end.
	Name string
	// Algorithm is such as "hmac-sha256.".
	Algorithm string
	// Secret is base64 text.
	Secret string
}

// ReadKey reads a key from a folder, such as a mounted Secret, with the files
// name, secret (base64) and, if it is not hmac-sha256, algorithm.
func ReadKey(dir string) (*Key, error) {
	read := func(file string) (string, error) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		return strings.TrimSpace(string(data)), err
	}
	name, err := read("name")
	if err != nil {
		return nil, fmt.Errorf("read the key's name: %w", err)
	}
	secret, err := read("secret")
	if err != nil {
		return nil, fmt.Errorf("read the key's secret: %w", err)
	}
	algorithm, err := read("algorithm")
	switch {
	case errors.Is(err, os.ErrNotExist):
		algorithm = "hmac-sha256"
	case err != nil:
		return nil, fmt.Errorf("read the key's algorithm: %w", err)
	}
	if _, err := base64.StdEncoding.DecodeString(secret); err != nil {
		return nil, fmt.Errorf("the file secret in %s is not base64: %w", dir, err)
	}
	k := &Key{Name: mdns.CanonicalName(name), Algorithm: mdns.CanonicalName(algorithm), Secret: secret}
	switch k.Algorithm {
	case mdns.HmacSHA1, mdns.HmacSHA224, mdns.HmacSHA256, mdns.HmacSHA384, mdns.HmacSHA512:
		return k, nil
	}
	return nil, fmt.Errorf("key algorithm %q is not one of hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512", algorithm)
}
