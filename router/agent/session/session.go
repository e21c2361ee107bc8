// Package session keeps what a user's login has brought in cookies of the user's browser,
// so that routers need no memory of sessions. It is pure: keys and the time are values.
//
// A cookie is AES-256-GCM under one of two keys that all routers of an IngressController
// have. What it is for (the kind, the host, the policy) is authenticated with it: a cookie
// that another host or policy shows cannot be read. CBC and compression are not used.
package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Bounds of cookies.
const (
	// KeySize is the length of a key.
	KeySize = 32
	// MaxKeys is how many keys are accepted.
	MaxKeys = 4
	// ripe is the age from which a key is used for new cookies: by then all routers have it.
	ripe = 5 * time.Minute

	idSize   = 4
	saltSize = 32
	headSize = idSize + saltSize
)

// Key is one key.
type Key struct {
	Made   time.Time
	Secret []byte
}

// Keys are the keys that a router has. The zero Keys neither write nor read.
type Keys struct{ list []key }

type key struct {
	Key
	id [idSize]byte
}

// NewKeys checks keys, of which the order does not matter.
func NewKeys(list []Key) (Keys, error) {
	var out Keys
	if len(list) > MaxKeys {
		return out, fmt.Errorf("%d keys of sessions; at most %d are used", len(list), MaxKeys)
	}
	for _, k := range list {
		if len(k.Secret) != KeySize {
			return Keys{}, fmt.Errorf("a key of sessions has %d bytes instead of %d", len(k.Secret), KeySize)
		}
		sum := sha256.Sum256(append([]byte("fairlead session key "), k.Secret...))
		out.list = append(out.list, key{k, [idSize]byte(sum[:idSize])})
	}
	slices.SortStableFunc(out.list, func(a, b key) int { return b.Made.Compare(a.Made) })
	return out, nil
}

// Usable reports whether there are keys.
func (k Keys) Usable() bool { return len(k.list) > 0 }

// current is the newest key that all routers have, or the oldest.
func (k Keys) current(now time.Time) key {
	for _, one := range k.list {
		if now.Sub(one.Made) >= ripe {
			return one
		}
	}
	return k.list[len(k.list)-1]
}

// ErrKeys is a router without keys.
var ErrKeys = errors.New("the router has no keys of sessions")

// Seal encrypts a text that only Open with the same parts reads.
func (k Keys) Seal(now time.Time, text []byte, parts ...string) (string, error) {
	if !k.Usable() {
		return "", ErrKeys
	}
	one := k.current(now)
	sealed := make([]byte, headSize, headSize+len(text)+16)
	copy(sealed, one.id[:])
	_, _ = rand.Read(sealed[idSize:]) // it never fails
	a, nonce, err := one.cipher(sealed[idSize:headSize])
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(a.Seal(sealed, nonce, text, bind(parts))), nil
}

// Open decrypts a text of Seal. It reports false for any other one.
func (k Keys) Open(sealed string, parts ...string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < headSize {
		return nil, false
	}
	for _, one := range k.list {
		if [idSize]byte(raw[:idSize]) != one.id {
			continue
		}
		a, nonce, err := one.cipher(raw[idSize:headSize])
		if err != nil {
			return nil, false
		}
		if text, err := a.Open(nil, nonce, raw[headSize:], bind(parts)); err == nil {
			return text, true
		}
	}
	return nil, false
}

// Hash returns a name for parts, the same for all that have the oldest key. It says
// nothing about them.
func (k Keys) Hash(parts ...string) string {
	if !k.Usable() {
		return ""
	}
	m := hmac.New(sha256.New, k.list[len(k.list)-1].Secret)
	_, _ = m.Write([]byte("fairlead session hash "))
	_, _ = m.Write(bind(parts))
	return hex.EncodeToString(m.Sum(nil))
}

// cipher makes a key and a nonce for one cookie out of 32 random bytes: random nonces of
// 12 bytes under one key would be too few for all cookies of a day.
func (k *key) cipher(salt []byte) (a cipher.AEAD, nonce []byte, err error) {
	const nonceSize = 12
	derived, err := hkdf.Key(sha256.New, k.Secret, salt, "fairlead session cookie 1", KeySize+nonceSize)
	if err != nil {
		return nil, nil, fmt.Errorf("derive the key of a cookie: %w", err)
	}
	block, err := aes.NewCipher(derived[:KeySize])
	if err != nil {
		return nil, nil, fmt.Errorf("encrypt a cookie: %w", err)
	}
	if a, err = cipher.NewGCM(block); err != nil {
		return nil, nil, fmt.Errorf("encrypt a cookie: %w", err)
	}
	return a, derived[KeySize:], nil
}

// bind joins parts, each with its length, so that no part can end in the next one.
func bind(parts []string) []byte {
	var b []byte
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
	}
	return b
}

// nameLayout is how a key is named in a Secret: by when it was made, in UTC.
const nameLayout = "20060102T150405Z"

// Name returns the name of a key that was made at a time.
func Name(made time.Time) string { return made.UTC().Format(nameLayout) }

// Read returns the key of a name and content in a Secret.
func Read(name string, content []byte) (Key, error) {
	made, err := time.Parse(nameLayout, name)
	switch {
	case err != nil:
		return Key{}, fmt.Errorf("%q is not the name of a key of sessions", name)
	case len(content) != KeySize:
		return Key{}, fmt.Errorf("the key of sessions %s has %d bytes instead of %d", name, len(content), KeySize)
	}
	return Key{Made: made, Secret: content}, nil
}
