package model

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS says which pages of other origins may read answers.
type CORS struct {
	// Origins are admitted: one as browsers write it, "https://*.example.com" for
	// all with one more label, or "*" for all.
	Origins []string
	// Domains are such as "https://*.example.com" for all origins with any number of labels
	// more, and "https://*" for all of a scheme.
	Domains []string
	// Methods, Headers and Expose are the values of headers.
	// With credentials, AnyOrigin among methods or headers lets the answer repeat what the
	// preflight asks for, because browsers then take no wildcard.
	Methods, Headers, Expose string
	Credentials              bool
	// MaxAge is how long the answer to a preflight holds.
	MaxAge time.Duration
	// Forward lets pods answer preflights.
	Forward bool
}

// AnyOrigin admits all origins.
const AnyOrigin = "*"

// Repeated stands in the record of an origin for what a preflight asks for.
const Repeated = "="

// OriginRecord is what rules read for an admitted origin: how it is named in answers,
// credentials, methods, headers, names to expose, and seconds.
func (c *CORS) OriginRecord(origin string) string {
	named := "e"
	if origin == AnyOrigin && !c.Credentials {
		named = AnyOrigin
	}
	names := func(list string) string {
		if list == AnyOrigin && c.Credentials {
			return Repeated
		}
		return list
	}
	fields := []string{named, flag(c.Credentials, "c"), names(c.Methods), names(c.Headers), c.Expose, strconv.Itoa(int(c.MaxAge / time.Second))}
	return strings.Join(fields, separator)
}

// DomainsKey is there for backends with Domains. It is no beginning of the keys of these.
const DomainsKey = "+"

// DomainKey is what the key of an origin of a domain begins with (render.corsRules):
// "~https:8443/com.example." for "https://*.example.com:8443". That of "https://example.com:8443"
// itself, which is not of the domain, ends in "com.example/".
func DomainKey(domain string) string {
	scheme, rest, _ := strings.Cut(domain, "://")
	host, port, _ := strings.Cut(rest, ":")
	labels := strings.Split(strings.TrimPrefix(strings.TrimPrefix(host, "*"), "."), ".")
	slices.Reverse(labels)
	key := "~" + scheme + ":" + port + "/"
	if len(labels) > 1 || labels[0] != "" {
		key += strings.Join(labels, ".") + "."
	}
	return key
}
