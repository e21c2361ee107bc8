package authentication

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/regex"
)

// Keys of the Secret of authorities.
const (
	keyAuthorities = "ca.crt"
	keyRevocations = "ca.crl"
)

const (
	mostSubjects = 64
	// mostExpressions is how many of them may be regular expressions: a request is compared with all.
	mostExpressions = 8
	maxSubject      = 512
	// mostSANBytes is how long alternative names are together: a route's are one value of a map, in hexadecimal, and
	// HAProxy reads a line of a file into one buffer.
	mostSANBytes = 4 << 10
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
	out.Subjects = c.subjects(a.Subjects)
	out.SANs = c.sans(a.SANs)
	var ok bool
	if out.Forward, ok = forwards[a.Forward]; !ok {
		c.close("clientCertificate.forward", "must be Headers, None, XFCC, PEM or DER")
	}
	if a.Depth != 0 && a.Depth != 1 {
		c.close("clientCertificate.depth", "must be 1, or not there")
	}
	if ca := c.clientAuthorities(a); ca != nil && c.deepEnough(a, ca) {
		out.CA = ca
		c.certificate = out
	}
}

// subjects reads those that are let in. What cannot be read is a problem that closes.
func (c *compiler) subjects(all []v1alpha1.ClientSubject) (out []model.Subject) {
	expressions := 0
	for i, s := range all {
		field := fmt.Sprintf("clientCertificate.subjects[%d]", i)
		c.oneOf(field+".attribute", s.Attribute, "DN", "CN")
		c.oneOf(field+".type", s.Type, "Exact", "Prefix", policy.SubjectRegex)
		if s.Value == "" || len(s.Value) > maxSubject {
			c.close(field+".value", "must have 1 to %d bytes", maxSubject)
			continue
		}
		subject := model.Subject{Common: s.Attribute == "CN", Prefix: s.Type == "Prefix", Value: s.Value}
		if s.Type == policy.SubjectRegex {
			if expressions++; expressions > mostExpressions {
				c.unresolved(api.ReasonLimitExceeded, "clientCertificate.subjects", "has more than %d regular expressions; join some by |", mostExpressions)
				return nil
			}
			m, err := regex.ParseValue(s.Value)
			if err != nil {
				c.unresolved(policy.ReasonOf(err, ""), field+".value", "%s", err)
				continue
			}
			subject.Expression, subject.Value, subject.Longest = true, m.Pattern, m.Longest
		}
		out = append(out, subject)
	}
	return out
}

// deepEnough reports whether authorities let in what depth says. If not, that is a problem.
func (c *compiler) deepEnough(a *v1alpha1.ClientCertificateAuthentication, ca *model.CA) bool {
	if a.Depth == 0 {
		return true
	}
	if err := certificate.Direct(ca); err != nil {
		c.unresolved(api.ReasonPolicyNotApplicable, "clientCertificate.depth", "%s; name authorities that sign the certificates of clients themselves, or remove depth", err)
		return false
	}
	return true
}

// forwards are the values of forward.
var forwards = map[string]model.CertificateForward{
	"": model.ForwardHeaders, "Headers": model.ForwardHeaders, "None": model.ForwardNone, "XFCC": model.ForwardXFCC, "PEM": model.ForwardPEM, "DER": model.ForwardDER,
}

var (
	sanKinds   = map[string]model.SANKind{"DNS": model.SANDNS, "URI": model.SANURI, "Email": model.SANEmail, "IP": model.SANIP}
	sanMatches = map[string]model.SANMatch{"": model.SANExact, "Exact": model.SANExact, "Prefix": model.SANPrefix, "Suffix": model.SANSuffix}
)

// sans reads alternative names. What cannot be read is a problem that closes.
func (c *compiler) sans(all []v1alpha1.ClientSAN) (out []model.SAN) {
	if len(all) > mostSubjects {
		c.close("clientCertificate.sans", "has %d names; at most %d are possible", len(all), mostSubjects)
		return nil
	}
	total := 0
	for i, s := range all {
		field := fmt.Sprintf("clientCertificate.sans[%d]", i)
		if total += len(s.Value); total > mostSANBytes {
			c.close("clientCertificate.sans", "has more than %d bytes of names", mostSANBytes)
			return nil
		}
		kind, known := sanKinds[s.Kind]
		if !known {
			c.close(field+".kind", "must be DNS, URI, Email or IP")
		}
		match, known := sanMatches[s.Type]
		if !known {
			c.close(field+".type", "must be Exact, Prefix or Suffix")
		}
		value := s.Value
		switch {
		case value == "" || len(value) > maxSubject:
			c.close(field+".value", "must have 1 to %d bytes", maxSubject)
		case kind == model.SANDNS:
			value = strings.ToLower(value)
		case kind == model.SANIP:
			address, err := netip.ParseAddr(value)
			if err != nil || address.Zone() != "" || match != model.SANExact {
				c.close(field+".value", "must be an address, which is compared as a whole (Exact)")
			}
			value = string(address.Unmap().AsSlice())
		}
		out = append(out, model.SAN{Kind: kind, Match: match, Value: value})
	}
	return out
}

