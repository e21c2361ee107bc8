package explain

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Request is one request of a client, byte for byte as it would be sent.
type Request struct {
	URL string
	// Secure requests go to the TLS port.
	Secure bool
	// Host is the Host header, with its port if the URL has one.
	Host string
	// Path is the raw path without query.
	Path string
	// Query is the part from "?" on, or empty.
	Query string
	// SNI is the server name of the TLS hello; empty for none.
	SNI string
	// Method is that of the request; empty means GET.
	Method string
	// ClientIP is the client's address, invalid if it is not given.
	ClientIP netip.Addr
	// Headers are those given, without Host.
	Headers []Header
	// Subject is what the client's certificate says; nil if that is not given.
	Subject *Subject
}

// Header is one request header.
type Header struct{ Name, Value string }

// RequestArgs are a request as the command line has it.
type RequestArgs struct {
	URL     string
	Headers []string
	// SNI overrides the server name if SNISet; empty or "-" sends none.
	SNI    string
	SNISet bool
	// ClientIP may be empty.
	ClientIP string
	// Method may be empty.
	Method string
	// Subject is the name in the client's certificate, - for none; empty if it is not given.
	Subject string
}

// ParseRequest reads a request. Errors say what to write instead.
func ParseRequest(a RequestArgs) (*Request, error) {
	r := &Request{URL: a.URL}
	host, err := r.url(a.URL)
	if err != nil {
		return nil, err
	}
	r.Host = host
	for _, h := range a.Headers {
		if err := r.header(h); err != nil {
			return nil, err
		}
	}
	if r.Secure {
		r.SNI = hostOnly(host)
		if _, err := netip.ParseAddr(strings.Trim(r.SNI, "[]")); err == nil {
			r.SNI = "" // clients send no address as server name
		}
	}
	if a.SNISet {
		if !r.Secure {
			return nil, errors.New("--sni is for TLS, and the URL begins with http://; write https://")
		}
		r.SNI = a.SNI
		if a.SNI == "-" {
			r.SNI = ""
		}
		if !printable(r.SNI) || strings.ContainsAny(r.SNI, ":/") {
			return nil, fmt.Errorf("--sni %q is not a host name; write it without port, or - for none", a.SNI)
		}
	}
	if r.Method = a.Method; !isMethod(a.Method) {
		return nil, fmt.Errorf("--method %q is not an HTTP method; write one such as POST", a.Method)
	}
	if a.ClientIP != "" {
		if r.ClientIP, err = netip.ParseAddr(a.ClientIP); err != nil {
			return nil, fmt.Errorf("--client-ip %q is not an IP address; write one such as 203.0.113.7 or 2001:db8::7", a.ClientIP)
		}
		r.ClientIP = r.ClientIP.Unmap()
	}
	if r.Subject, err = parseSubject(a.Subject, r.Secure); err != nil {
		return nil, err
	}
	return r, nil
}

// url splits a URL without changing its path: what a route sees is the text.
func (r *Request) url(text string) (host string, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return "", fmt.Errorf("%q has no scheme; write http://%s or https://%s", text, text, text)
	}
	switch strings.ToLower(scheme) {
	case "http", "ws":
	case "https", "wss":
		r.Secure = true
	default:
		return "", fmt.Errorf("scheme %q is not one of http, https, ws and wss", scheme)
	}
	rest, _, _ = strings.Cut(rest, "#") // clients keep the fragment to themselves
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		at = len(rest)
	}
	host, target := rest[:at], rest[at:]
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	switch {
	case hostOnly(host) == "":
		return "", fmt.Errorf("%q names no host; write for example http://www.example.com/", text)
	case !ascii(host):
		return "", fmt.Errorf("host %q has characters beyond ASCII; write it as clients send it, in punycode (xn--…)", host)
	case !printable(host) || strings.ContainsAny(host, `"<>\^{|}`):
		return "", fmt.Errorf("host %q has a character that no host name has", host)
	case !printable(target) || !ascii(target):
		return "", errors.New("the path has a space, a control character or one beyond ASCII; percent-encode it as clients do, for example %20")
	}
	if err := checkPort(host); err != nil {
		return "", err
	}
	r.Path = target
	if i := strings.IndexByte(target, '?'); i >= 0 {
		r.Path, r.Query = target[:i], target[i:]
	}
	if r.Path == "" {
		r.Path = "/" // as clients send it
	}
	return host, nil
}

func (r *Request) header(text string) error {
	name, value, ok := strings.Cut(text, ":")
	if !ok || name == "" || strings.ContainsFunc(name, func(c rune) bool { return !tokenRune(c) }) {
		return fmt.Errorf("-H %q is not a header; write -H 'Name: value'", text)
	}
	value = strings.TrimSpace(value)
	if strings.ContainsAny(value, "\r\n\x00") {
		return fmt.Errorf("-H %q: a header value is one line", name)
	}
	if !strings.EqualFold(name, "Host") {
		r.Headers = append(r.Headers, Header{name, value})
		return nil
	}
	if !printable(value) || !ascii(value) || strings.ContainsAny(value, "/?#@") {
		return fmt.Errorf("-H 'Host: %s' is not a host name", value)
	}
	r.Host = value
	return checkPort(value)
}

func checkPort(host string) error {
	i := strings.LastIndexByte(host, ':')
	if i <= strings.LastIndexByte(host, ']') {
		return nil
	}
	if n, err := strconv.ParseUint(host[i+1:], 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q of host %q is not a number from 1 to 65535", host[i+1:], host)
	}
	return nil
}

// hostOnly cuts the port off.
func hostOnly(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c >= 0x80 })
}

// tokenRune reports whether a header name may have the character (RFC 9110).
func tokenRune(c rune) bool {
	return c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
}

// isMethod reports whether a text may be an HTTP method (RFC 9110 9.1), or is empty.
func isMethod(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return (c < 'A' || c > 'Z') && c != '-' })
}
