package gateway

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const (
	// usualCORSAge is what the API gives where maxAge is not set, in seconds.
	usualCORSAge = 5
	// mostCORSAge is a day, in seconds: browsers remember a preflight no longer.
	mostCORSAge = 86400
	// mostCORSBytes bounds the lists of a filter together: each origin has them in HAProxy.
	mostCORSBytes = 4096
	// mostOrigins is the API's bound.
	mostOrigins = 64
)

// originText is an origin as the API writes it, in lower case. HAProxy's keys hold no more.
var originText = regexp.MustCompile(`^(https?)://(\*|(?:\*\.)?(?:[a-z0-9-]+\.)*[a-z0-9-]+)(?::([0-9]{1,5}))?$`)

// cors reads which pages of other origins may read answers. What is not understood refuses
// the route.
func (b *builder) cors(f *gatewayv1.HTTPCORSFilter, at string) *model.CORS {
	out := &model.CORS{MaxAge: time.Duration(min(cmp.Or(max(f.MaxAge, 0), usualCORSAge), mostCORSAge)) * time.Second}
	out.Credentials = f.AllowCredentials != nil && *f.AllowCredentials
	if len(f.AllowOrigins) > mostOrigins {
		b.unsupported(at+".allowOrigins", fmt.Sprintf("has more than %d origins", mostOrigins))
		return out
	}
	for i, text := range f.AllowOrigins {
		origin, many := origin(string(text))
		switch {
		case origin == "":
			b.unsupported(fmt.Sprintf("%s.allowOrigins[%d]", at, i), "must be an origin such as https://shop.example.com or https://*.example.com, or \"*\"")
		case many:
			out.Domains = append(out.Domains, origin)
		default:
			out.Origins = append(out.Origins, origin)
		}
	}
	methods := make([]string, len(f.AllowMethods))
	for i, m := range f.AllowMethods {
		if methods[i] = string(m); methods[i] != model.AnyOrigin && !methodToken(methods[i]) {
			b.unsupported(fmt.Sprintf("%s.allowMethods[%d]", at, i), "is not a method")
		}
	}
	out.Methods = strings.Join(methods, ", ")
	out.Headers = b.corsNames(f.AllowHeaders, at+".allowHeaders")
	if out.Expose = b.corsNames(f.ExposeHeaders, at+".exposeHeaders"); out.Expose == model.AnyOrigin && out.Credentials {
		out.Expose = "" // with credentials, browsers would take it for the name of a header
	}
	if len(out.Methods)+len(out.Headers)+len(out.Expose) > mostCORSBytes {
		b.unsupported(at, fmt.Sprintf("has lists of more than %d bytes together", mostCORSBytes))
	}
	return out
}

// corsNames returns the value of a header that lists names of headers.
func (b *builder) corsNames(list []gatewayv1.HTTPHeaderName, at string) string {
	names := make([]string, len(list))
	for i, n := range list {
		// Fields of HAProxy's records are separated by "|", and "=" is one that stands alone.
		if names[i] = string(n); !model.HeaderName(names[i]) || strings.Contains(names[i], "|") {
			b.unsupported(fmt.Sprintf("%s[%d]", at, i), "is not the name of a header")
		}
	}
	return strings.Join(names, ", ")
}

// origin returns an origin as browsers write it, and whether it stands for many of a domain
// or a scheme; it is empty if it cannot be read.
func origin(text string) (origin string, many bool) {
	if text == model.AnyOrigin {
		return text, false
	}
	m := originText.FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return "", false
	}
	scheme, host, port := m[1], m[2], m[3]
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return "", false
		}
		port = ":" + strconv.Itoa(n)
		// Browsers leave out the port that a scheme has anyway.
		if scheme == "https" && n == 443 || scheme == "http" && n == 80 {
			port = ""
		}
	}
	many = strings.HasPrefix(host, "*")
	if many && strings.Count(host, ".") > gateway.MostWildcardLabels {
		return "", false
	}
	return scheme + "://" + host + port, many
}
