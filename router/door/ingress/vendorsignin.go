package ingress

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// In the address to sign in at, two variables stand for the Route: $host, and $scheme
// at the beginning. They are replaced when the Route is made, so that no router reads
// a variable.
const variableHost, variableScheme = "$host", "$scheme"

// asked are the texts that mean the address that a client asked for. Behind the
// parameter ours puts the whole address.
var asked = regexp.MustCompile(`^((\$scheme|https?)://\$host)?\$(escaped_)?request_uri$`)

var (
	signInParam = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,64}$`)
	signInBase  = regexp.MustCompile(`^(\$scheme|https?)://(\$host|[A-Za-z0-9][-A-Za-z0-9.]*)(:[0-9]{1,5})?(/[!-#%-~]*)?$`)
)

// defaultParam is that of ingress-nginx, and ours.
const defaultParam = "rd"

// readSignIn reads where clients are sent that may not pass. The address that they
// asked for is added as a parameter, which is taken out where it is written.
func readSignIn(value, param string) (*v1alpha1.SignIn, error) {
	if param != "" && !signInParam.MatchString(param) {
		return nil, fmt.Errorf("%q cannot be the name of a parameter", param)
	}
	base, query, _ := strings.Cut(value, "?")
	if strings.Contains(value, "#") || !signInBase.MatchString(base) {
		return nil, errors.New("must be an address with http:// or https://, in which $host may stand for the host, and $scheme for http or https")
	}
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, text, _ := strings.Cut(pair, "=")
		switch {
		case pair == "":
		case asked.MatchString(text) && (param == "" || param == name) && signInParam.MatchString(name):
			param = name
		case strings.Contains(pair, "$"):
			return nil, fmt.Errorf("the parameter %q is not the address that the client asked for; that is $scheme://$host$request_uri or $escaped_request_uri", name)
		case name == defaultParam && param == "" || name == param:
			return nil, fmt.Errorf("the parameter %q leads to one address, and here to the one that the client asked for", name)
		default:
			kept = append(kept, pair)
		}
	}
	if len(kept) > 0 {
		base += "?" + strings.Join(kept, "&")
	}
	if param == defaultParam {
		param = ""
	}
	return &v1alpha1.SignIn{URL: base, Param: param}, nil
}

// signInFor returns where the clients of one host are sent.
func (c *conversion) signInFor(s v1alpha1.SignIn, host string) *v1alpha1.SignIn {
	if strings.Contains(s.URL, "//"+variableHost) && !oneHost(host) {
		return nil
	}
	scheme := "http"
	if _, explicit := c.in.Ingress.Annotations[annotationTermination]; explicit || len(c.in.Ingress.Spec.TLS) > 0 {
		scheme = "https"
	}
	if rest, ok := strings.CutPrefix(s.URL, variableScheme); ok {
		s.URL = scheme + rest
	}
	s.URL = strings.Replace(s.URL, "//"+variableHost, "//"+host, 1)
	return &s
}

// signInSample is an address as the Routes have it.
func (c *conversion) signInSample(s *v1alpha1.SignIn) *v1alpha1.SignIn {
	if s == nil {
		return nil
	}
	return c.signInFor(*s, "host.example.com")
}

// oneHost reports whether a rule is for one host.
func oneHost(host string) bool { return host != "" && !strings.HasPrefix(host, "*.") }

// reportSignIn tells of rules for many hosts, whose Routes have no host to send to.
func (c *conversion) reportSignIn(into *carried, s *v1alpha1.SignIn) {
	if s != nil && strings.Contains(s.URL, "//"+variableHost) && slices.ContainsFunc(Hosts(into.ingress), func(host string) bool { return !oneHost(host) }) {
		c.warn(into.auth.signIn.field, api.ReasonForeignAnnotation, "$host has no equivalent for rules of many hosts", "their clients that may not pass get 401")
	}
}

// nothingKnown has no objects, and says so.
type nothingKnown struct{}

// unknownObject is an error that says that there is no knowing.
type unknownObject struct{}

func (unknownObject) Error() string { return "is not known here" }

// Unknown is what package authentication asks for.
func (unknownObject) Unknown() bool { return true }

// Secret implements authentication.References.
func (nothingKnown) Secret(string) (map[string][]byte, error) { return nil, unknownObject{} }

// Endpoints implements authentication.References.
func (nothingKnown) Authorities(string) (string, error) { return "", unknownObject{} }

func (nothingKnown) Endpoints(string, string) ([]netip.AddrPort, error) {
	return nil, unknownObject{}
}
