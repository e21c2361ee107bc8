package model

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Forwarded says what happens to the headers that tell a pod who asked.
type Forwarded string

// The modes of spec.httpHeaders.forwardedHeaderPolicy and its annotation.
const (
	ForwardedAppend  Forwarded = "append"
	ForwardedReplace Forwarded = "replace"
	ForwardedIfNone  Forwarded = "if-none"
	ForwardedNever   Forwarded = "never"
)

// Policy is what a route asks for beyond its servers, as data that HAProxy's
// rules read at run time. It is comparable by Equal.
type Policy struct {
	// TimeoutServer and TimeoutTunnel are zero for the router's defaults.
	TimeoutServer, TimeoutTunnel time.Duration
	// CookieName is the name that clients see, or empty without stickiness.
	CookieName string
	// CookieAttributes follow the cookie's value, such as "; Secure".
	CookieAttributes string
	Forwarded        Forwarded
	// Limits bound what one client address may do.
	Limits Limits
	// Rewrite replaces the beginning of the path; nil leaves it alone.
	Rewrite *Rewrite
	// HSTS is the value of Strict-Transport-Security, or empty.
	HSTS string
	// Restricted admits only clients in Allow.
	Restricted bool
	Allow      []netip.Prefix
	// RequestHeaders and ResponseHeaders are changed in order.
	RequestHeaders, ResponseHeaders []HeaderAction
}

// Limits are per client address; zero means no limit.
type Limits struct {
	// Concurrent is the number of requests (connections for passthrough) at
	// the same time.
	Concurrent int
	// Connections is the number of new ones in 3 seconds.
	Connections int
	// Requests is the number of HTTP requests in 10 seconds.
	Requests int
}

// Rewrite cuts the first Strip bytes of the path and puts To before the rest,
// or Empty in its place where nothing is left.
type Rewrite struct {
	Strip     int
	To, Empty string
}

// HeaderAction sets a header, or deletes it if Delete is true.
type HeaderAction struct {
	Name   string
	Delete bool
	// Value is literal text with the fetches of the Route API, "%[req.hdr(x),lower]",
	// and "%%" for a percent sign.
	Value string
}

// Record returns the part of the policy that rules read as one line split at
// "|", or an empty text if every field has its default. It begins with "|" if
// nothing but a sticky cookie is asked for, so that rules can leave most
// requests alone after one look. No field holds a "|": doors see to it. The
// order of the fields is part of the skeleton in templates/: HAProxy counts
// from the beginning, so what most requests need comes first.
func (p *Policy) Record() string {
	cookie := p.CookieName + "|" + p.CookieAttributes // 2, 3
	fields := []string{
		number(p.Limits.Requests), number(p.Limits.Concurrent), number(p.Limits.Connections), // 4, 5, 6
		milliseconds(p.TimeoutServer), milliseconds(p.TimeoutTunnel), // 7, 8
		"", "", "", // 9 strip, 10 to, 11 empty
		p.HSTS, // 12
	}
	if r := p.Rewrite; r != nil {
		fields[5], fields[6], fields[7] = strconv.Itoa(r.Strip), r.To, r.Empty
	}
	more := strings.TrimRight("|"+strings.Join(fields, "|"), "|")
	mode := forwardedCode(p.Forwarded) + flag(p.Restricted, "w") + flag(p.Limits != Limits{}, "l") + flag(len(p.RequestHeaders) > 0, "q") + flag(len(p.ResponseHeaders) > 0, "s") // 1
	switch {
	case more == "" && mode == forwardedCode(ForwardedAppend):
		return strings.TrimRight("|"+cookie, "|")
	default:
		return strings.TrimRight(mode+"|"+cookie+more, "|")
	}
}

func milliseconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func flag(set bool, text string) string {
	if set {
		return text
	}
	return ""
}

// forwardedCode is the first letter of every record that asks for more than a
// cookie.
func forwardedCode(f Forwarded) string {
	switch f {
	case ForwardedReplace:
		return "r"
	case ForwardedIfNone:
		return "i"
	case ForwardedNever:
		return "n"
	case ForwardedAppend:
	}
	return "a"
}
