package settings

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead/fairlead/router/render"
)

var (
	cipherName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	versions   = map[configv1.TLSProtocolVersion]string{
		// OpenSSL of today has no TLS 1.0; OpenShift's router says 1.1 as well.
		configv1.VersionTLS10: "TLSv1.1", configv1.VersionTLS11: "TLSv1.1",
		configv1.VersionTLS12: "TLSv1.2", configv1.VersionTLS13: "TLSv1.3",
	}
	groups = map[configv1.TLSGroup]bool{
		configv1.TLSGroupX25519: true, configv1.TLSGroupSecP256r1: true, configv1.TLSGroupSecP384r1: true, configv1.TLSGroupSecP521r1: true,
		configv1.TLSGroupX25519MLKEM768: true, configv1.TLSGroupSecP256r1MLKEM768: true, configv1.TLSGroupSecP384r1MLKEM1024: true,
	}
)

// tlsProfile reads spec.tlsSecurityProfile, or where it says nothing the
// cluster's profile, which the operator writes to status.tlsProfile.
func (r *reader) tlsProfile(inherited *configv1.TLSProfileSpec) {
	field := "spec.tlsSecurityProfile"
	p := r.spec.TLSSecurityProfile
	if p == nil || p.Type == "" {
		p = inheritedProfile(inherited)
		field = "status.tlsProfile"
	}
	if p == nil || p.Type == configv1.TLSProfileIntermediateType {
		return
	}
	named := configv1.TLSProfiles[p.Type]
	if p.Type == configv1.TLSProfileCustomType {
		if p.Custom == nil {
			r.find(field+".custom", "is missing", "the Intermediate profile is used")
			return
		}
		named = &p.Custom.TLSProfileSpec
	}
	if named == nil {
		r.find(field+".type", "must be Old, Intermediate, Modern or Custom", "the Intermediate profile is used")
		return
	}
	out := render.TLS{MinVersion: versions[named.MinTLSVersion]}
	if out.MinVersion == "" {
		out.MinVersion = "TLSv1.2"
	}
	var ciphers, suites, curves []string
	for _, c := range named.Ciphers {
		switch {
		case !cipherName.MatchString(c):
			r.refuse(field+".custom.ciphers", "%q is not the name of a cipher", c)
		case strings.HasPrefix(c, "TLS_"):
			suites = append(suites, c)
		default:
			ciphers = append(ciphers, c)
		}
	}
	if p.Type == configv1.TLSProfileCustomType {
		for _, g := range named.Groups {
			if !groups[g] {
				r.refuse(field+".custom.groups", "%q is not a group", g)
				continue
			}
			curves = append(curves, string(g))
		}
	}
	if out.MinVersion == "TLSv1.1" && len(ciphers) > 0 {
		// OpenSSL 3 speaks the old versions at its lowest security level only.
		ciphers = append(ciphers, "@SECLEVEL=0")
	}
	out.Ciphers, out.Suites, out.Curves = strings.Join(ciphers, ":"), strings.Join(suites, ":"), strings.Join(curves, ":")
	r.out.Render.TLS = out
}

// inheritedProfile returns the profile of the cluster by the name that it has,
// nil if there is none.
func inheritedProfile(p *configv1.TLSProfileSpec) *configv1.TLSSecurityProfile {
	if p == nil || p.MinTLSVersion == "" {
		return nil
	}
	for name, named := range configv1.TLSProfiles {
		if equality.Semantic.DeepEqual(p, named) {
			return &configv1.TLSSecurityProfile{Type: name}
		}
	}
	return &configv1.TLSSecurityProfile{
		Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{TLSProfileSpec: *p},
	}
}

// clientTLS reads spec.clientTLS. It fails closed: without what should protect
// a connection, there is none.
func (r *reader) clientTLS() {
	const field = "spec.clientTLS"
	c, out := &r.spec.ClientTLS, &r.out.Render.ClientTLS
	out.KeepHeaders = r.override("mutualTLSHeaderFilter") == "false"
	switch c.ClientCertificatePolicy {
	case "":
		return
	case operatorv1.ClientCertificatePolicyRequired:
		out.Verify = "required"
	case operatorv1.ClientCertificatePolicyOptional:
		out.Verify = "optional"
	default:
		out.Closed = true
		r.find(field+".clientCertificatePolicy", "must be Required or Optional", "TLS connections are refused")
		return
	}
	out.CA, out.CRL = r.flags.ClientCA, r.flags.ClientCRL
	ca, err := certificates(out.CA)
	if err == nil {
		err = revocations(out.CRL)
	}
	if err != nil {
		*out = render.ClientTLS{Verify: out.Verify, Closed: true, KeepHeaders: out.KeepHeaders}
		r.find(field+".clientCA", err.Error(), "TLS connections are refused")
		return
	}
	for _, cert := range ca {
		if len(cert.CRLDistributionPoints) > 0 && out.CRL == "" {
			r.find(field+".clientCA", "names a place for revocation lists, but there is no key crls.pem", "revoked certificates are not noticed")
			break
		}
	}
	out.Subject = r.subjects(field + ".allowedSubjectPatterns")
}

// nobody is a regular expression that matches nothing.
const nobody = "$.^"

// subjects joins the patterns. One that cannot be used admits nobody.
func (r *reader) subjects(field string) string {
	patterns := r.spec.ClientTLS.AllowedSubjectPatterns
	if len(patterns) == 0 {
		return ""
	}
	var good []string
	for i, p := range patterns {
		if _, err := regexp.Compile(p); err != nil || !printable(p) || p == "" {
			r.find(field+"["+strconv.Itoa(i)+"]", "is not a regular expression", "it admits nobody")
			continue
		}
		good = append(good, p)
	}
	if len(good) == 0 {
		return nobody
	}
	return "(?:" + strings.Join(good, "|") + ")"
}

// certificates reads a bundle. It is an error if there is none.
func certificates(text string) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("ca-bundle.pem holds a certificate that cannot be read: %w", err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the key ca-bundle.pem of the ConfigMap holds no certificate")
	}
	return all, nil
}

// revocations checks a file of revocation lists, which may be empty.
func revocations(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	n := 0
	for rest := []byte(text); ; n++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type != "X509 CRL" {
			return fmt.Errorf("crls.pem holds %s", block.Type)
		}
		if _, err := x509.ParseRevocationList(block.Bytes); err != nil {
			return fmt.Errorf("crls.pem holds a list that cannot be read: %w", err)
		}
	}
	if n == 0 {
		return fmt.Errorf("crls.pem holds no revocation list")
	}
	return nil
}

// override returns a text of spec.unsupportedConfigOverrides.
func (r *reader) override(key string) string {
	raw := r.spec.UnsupportedConfigOverrides.Raw
	if len(raw) == 0 {
		return ""
	}
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	text, _ := all[key].(string)
	return text
}
