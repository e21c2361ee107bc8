package match

import (
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Tables are what HAProxy looks requests up in.
type Tables struct {
	// HTTP and HTTPS are the routing tables of the two listeners, SNI is that of
	// server names.
	HTTP, HTTPS, SNI Table
	// Listeners and Suffixes lead hosts to the scopes of Gateways' listeners, by slot, and
	// Suffixes those to the wildcard host of a scope.
	Listeners, Suffixes Table
	// Certificates map a filter of the list of certificates (a host, "*.domain" or
	// "*") to the ID of a certificate.
	Certificates map[string]string
	// Rewrites reports whether the value of a routing key changes the path.
	Rewrites func(value string) bool
	// ClientMark returns the mark of the authorities whose certificates the value of a
	// routing key asks for, or "". The server name's value must be the same.
	ClientMark func(value string) string
}

// Request is what of a request the tables decide by.
type Request struct {
	// Slot is the port that a Gateway's listener has in the router's pod, or zero: then the
	// request goes to one of the router's own ports.
	Slot int
	// TLS requests go to the TLS port. SNI is their server name, empty for none.
	TLS bool
	SNI string
	// Host is the Host header, with its port if it has one.
	Host string
	// Path is the raw path without query.
	Path string
	Asked
}

// Listener is where a request is decided.
type Listener string

// The listeners.
const (
	ListenerHTTP  Listener = "http"
	ListenerHTTPS Listener = "https"
	// ListenerPassthrough hands TLS connections on by their server name.
	ListenerPassthrough Listener = "passthrough"
)

// Decision is where the tables send a request.
type Decision struct {
	Listener Listener
	// Scope is that of the Gateway's listener, or empty.
	Scope model.ScopeID
	// Value is that of the key that answers, one of this package's words, or "" if
	// nothing matches.
	Value string
	// Respelled says that the path as it is written leads elsewhere: it was
	// normalised.
	Respelled bool
	// Filter is the filter that chooses the certificate, and Certificate its ID; both
	// are empty where the router ends no TLS.
	Filter, Certificate string
}

// Decide looks a request up as HAProxy does (templates/haproxy.cfg.tmpl).
func Decide(t *Tables, r Request) Decision {
	if r.Slot != 0 {
		return t.decideScoped(r)
	}
	if !r.TLS {
		d := Decision{Listener: ListenerHTTP}
		d.Value, d.Respelled = t.look(t.HTTP, r)
		return d
	}
	name := ServerName(r.SNI)
	if v := t.SNI.Passthrough(name); v != "" && name != "" {
		return Decision{Listener: ListenerPassthrough, Value: v}
	}
	d := Decision{Listener: ListenerHTTPS}
	d.Value, d.Respelled = t.look(t.HTTPS, r)
	if (d.Value == "" || d.Value == Refuse) && t.SNI.Passthrough(Host(r.Host)) != "" {
		d.Value = Misdirected
	}
	if mark := t.clientMark(d.Value); mark != "" && (t.SNI.value(name) != mark || name != Host(r.Host)) {
		d.Value = Misdirected
	}
	for _, filter := range []string{name, Wildcard(name), Any} {
		if id, ok := t.Certificates[filter]; ok && (name != "" || filter == Any) {
			d.Filter, d.Certificate = filter, id
			break
		}
	}
	return d
}

func (t *Tables) clientMark(value string) string {
	if t.ClientMark == nil || value == "" || value[0] == '!' {
		return ""
	}
	return t.ClientMark(value)
}

// look decides a path. One that is a rule's only when normalised is not rewritten:
// a rewrite cuts as many bytes as the rule's path has.
func (t *Tables) look(in Table, r Request) (value string, respelled bool) {
	value, respelled = in.Look(t.HTTP, r.Host, r.Path, &r.Asked)
	if respelled && t.Rewrites != nil && t.Rewrites(value) {
		return BadPath, true
	}
	return value, respelled
}

// ServerName returns a server name as the tables know it: lower case and without a
// trailing dot.
func ServerName(sni string) string { return strings.ToLower(strings.TrimRight(sni, ".")) }
