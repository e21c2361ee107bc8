package authentication

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

const (
	// jwksKey is where a Secret has a key set.
	jwksKey     = "jwks"
	mostIssuers = 10
	mostSources = 4
	longestAge  = 365 * 24 * time.Hour
)

func (c *compiler) jwt(j *v1alpha1.JWTAuthentication) {
	out := &snapshot.JWT{Optional: j.Optional, Drop: j.Forward != nil && !*j.Forward}
	if len(j.Issuers) == 0 || len(j.Issuers) > mostIssuers {
		c.close("jwt.issuers", "must have 1 to %d issuers", mostIssuers)
	}
	var names []string
	for i := range j.Issuers {
		field := fmt.Sprintf("jwt.issuers[%d]", i)
		issuer := c.issuer(field, &j.Issuers[i])
		for _, other := range out.Issuers {
			if other.Name == issuer.Name {
				c.close(field, "issuer %q stands twice", issuer.Name)
			}
		}
		out.Issuers, names = append(out.Issuers, issuer), append(names, issuer.Name)
	}
	if len(j.From) > mostSources {
		c.close("jwt.from", "has %d places; at most %d are possible", len(j.From), mostSources)
	}
	for i, f := range j.From {
		field := fmt.Sprintf("jwt.from[%d]", i)
		c.oneOf(field+".type", f.Type, "Header", "Cookie", "Query")
		if f.Type == "" || !model.HeaderName(f.Name) || !prefixText.MatchString(f.Prefix) {
			c.close(field, "must have a type, and the name of a header, cookie or parameter")
		}
		out.From = append(out.From, snapshot.Source{Type: f.Type, Name: f.Name, Prefix: f.Prefix})
	}
	if len(j.ClaimsToHeaders) > mostHeaders {
		c.close("jwt.claimsToHeaders", "has %d headers; at most %d are possible", len(j.ClaimsToHeaders), mostHeaders)
	}
	for i, h := range j.ClaimsToHeaders {
		field := fmt.Sprintf("jwt.claimsToHeaders[%d]", i)
		c.forPod(field+".header", h.Header)
		c.oneOf(field+".as", h.As, "Text", "Base64", "JSON")
		if h.Claim == "" || len(h.Claim) > 256 {
			c.close(field+".claim", "must be the name of a claim")
		}
		out.Claims = append(out.Claims, snapshot.ClaimHeader{Claim: h.Claim, Header: string(h.Header), As: jwt.Form(h.As)})
	}
	c.out.JWT = out
	c.methods = append(c.methods, "jwt: tokens of "+strings.Join(names, ", "))
}

func (c *compiler) issuer(field string, s *v1alpha1.JWTIssuer) snapshot.Issuer {
	out := snapshot.Issuer{
		Name: s.Issuer, Audiences: s.Audiences, Algorithms: s.Algorithms,
		Leeway: c.duration(field+".leeway", s.Leeway, 0, 5*time.Minute), MaxAge: c.duration(field+".maxAge", s.MaxAge, time.Second, longestAge),
	}
	if s.Leeway == "" {
		out.Leeway = 30 * time.Second
	}
	check := jwt.Issuer{Name: s.Issuer, Algorithms: s.Algorithms, Leeway: out.Leeway, MaxAge: out.MaxAge}
	if len(check.Algorithms) == 0 {
		check.Algorithms = jwt.DefaultAlgorithms()
	}
	if err := check.Check(); err != nil {
		c.close(field, "%s", err)
	}
	switch {
	case (s.Secret != "") == (s.JWKS != nil):
		c.close(field, "must have one of secret and jwks")
		return out
	case s.JWKS != nil:
		out.CA, out.JWKSURI = c.ca(field+".jwks.caSecret", s.JWKS.CASecret), s.JWKS.URI
		c.address(field+".jwks.uri", s.JWKS.URI, "https")
		return out
	}
	data, ok := c.secret(field+".secret", s.Secret)
	if !ok || data == nil {
		return out
	}
	text := data[jwksKey]
	if _, err := jwt.ParseKeys(text); err != nil {
		c.unresolved(api.ReasonSecretInvalid, field+".secret", "Secret %q, key %s: %s", s.Secret, jwksKey, err)
	}
	out.JWKS = string(text)
	return out
}

// certificates reports whether a text holds at least one certificate, and nothing
// that cannot be read as one.
func certificates(text string) bool {
	rest, found := []byte(text), false
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return found
		}
		if block.Type != "CERTIFICATE" {
			return false
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return false
		}
		found = true
	}
}
