// Package jwt verifies JSON Web Tokens as RFC 8725 asks for. It is pure: keys and the
// time are values.
//
// What a token says about itself decides nothing: the algorithms are those of its
// issuer in the policy, a key has to be of the algorithm's type, and keys that a token
// embeds or points to (jwk, jku, x5c, x5u) are not looked at. A token that can be
// read in two ways, because a name stands twice in its JSON, is refused.
package jwt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// MaxToken is the longest token.
const MaxToken = 16 << 10

const tokenBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// Errors of verification, besides InvalidError.
var (
	// ErrUnknownKey is a token whose "kid" none of the keys has: they may have been
	// replaced since they were read.
	ErrUnknownKey = errors.New("the token's key is not known")
	// ErrNoKeys is an issuer of which no keys were ever read: the token may be good.
	ErrNoKeys = errors.New("no keys of the issuer are known")
)

// InvalidError is a token that is refused.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "the token is invalid: " + e.Reason }

func invalid(reason string) error { return &InvalidError{reason} }

// DefaultAlgorithms are those of an issuer that names none.
func DefaultAlgorithms() []string { return []string{"RS256", "ES256", "PS256", "EdDSA"} }

// algorithms are all that can be named.
func algorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512"}
}

// Issuer is what tokens of one issuer must be like.
type Issuer struct {
	// Name is the exact value of "iss".
	Name string
	// Audiences are those of which the token must have one. Without any, "aud" is not
	// looked at.
	Audiences []string
	// Algorithms are those that are accepted. HS256 and its like need Shared.
	Algorithms []string
	// Shared is set where the keys are a shared secret, and only there.
	Shared bool
	// Leeway is by how much clocks may differ.
	Leeway time.Duration
	// MaxAge is how old a token may be, by its "iat"; 0 is any age.
	MaxAge time.Duration
}

// Check returns what is wrong with an issuer.
func (i *Issuer) Check() error {
	switch {
	case i.Name == "":
		return errors.New("the issuer has no name")
	case len(i.Algorithms) == 0:
		return errors.New("the issuer has no algorithms")
	case i.Leeway < 0 || i.Leeway > 5*time.Minute:
		return errors.New("leeway must be from 0 to 5m")
	case i.MaxAge < 0:
		return errors.New("maxAge must not be negative")
	}
	for _, a := range i.Algorithms {
		switch {
		case !slices.Contains(algorithms(), a):
			return fmt.Errorf("unknown algorithm %q; use some of: %s", a, strings.Join(algorithms(), ", "))
		case strings.HasPrefix(a, "HS") != i.Shared:
			return fmt.Errorf("algorithm %s does not fit the kind of key: HS* need a shared secret, all others a key set", a)
		}
	}
	return nil
}

// Token is a parsed token, of which nothing is verified.
type Token struct {
	jws    *jose.JSONWebSignature
	head   header
	claims Claims
}

// Issuer returns who the token says that it is from, to choose the keys by.
func (t *Token) Issuer() string {
	iss, _ := t.claims.text("iss")
	return iss
}

// Algorithm is that of the signature, as the token says.
func (t *Token) Algorithm() string { return t.head.Algorithm }

// Parse reads a token.
func Parse(text string) (*Token, error) { return parse(text, "jwt", "at+jwt") }

// ParseLogout reads a token by which a provider says that a user has logged out. One that
// names its type is no other token.
func ParseLogout(text string) (*Token, error) { return parse(text, "jwt", "logout+jwt") }

func parse(text string, types ...string) (*Token, error) {
	if len(text) > MaxToken {
		return nil, invalid("it is too long")
	}
	// Decoders of base64 pass over line breaks.
	if strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune(tokenBytes, r) }) {
		return nil, invalid("it has characters that no token has")
	}
	head, err := parseHeader(text, types)
	if err != nil {
		return nil, err
	}
	jws, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(head.Algorithm)})
	if err != nil || len(jws.Signatures) != 1 {
		return nil, invalid("it is not a signed token in compact form")
	}
	claims, err := parseClaims(jws.UnsafePayloadWithoutVerification())
	if err != nil {
		return nil, err
	}
	return &Token{jws: jws, head: head, claims: claims}, nil
}

// Verify returns the claims of a token if it is one of the issuer's, and until when
// it is valid.
func (t *Token) Verify(i *Issuer, keys *Keys, now time.Time) (Claims, time.Time, error) {
	none := time.Time{}
	switch {
	case t.Issuer() != i.Name || i.Name == "":
		return nil, none, invalid("its issuer is another one")
	case !slices.Contains(i.Algorithms, t.head.Algorithm) || strings.HasPrefix(t.head.Algorithm, "HS") != i.Shared:
		return nil, none, invalid("its algorithm is not accepted")
	case keys.Len() == 0:
		return nil, none, ErrNoKeys
	}
	candidates, err := keys.forToken(t.head.KeyID, t.head.Algorithm)
	if err != nil {
		return nil, none, err
	}
	signed := slices.ContainsFunc(candidates, func(k jose.JSONWebKey) bool {
		_, err := t.jws.Verify(k.Key)
		return err == nil
	})
	if !signed {
		return nil, none, invalid("its signature is wrong")
	}
	until, err := i.times(t.claims, now)
	if err != nil {
		return nil, none, err
	}
	if len(i.Audiences) > 0 {
		have, _ := t.claims.Values("aud")
		if !slices.ContainsFunc(have, func(a string) bool { return slices.Contains(i.Audiences, a) }) {
			return nil, none, invalid("it is for another audience")
		}
	}
	return t.claims, until, nil
}

// times checks exp, nbf and iat. A token without an end needs an issuer with MaxAge.
func (i *Issuer) times(c Claims, now time.Time) (until time.Time, err error) {
	exp, hasEnd, err := c.time("exp")
	if err != nil {
		return until, err
	}
	nbf, hasStart, err := c.time("nbf")
	if err != nil {
		return until, err
	}
	iat, hasIssued, err := c.time("iat")
	if err != nil {
		return until, err
	}
	until = exp.Add(i.Leeway)
	if i.MaxAge > 0 {
		if !hasIssued {
			return until, invalid("it does not say when it was issued")
		}
		if end := iat.Add(i.MaxAge + i.Leeway); !hasEnd || end.Before(until) {
			until = end
		}
	}
	switch {
	case !hasEnd && i.MaxAge == 0:
		return until, invalid("it has no end")
	case !now.Before(until):
		return until, invalid("it has expired")
	case hasStart && now.Add(i.Leeway).Before(nbf):
		return until, invalid("it is not valid yet")
	case hasIssued && now.Add(i.Leeway).Before(iat):
		return until, invalid("it was issued in the future")
	}
	return until, nil
}
