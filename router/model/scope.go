package model

import (
	"strconv"
	"strings"
)

// ScopeID names a listener: what comes in by it meets only the claims that are made for it.
// It is "L" and eight hexadecimal digits. HAProxy has hosts of requests in lower case, so no
// Host header is the beginning of a scope's key.
type ScopeID string

// NewScope returns the scope of a listener: of a section of an object.
func NewScope(of Object, section string) ScopeID {
	return ScopeID("L" + shortHash(string(of.Kind), of.Namespace, of.Name, section))
}

// scopeEnd stands between a scope and a host. No host of a claim has it.
const scopeEnd = "~"

// Prefix begins the hosts of a scope.
func (s ScopeID) Prefix() string { return string(s) + scopeEnd }

// ScopedHost returns the host of claims in a scope: an exact one, "*.example.com" for those
// with any number of labels before, or "*" for all that come in by the listener.
func ScopedHost(scope ScopeID, host string) string { return scope.Prefix() + host }

// SplitHost parts the host of a claim. The scope is empty for claims that share the
// router's own ports, as those of Routes do.
func SplitHost(host string) (scope ScopeID, name string) {
	if before, after, scoped := strings.Cut(host, scopeEnd); scoped {
		return ScopeID(before), after
	}
	return "", host
}

// Scoped reports whether a claim's host is in a scope.
func Scoped(host string) bool { return strings.Contains(host, scopeEnd) }

// Listener is a scope and where HAProxy listens for it.
type Listener struct {
	Scope ScopeID
	// Slot is the port of the router's pod, or zero for a listener at the router's own ports, and
	// Port the one that clients know.
	Slot, Port int
	// Hostname is exact, "*.example.com", or empty for all that no other listener of the slot
	// takes.
	Hostname string
	// Owner is the object that has the listener, Gateway the one whose slot it is: another
	// one if the owner is a ListenerSet.
	Owner, Gateway Object
	// Datagrams listeners are the policy agent's: HAProxy knows nothing of them.
	Datagrams bool
	// EndsStreams listeners end TLS of connections that are then handed on whole.
	EndsStreams bool
	// EndsRequests listeners end TLS of requests.
	EndsRequests bool
	// Left says that its port has moved to another slot, where the listener is, too. Clients
	// are told to open new connections, which are led there.
	Left bool
	// Certificates are those of a listener that ends TLS, the preferred ones first.
	Certificates []ListenerCertificate
	// Clients is what clients are asked for in the handshake, nil for nothing.
	Clients *ListenerClients
	// ALPN names the protocols that clients may agree on (gateway.OptionALPN); empty is the
	// default of the slot.
	ALPN string
}

// ListenerClients is what the handshakes of a listener ask clients for.
type ListenerClients struct {
	// CA must have signed the certificate, directly or by what the client sends along.
	CA *CA
	// LetsAllIn lets in each client, whatever it shows. Pods get to know what that was.
	LetsAllIn bool
}

// Mark names the demand by its content: what a handshake asked for holds as long as the mark
// is the same.
func (c *ListenerClients) Mark() string {
	prefix := clientMark
	if c.LetsAllIn {
		prefix = openMark
	}
	return markOf(prefix, c.CA)
}

// ListenerCertificate is one that a listener can show. For which names it does depends on
// the other listeners of its slot (certificate.Shown).
type ListenerCertificate struct {
	*Certificate
	// Secret is where it is from.
	Secret Object
	// Algorithm is that of its key. Clients get the kind of key that they can verify.
	Algorithm string
	// Names are those in the certificate that HAProxy can look up, in lower case.
	Names []string
}

// AnswerBackend is the backend that answers with a status of the router's own, 500 or 503,
// for the share of a claim that has no valid target.
func AnswerBackend(status int) string { return answerPrefix + strconv.Itoa(status) }

// IsAnswerBackend reports whether a name is that of such a backend.
func IsAnswerBackend(name string) bool { return strings.HasPrefix(name, answerPrefix) }

const answerPrefix = "router_answer_"
