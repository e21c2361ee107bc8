package authentication

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// The grammar of fields, the same as in the CRD: annotations and older CRDs do not have
// it checked.
var (
	objectText = regex.Later(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	realmText  = regex.Later(`^[ -~]{1,256}$`)
	pathText   = regex.Later(`^/[!-~]{0,999}$`)
	urlText    = regex.Later(`^https?://[!-~]{1,1000}$`)
	paramText  = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,64}$`)
	// namespaceText is a name of a namespace.
	namespaceText = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	portText      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	prefixText    = regexp.MustCompile(`^[ -~]{0,32}$`)
)

func objectName(s string) bool { return objectText().MatchString(s) }

// objectReference is true for NAME and NAMESPACE/NAME.
func objectReference(s string) bool {
	namespace, name, other := strings.Cut(s, "/")
	if !other {
		return objectName(s)
	}
	return namespaceText.MatchString(namespace) && objectName(name)
}

// reserved are headers that no policy writes: they say where a message ends, where it
// goes, or what only the router may say about a client. Written by an auth server they
// would make two requests of one, or let a client speak for the router.
func reserved(name string) bool {
	plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch plain {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect", "proxy", "proxy-connection",
		"proxy-authenticate", "proxy-authorization", "http2-settings", "cookie", "forwarded", "x-real-ip", "strict-transport-security":
		return true
	}
	return strings.HasPrefix(plain, "x-forwarded-") || strings.HasPrefix(plain, "x-ssl") || strings.HasPrefix(plain, ":")
}

// credential reports whether answers may be kept by a header: those that the router,
// the connection or the program of the client make say nothing about who it is.
func credential(name string) bool {
	plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if reserved(plain) || plain == "user-agent" {
		return false
	}
	return !slices.ContainsFunc([]string{"accept", "content-", "x-original-", "x-sent-", "x-auth-request-"}, func(p string) bool { return strings.HasPrefix(plain, p) })
}

// forPod checks the name of a header that the pod gets.
func (c *compiler) forPod(field string, name v1alpha1.HeaderName) bool {
	switch {
	case !model.HeaderName(string(name)):
		c.close(field, "%q is not the name of a header", name)
	case reserved(string(name)):
		c.close(field, "header %s belongs to the router or to the connection, and no policy may set it", name)
	default:
		return true
	}
	return false
}

// headers checks a list of names of headers.
func (c *compiler) headers(field string, list []v1alpha1.HeaderName, most int, check func(string, v1alpha1.HeaderName) bool) []string {
	if len(list) > most {
		c.close(field, "has %d names; at most %d are possible", len(list), most)
		return nil
	}
	var out []string
	for i, name := range list {
		if check(fmt.Sprintf("%s[%d]", field, i), name) {
			out = append(out, string(name))
		}
	}
	return out
}

// duration reads a time within bounds; an empty one is zero.
func (c *compiler) duration(field string, text v1alpha1.Duration, least, most time.Duration) time.Duration {
	if text == "" {
		return 0
	}
	d, err := api.ParseTime(string(text))
	if err != nil || d < least || d > most {
		c.close(field, "%q is not a time from %s to %s", text, least, most)
		return 0
	}
	return d
}

// oneOf checks a word; an empty one is the default.
func (c *compiler) oneOf(field, word string, words ...string) {
	if word != "" && !slices.Contains(words, word) {
		c.close(field, "must be %s", strings.Join(words, " or "))
	}
}
