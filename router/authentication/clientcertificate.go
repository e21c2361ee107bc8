package authentication

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Keys of the Secret of authorities.
const (
	keyAuthorities = "ca.crt"
	keyRevocations = "ca.crl"
)

const (
	mostSubjects = 64
	maxSubject   = 512
)

// ModeOptional is the mode in which clients without a certificate are let in.
const ModeOptional = "Optional"

// clientCertificate reads what clients have to show in the handshake.
func (c *compiler) clientCertificate(a *v1alpha1.ClientCertificateAuthentication) {
	c.certified = true
	c.oneOf("clientCertificate.mode", a.Mode, "Required", ModeOptional)
	out := &model.ClientCertificate{Required: a.Mode != ModeOptional}
	if len(a.Subjects) > mostSubjects {
		c.close("clientCertificate.subjects", "has %d subjects; at most %d are possible", len(a.Subjects), mostSubjects)
		return
	}
	for i, s := range a.Subjects {
		field := fmt.Sprintf("clientCertificate.subjects[%d]", i)
		c.oneOf(field+".attribute", s.Attribute, "DN", "CN")
		c.oneOf(field+".type", s.Type, "Exact", "Prefix")
		if s.Value == "" || len(s.Value) > maxSubject {
			c.close(field+".value", "must have 1 to %d bytes", maxSubject)
			continue
		}
		out.Subjects = append(out.Subjects, model.Subject{Common: s.Attribute == "CN", Prefix: s.Type == "Prefix", Value: s.Value})
	}
	const field = "clientCertificate.caSecret"
	data, ok := c.secret(field, a.CASecret)
	if !ok || data == nil || c.in.Bundle == nil {
		return
	}
	if len(data[keyRevocations]) > 0 {
		c.unresolved(api.ReasonSecretInvalid, field, "Secret %q has a revocation list under the key %s, which the router does not read; without it revoked certificates would be let in", a.CASecret, keyRevocations)
		return
	}
	text := string(data[keyAuthorities])
	if strings.TrimSpace(text) == "" {
		c.unresolved(api.ReasonSecretInvalid, field, "Secret %q has no certificates under the key %s", a.CASecret, keyAuthorities)
		return
	}
	ca, err := c.in.Bundle(text)
	if err != nil {
		c.unresolved(api.ReasonSecretInvalid, field, "the key %s of Secret %q: %s", keyAuthorities, a.CASecret, err)
		return
	}
	out.CA = ca
	c.certificate = out
}

// certificateAlone reports whether the handshake decides alone.
func (c *compiler) certificateAlone() bool {
	p := &c.out
	return c.certified && c.keys == nil && p.Basic == nil && p.External == nil && p.JWT == nil && p.OIDC == nil && len(p.Authorization)+len(p.Listed) == 0
}
