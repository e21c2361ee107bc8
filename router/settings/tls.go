package settings

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/render"
)

var (
	// cipherName may begin with the "!" of OpenSSL, which takes a cipher out.
	cipherName = regexp.MustCompile(`^!?[A-Za-z][A-Za-z0-9_+-]*$`)
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
	ciphers, suites := r.ciphers(field+".custom.ciphers", named.Ciphers)
	var curves []string
	if problem := profileProblem(out.MinVersion, len(ciphers), len(suites)); problem != "" {
		r.find(field+".custom.ciphers", problem, "the Intermediate profile is used")
		return
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

// ciphers sorts the names of ciphers into those for TLS up to 1.2 and for 1.3.
func (r *reader) ciphers(field string, names []string) (old, suites []string) {
	var good []string
	for _, c := range names {
		if !cipherName.MatchString(c) {
			r.refuse(field, "%q is not the name of a cipher", c)
			continue
		}
		good = append(good, c)
	}
	return splitCiphers(good)
}

func splitCiphers(names []string) (old, suites []string) {
	for _, c := range names {
		if strings.HasPrefix(c, "TLS_") {
			suites = append(suites, c)
		} else {
			old = append(old, c)
		}
	}
	return old, suites
}

// profileProblem says why a profile with so many ciphers for TLS up to 1.2 and
// so many for 1.3 cannot be used: what is missing would be OpenSSL's choice.
func profileProblem(version string, ciphers, suites int) string {
	switch {
	case ciphers+suites == 0:
		return "is an empty list"
	case version == "TLSv1.3" && suites == 0:
		return "has no cipher of TLS 1.3, which minTLSVersion demands"
	case version != "TLSv1.3" && ciphers == 0:
		return "has ciphers of TLS 1.3 only, while minTLSVersion allows older versions"
	}
	return ""
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
		_, err = revocations(out.CRL)
	}
	if err != nil {
		*out = render.ClientTLS{Verify: out.Verify, Closed: true, KeepHeaders: out.KeepHeaders}
		r.find(field+".clientCA", err.Error(), "TLS connections are refused")
		return
	}
	r.revocations(field+".clientCA", ca)
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
			r.find(field+"["+strconv.Itoa(i)+"]", "is not a regular expression", "it admits no client")
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
		if err := certificate.Check(c, certificate.MaxRSABits); err != nil {
			return nil, fmt.Errorf("ca-bundle.pem holds the certificate of %s, but %w", c.Subject, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the key ca-bundle.pem of the ConfigMap holds no certificate")
	}
	return all, nil
}

// noList is a revocation list of nobody, long ended. As soon as HAProxy has any
// list, it refuses clients whose authority has none.
const noList = `-----BEGIN X509 CRL-----
MIG7MGQCAQEwCgYIKoZIzj0EAwIwFzEVMBMGA1UEAxMMbm8gYXV0aG9yaXR5Fw03
MDAxMDEwMDAwMDBaFw03MDAxMDEwMDAwMDFaoBwwGjAMBgNVHSMEBTADgAEBMAoG
A1UdFAQDAgEBMAoGCCqGSM49BAMCA0cAMEQCIAgGYp27FbVjvPKSqmo//6U8/NI5
wuDvPRixBwrpg3teAiBMF71vUP4tNJnpLI2IosB83/5hXuHjpHlpq5BPXN91pw==
-----END X509 CRL-----
`

// revocations decides which lists are used: those of the ConfigMap, else those
// that were fetched, where an authority says that it has some. An authority
// without a list is one whose clients are refused.
func (r *reader) revocations(field string, ca []*x509.Certificate) {
	out, effect := &r.out.Render.ClientTLS, "clients whose certificates depend on it are refused"
	if strings.TrimSpace(out.CRL) == "" {
		if !slices.ContainsFunc(ca, func(c *x509.Certificate) bool { return len(c.CRLDistributionPoints) > 0 }) {
			return
		}
		r.out.FetchRevocations = out.CA
		if out.CRL = r.flags.Revocations.Lists; out.CRL == "" {
			out.CRL = noList
		}
		for _, p := range r.flags.Revocations.Problems {
			r.findReason(field, api.ReasonRevocationListUnavailable, p, effect)
		}
		if len(r.flags.Revocations.Problems) > 0 {
			return
		}
	}
	lists, err := revocations(out.CRL)
	if err != nil {
		return // what was fetched has been checked
	}
	for _, c := range ca {
		issued := func(l *x509.RevocationList) bool { return bytes.Equal(l.RawIssuer, c.RawSubject) }
		if !slices.ContainsFunc(lists, issued) {
			r.findReason(field, api.ReasonRevocationListUnavailable, "there is no revocation list of "+c.Subject.String(), effect)
		}
	}
}

// revocations reads a text of revocation lists, which may be empty.
func revocations(text string) ([]*x509.RevocationList, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var all []*x509.RevocationList
	for rest := []byte(text); ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type != "X509 CRL" {
			return nil, fmt.Errorf("crls.pem holds %s", block.Type)
		}
		l, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("crls.pem holds a list that cannot be read: %w", err)
		}
		all = append(all, l)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("crls.pem holds no revocation list")
	}
	return all, nil
}
