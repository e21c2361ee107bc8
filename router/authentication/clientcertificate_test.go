package authentication_test

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
)

func clientCertificate(change func(*v1alpha1.ClientCertificateAuthentication)) *v1alpha1.Authentication {
	c := &v1alpha1.ClientCertificateAuthentication{CASecret: "ca"}
	change(c)
	return &v1alpha1.Authentication{ClientCertificate: c}
}

// TestClientCertificate: what cannot be used closes; a handshake that decides alone needs
// no policy agent.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	o := objects{secrets: map[string]map[string][]byte{
		"ca": {"ca.crt": []byte("A")}, "blank": {"ca.crt": []byte(" \n")}, "other": {"tls.crt": []byte("A")},
		"revoked": {"ca.crt": []byte("A"), "ca.crl": []byte("L")}, "bad": {"ca.crt": []byte("bad")}, "badly": {"ca.crl": []byte("bad")},
		"users": {"auth": []byte("ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n")},
	}}
	bundle := func(text, lists string) (*model.CA, certificate.Lists, error) {
		if text == "bad" || strings.TrimSpace(lists) == "bad" {
			return nil, certificate.Lists{}, errBad
		}
		return &model.CA{ID: "demo:shop:1", PEM: text + lists}, certificate.Lists{}, nil
	}
	for name, tt := range map[string]struct {
		spec    *v1alpha1.Authentication
		demands bool
		agent   bool
		problem string
	}{
		"required": {spec: clientCertificate(func(*v1alpha1.ClientCertificateAuthentication) {}), demands: true},
		"optional": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.Mode = "Optional" })},
		"subjects": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Mode, c.Subjects = "Optional", []v1alpha1.ClientSubject{{Value: "CN=a"}}
		}), demands: true},
		"the case":  {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.Mode = "optional" }), problem: "clientCertificate.mode must be"},
		"no name":   {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret = "" }), problem: "clientCertificate.caSecret"},
		"missing":   {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret = "none" }), problem: "does not exist"},
		"blank":     {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret = "blank" }), problem: "no certificates under the key ca.crt"},
		"other key": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret = "other" }), problem: "no certificates under the key ca.crt"},
		"a list":    {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret = "revoked" }), demands: true},
		"bad list":  {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CRLSecret = "badly" }), problem: "is bad"},
		"no list":   {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CRLSecret = "ca" }), problem: "no revocation list under the key ca.crl"},
		"gone list": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CRLSecret = "none" }), problem: "does not exist"},
		"a map":     {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret, c.CAConfigMap = "", "ca" }), demands: true},
		"no map":    {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret, c.CAConfigMap = "", "none" }), problem: "does not exist"},
		"both":      {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CAConfigMap = "ca" }), problem: "cannot both be there"},
		"forward":   {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.Forward = "all" }), problem: "forward must be"},
		"sans": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Mode, c.SANs = "Optional", []v1alpha1.ClientSAN{{Kind: "DNS", Value: "a"}}
		}), demands: true},
		"a depth":        {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.Depth = 2 }), problem: "depth must be 1"},
		"negative depth": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.Depth = -1 }), problem: "depth must be 1"},
		"a kind": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.SANs = []v1alpha1.ClientSAN{{Kind: "dns", Value: "a"}}
		}), problem: "sans[0].kind must be"},
		"long names": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			for range 9 {
				c.SANs = append(c.SANs, v1alpha1.ClientSAN{Kind: "URI", Value: strings.Repeat("a", 512)})
			}
		}), problem: "more than 4096 bytes"},
		"an address": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.SANs = []v1alpha1.ClientSAN{{Kind: "IP", Type: "Prefix", Value: "198.51.100.7"}}
		}), problem: "sans[0].value must be"},
		"bad":      {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.CASecret = "bad" }), problem: "is bad"},
		"no value": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.Subjects = []v1alpha1.ClientSubject{{}} }), problem: "subjects[0].value must have"},
		"a pattern": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Subjects = []v1alpha1.ClientSubject{{Type: "Regex", Value: "CN=(a|b),.*"}, {Attribute: "CN", Type: "Regex", Value: "a b"}}
		}), demands: true},
		"no pattern": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Subjects = []v1alpha1.ClientSubject{{Value: "CN=a"}, {Type: "Regex", Value: "CN=(a"}}
		}), problem: "subjects[1].value is not a regular expression of RE2"},
		"a half pattern": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Subjects = []v1alpha1.ClientSubject{{Type: "Regex", Value: "CN=a)|(?:CN=b"}}
		}), problem: "subjects[0].value is not a regular expression of RE2"},
		"a slow pattern": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Subjects = []v1alpha1.ClientSubject{{Type: "Regex", Value: "(a+)+(b+)+(c+)+(d+)+(e+)+(f+)+"}}
		}), problem: "subjects[0].value"},
		"letters beyond ASCII": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Subjects = []v1alpha1.ClientSubject{{Type: "Regex", Value: "CN=zo\u00eb"}}
		}), problem: "printable ASCII"},
		"nine patterns": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			for range 9 {
				c.Subjects = append(c.Subjects, v1alpha1.ClientSubject{Type: "Regex", Value: "a"})
			}
		}), problem: "more than 8 regular expressions"},
		"a type": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Subjects = []v1alpha1.ClientSubject{{Type: "regex", Value: "a"}}
		}), problem: "subjects[0].type must be"},
		"an email": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) {
			c.Subjects = []v1alpha1.ClientSubject{{Attribute: "SAN", Value: "a"}}
		}), problem: "subjects[0].attribute must be"},
		"many": {spec: clientCertificate(func(c *v1alpha1.ClientCertificateAuthentication) { c.Subjects = make([]v1alpha1.ClientSubject, 65) }), problem: "at most 64"},
		"any":  {spec: &v1alpha1.Authentication{Satisfy: "Any", ClientCertificate: &v1alpha1.ClientCertificateAuthentication{CASecret: "ca"}}, problem: "satisfy cannot be Any"},
		"with passwords": {
			spec:    &v1alpha1.Authentication{Basic: &v1alpha1.BasicAuthentication{Secret: "users"}, ClientCertificate: &v1alpha1.ClientCertificateAuthentication{CASecret: "ca"}},
			demands: true, agent: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, problems := authentication.Compile(authentication.Input{
				Spec: tt.spec, Route: model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}, Namespace: "demo", References: o, Bundle: bundle,
			})
			text := ""
			for _, p := range problems {
				text += p.Field + " " + p.Message + "\n"
				if !p.Closes {
					t.Errorf("%s does not close", p.Message)
				}
			}
			if !strings.Contains(text, tt.problem) || tt.problem == "" && text != "" {
				t.Errorf("problems:\n%swant %q", text, tt.problem)
			}
			if (r.Certificate != nil) != (tt.problem == "") || (r.Agent != nil) != tt.agent {
				t.Fatalf("%+v", r)
			}
			if r.Certificate != nil && r.Certificate.Demanded() != tt.demands {
				t.Errorf("demanded: %v", !tt.demands)
			}
		})
	}
}

type badError struct{}

func (badError) Error() string { return "is bad" }

var errBad = badError{}
