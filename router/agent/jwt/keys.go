package jwt

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of a set of keys.
const (
	MaxKeySet = 64 << 10
	MaxKeys   = 50
	// minRSA is the shortest RSA key, in bits (RFC 7518, section 3.3).
	minRSA = 2048
	maxRSA = 8192
	// minSecret is the shortest shared secret, in bytes: as long as the output of HS256.
	minSecret = 32
	// mostTried is how many keys a token without "kid" is tried with.
	mostTried = 4
)

// Keys are the keys of an issuer.
type Keys struct {
	list []jose.JSONWebKey
}

// Len returns the number of usable keys.
func (k *Keys) Len() int {
	if k == nil {
		return 0
	}
	return len(k.list)
}

// ParseKeys reads a JSON Web Key Set. Keys of other types, private keys and those that
// are too short are left out; a set without any usable key is an error. Shared secrets
// are never read from a set: an issuer's public document cannot hold one.
func ParseKeys(set []byte) (*Keys, error) {
	if len(set) > MaxKeySet {
		return nil, fmt.Errorf("the key set has more than %d bytes", MaxKeySet)
	}
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := strict(set); err != nil {
		return nil, fmt.Errorf("read the key set: %w", err)
	}
	if err := json.Unmarshal(set, &raw); err != nil {
		return nil, fmt.Errorf("read the key set: %w", err)
	}
	if len(raw.Keys) > MaxKeys {
		return nil, fmt.Errorf("the key set has more than %d keys", MaxKeys)
	}
	k := &Keys{}
	for _, one := range raw.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(one) == nil && usable(&key) {
			k.list = append(k.list, key)
		}
	}
	if len(k.list) == 0 {
		return nil, errors.New("the key set has no usable key: use RSA from 2048 bits, P-256, P-384, P-521 or Ed25519, for signatures")
	}
	return k, nil
}

// SharedKey makes keys of a shared secret, for HS256, HS384 and HS512.
func SharedKey(secret []byte) (*Keys, error) {
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the shared secret has %d bytes; use at least %d", len(secret), minSecret)
	}
	return &Keys{list: []jose.JSONWebKey{{Key: secret}}}, nil
}

func usable(key *jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" || !key.IsPublic() || !key.Valid() {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA && k.E >= 3
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// fits reports whether a key is one for an algorithm.
func fits(key *jose.JSONWebKey, alg string) bool {
	if key.Algorithm != "" && key.Algorithm != alg {
		return false
	}
	switch k := key.Key.(type) {
	case []byte:
		return strings.HasPrefix(alg, "HS")
	case *rsa.PublicKey:
		return strings.HasPrefix(alg, "RS") || strings.HasPrefix(alg, "PS")
	case *ecdsa.PublicKey:
		return alg == "ES256" && k.Curve == elliptic.P256() || alg == "ES384" && k.Curve == elliptic.P384() ||
			alg == "ES512" && k.Curve == elliptic.P521()
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}

// forToken returns the keys that a token may be signed with.
func (k *Keys) forToken(kid, alg string) ([]jose.JSONWebKey, error) {
	var found []jose.JSONWebKey
	known := kid == ""
	for i := range k.list {
		key := &k.list[i]
		if kid != "" && key.KeyID != "" && key.KeyID != kid || kid != "" && key.KeyID == "" && len(k.list) > 1 {
			continue
		}
		known = true
		if fits(key, alg) {
			found = append(found, *key)
		}
	}
	switch {
	case !known:
		return nil, ErrUnknownKey
	case len(found) == 0:
		return nil, invalid("no key for the algorithm")
	case len(found) > mostTried:
		return nil, invalid("too many keys for a token without kid")
	}
	return found, nil
}