// clientAuthorities reads the authorities with their revocation lists. It returns nil if they
// cannot be used, which is a problem, or where there is no knowing.
func (c *compiler) clientAuthorities(a *v1alpha1.ClientCertificateAuthentication) *model.CA {
	text, lists, field, named, ok := c.namedAuthorities(a)
	if !ok || c.in.Bundle == nil {
		return nil
	}
	ca, _, err := c.in.Bundle(text, "")
	if err != nil {
		c.unresolved(api.ReasonSecretInvalid, field, "the key %s of %s: %s", keyAuthorities, named, err)
		return nil
	}
	if a.CRLSecret != "" {
		if field, named = "clientCertificate.crlSecret", fmt.Sprintf("Secret %q", a.CRLSecret); !c.moreLists(a, field, &lists) {
			return nil
		}
	}
	if strings.TrimSpace(lists) == "" {
		return ca
	}
	ca, about, err := c.in.Bundle(text, lists)
	if err != nil {
		c.unresolved(api.ReasonSecretInvalid, field, "%s %s", named, err)
		return nil
	}
	c.judgeLists(field, about)
	return ca
}

// moreLists adds the lists of crlSecret. It reports false if there are none, which is a problem, or
// no knowing.
func (c *compiler) moreLists(a *v1alpha1.ClientCertificateAuthentication, field string, lists *string) bool {
	data, ok := c.secret(field, a.CRLSecret)
	if !ok || data == nil {
		return false
	}
	if strings.TrimSpace(string(data[keyRevocations])) == "" {
		c.unresolved(api.ReasonSecretInvalid, field, "Secret %q has no revocation list under the key %s", a.CRLSecret, keyRevocations)
		return false
	}
	*lists = strings.TrimSpace(*lists) + "\n" + string(data[keyRevocations])
	return true
}

// namedAuthorities reads what caSecret or caConfigMap names, and the lists beside them.
func (c *compiler) namedAuthorities(a *v1alpha1.ClientCertificateAuthentication) (text, lists, field, named string, ok bool) {
	field, named = "clientCertificate.caSecret", fmt.Sprintf("Secret %q", a.CASecret)
	switch {
	case a.CAConfigMap != "" && a.CASecret != "":
		c.close(field, "caSecret and caConfigMap cannot both be there")
		return "", "", field, named, false
	case a.CAConfigMap != "":
		field, named = "clientCertificate.caConfigMap", fmt.Sprintf("ConfigMap %q", a.CAConfigMap)
		if !objectReference(string(a.CAConfigMap)) {
			c.close(field, "%q is not the name of a ConfigMap, nor NAMESPACE/NAME", a.CAConfigMap)
			return "", "", field, named, false
		}
		authorities, err := c.in.References.Authorities(string(a.CAConfigMap))
		switch {
		case unknown(err):
			return "", "", field, named, false
		case err != nil:
			c.unresolved(policy.ReasonOf(err, ""), field, "%s", err)
			return "", "", field, named, false
		}
		text = authorities
	default:
		data, ok := c.secret(field, a.CASecret)
		if !ok || data == nil {
			return "", "", field, named, false
		}
		text, lists = string(data[keyAuthorities]), string(data[keyRevocations])
	}
	if strings.TrimSpace(text) == "" {
		c.unresolved(api.ReasonSecretInvalid, field, "%s has no certificates under the key %s", named, keyAuthorities)
		return "", "", field, named, false
	}
	return text, lists, field, named, true
}

// judgeLists says what is wrong with lists that are used: HAProxy refuses the clients that
// depend on them.
func (c *compiler) judgeLists(field string, about certificate.Lists) {
	for _, name := range about.Without {
		c.refusedClients(field, "there is no revocation list of "+name+"; put one into the Secret")
	}
	if c.in.Now.IsZero() {
		return
	}
	for _, end := range about.Ends {
		if c.in.Now.Before(end.At) {
			c.until = end.At
			return
		}
		c.refusedClients(field, "the revocation list of "+end.Of+" ended at "+end.At.UTC().Format(time.RFC3339)+"; put a newer one into the Secret")
	}
}

// refusedClients notes that the handshakes of some clients fail.
func (c *compiler) refusedClients(field, why string) {
	c.warn(field, "%s", why)
	c.problems[len(c.problems)-1].Reason = api.ReasonRevocationListUnavailable
	c.problems[len(c.problems)-1].Effect = "clients with certificates of this authority are refused"
}

// certificateAlone reports whether the handshake decides alone.
func (c *compiler) certificateAlone() bool {
	p := &c.out
	return c.certified && c.keys == nil && p.Basic == nil && p.External == nil && p.JWT == nil && p.OIDC == nil && len(p.Authorization)+len(p.Listed) == 0
}
