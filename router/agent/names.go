package agent

import (
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/spop"
)

// plainName returns a header's name as programs see it that take hyphens and
// underscores for the same: in lower case, with hyphens.
func plainName(name []byte) string {
	for i := range name {
		if c := name[i]; c == '_' || 'A' <= c && c <= 'Z' {
			return strings.ReplaceAll(strings.ToLower(string(name)), "_", "-")
		}
	}
	return string(name)
}

// spellings returns the names in the client's request that a pod may take for one of
// the headers that the policy writes. plain are their plain names, sorted.
func spellings(h spop.Headers, plain []string) []string {
	if len(plain) == 0 {
		return nil
	}
	var names []string
	for n := range h.All() {
		if _, ok := slices.BinarySearch(plain, plainName(n)); ok && !slices.Contains(names, string(n)) {
			names = append(names, string(n))
		}
	}
	return names
}

// ofAgent reports whether only the router and the agent may say this to another server.
func ofAgent(plain string) bool {
	switch plain {
	case "x-forwarded-method", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-uri", "x-forwarded-for", "x-forwarded-port",
		"x-forwarded-prefix", "x-forwarded-server", "x-forwarded-scheme", "x-real-ip", "x-scheme", "forwarded":
		return true
	}
	return strings.HasPrefix(plain, "x-original-") || strings.HasPrefix(plain, "x-sent-") ||
		strings.HasPrefix(plain, "x-auth-request-") || strings.HasPrefix(plain, "x-ssl-") || plain == "x-ssl"
}

// ofConnection reports whether a header is about the connection or the body, which
// another server does not get.
func ofConnection(plain string) bool {
	switch plain {
	case "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "proxy", "te", "trailer",
		"transfer-encoding", "upgrade", "expect", "host", "http2-settings":
		return true
	}
	return strings.HasPrefix(plain, "content-")
}

// cookie returns the value of a cookie. A name that is there twice has no value: programs
// differ in which one they take.
func cookie(h spop.Headers, name string) (string, bool) {
	var value string
	n := 0
	for header, list := range h.All() {
		if !strings.EqualFold(string(header), "cookie") {
			continue
		}
		for part := range strings.SplitSeq(string(list), ";") {
			k, v, ok := strings.Cut(strings.TrimSpace(part), "=")
			if ok && k == name {
				value = strings.Trim(v, `"`)
				n++
			}
		}
	}
	return value, n == 1
}
