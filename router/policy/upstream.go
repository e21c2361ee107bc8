package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// The values of upstream.tls.mode.
const (
	upstreamVerify   = "Verify"
	upstreamInsecure = "Insecure"
)

// The values of upstream.protocol.
const (
	ProtocolHTTP1 = "HTTP1"
	ProtocolH2C   = "H2C"
	ProtocolH2    = "H2"
)

// proxyVersions are the values of upstream.proxyProtocol.
var proxyVersions = map[string]uint8{"": 0, "None": 0, "V1": 1, "V2": 2}

// upstreamRows are the two rows of the one field: its part tls protects, the others do
// not.
var upstreamRows = []row{
	{GroupUpstreamTLS, false, true, func(s *Source) bool { return s.Spec.Upstream != nil && s.Spec.Upstream.TLS != nil }, func(e *Effective, s *Source) {
		e.Spec.Upstream = &v1alpha1.Upstream{TLS: s.Spec.Upstream.TLS}
	}},
	{GroupUpstream, false, false, func(s *Source) bool {
		return s.Spec.Upstream != nil && s.Spec.Upstream.Protocol+s.Spec.Upstream.ProxyProtocol != ""
	}, func(e *Effective, s *Source) {
		u := *s.Spec.Upstream
		if u.TLS = nil; e.Spec.Upstream != nil {
			u.TLS = e.Spec.Upstream.TLS
		}
		e.Spec.Upstream = &u
	}},
}

// onlyUpstream returns one of the two parts.
func onlyUpstream(u *v1alpha1.Upstream, g Group) *v1alpha1.Upstream {
	if g == GroupUpstreamTLS {
		return &v1alpha1.Upstream{TLS: u.TLS}
	}
	return &v1alpha1.Upstream{Protocol: u.Protocol, ProxyProtocol: u.ProxyProtocol}
}

// compileUpstream finds what is wrong with the group. What is made of it depends on the
// route and its Secrets, so that is the door's. A wrong part of tls closes: it is not known
// which pods may be trusted.
func compileUpstream(u *v1alpha1.Upstream) []Problem {
	if u == nil {
		return nil
	}
	var problems []Problem
	for _, f := range []struct {
		name, message string
		good          bool
	}{
		{"protocol", "must be HTTP1, H2C or H2", slices.Contains([]string{"", ProtocolHTTP1, ProtocolH2C, ProtocolH2}, u.Protocol)},
		{"proxyProtocol", "must be None, V1 or V2", knownProxyVersion(u.ProxyProtocol)},
	} {
		if !f.good {
			problems = append(problems, Problem{
				Key: "upstream." + f.name, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: f.message, Effect: effectDefault,
			})
		}
	}
	if field, err := checkUpstreamTLS(u.TLS); err != nil {
		problems = append(problems, closing("upstream.tls."+field, err.Error()))
	}
	return problems
}

// checkUpstreamTLS also returns the field that is wrong.
func checkUpstreamTLS(t *v1alpha1.UpstreamTLS) (string, error) {
	switch {
	case t == nil:
		return "", nil
	case t.Mode != "" && t.Mode != upstreamVerify && t.Mode != upstreamInsecure:
		return "mode", errors.New("must be Verify or Insecure")
	case t.Mode == upstreamInsecure && t.CA != "":
		return "ca", errors.New("is for the mode Verify")
	case t.Mode == upstreamInsecure && len(t.Names) > 0:
		return "names", errors.New("are for the mode Verify")
	case len(t.Names) > 1:
		return "names", errors.New("must be one name: HAProxy checks no more")
	case len(t.Names) == 1 && !isHost(t.Names[0]):
		return "names", fmt.Errorf("%.100q is not a host name in lower case", t.Names[0])
	case t.SNI != "" && !isHost(t.SNI):
		return "sni", errors.New("must be a host name in lower case")
	case t.SNI != "" && len(t.Names) == 1 && t.SNI != t.Names[0]:
		return "sni", errors.New("must be the name in names: HAProxy verifies the name that it sends")
	}
	for _, f := range []struct {
		name   string
		secret v1alpha1.ObjectReference
	}{{"ca", t.CA}, {"clientCertificate", t.ClientCertificate}} {
		if f.secret != "" && !isReference(string(f.secret)) {
			return f.name, errors.New("must be the name of a Secret")
		}
	}
	return "", nil
}

// isReference is true for NAME and NAMESPACE/NAME.
func isReference(text string) bool {
	namespace, name, other := strings.Cut(text, "/")
	if !other {
		return isHost(text)
	}
	return len(validation.IsDNS1123Label(namespace)) == 0 && isHost(name)
}

// Named returns what names an object of a namespace, or of the policy's own if that is empty.
func Named(namespace, name v1alpha1.ObjectName) string {
	if namespace == "" {
		return string(name)
	}
	return string(namespace) + "/" + string(name)
}

// isHost is true for names of hosts, which names of Secrets look like.
func isHost(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

func knownProxyVersion(v string) bool { _, known := proxyVersions[v]; return known }

// ProxyProtocol is the version of the PROXY header that connections to pods begin with; 0
// is none.
func (s *Spec) ProxyProtocol() uint8 {
	if s.Groups.Upstream == nil {
		return 0
	}
	return proxyVersions[s.Groups.Upstream.ProxyProtocol]
}

// UpstreamTLS is how routers and pods show who they are, or nil.
func (s *Spec) UpstreamTLS() *v1alpha1.UpstreamTLS {
	if s.Groups.Upstream == nil {
		return nil
	}
	return s.Groups.Upstream.TLS
}

// Insecure reports whether pods need not show who they are.
func Insecure(t *v1alpha1.UpstreamTLS) bool { return t.Mode == upstreamInsecure }

// UpstreamSecrets returns the names of the Secrets that a group names, which may be nil.
func UpstreamSecrets(u *v1alpha1.Upstream) []string {
	if u == nil || u.TLS == nil {
		return nil
	}
	return slices.DeleteFunc([]string{string(u.TLS.CA), string(u.TLS.ClientCertificate)}, func(name string) bool { return name == "" })
}

// withoutPassthroughUpstream are the fields that a passthrough connection has no use for.
func withoutPassthroughUpstream(u *v1alpha1.Upstream) []string {
	if u.Protocol != "" {
		return []string{"protocol"}
	}
	return nil
}
