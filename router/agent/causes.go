package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// What the tenant whose policy names a server hears about it. The classes do not tell a closed
// port from a filtered one, a server that speaks another protocol from one that does not answer,
// nor a name that does not exist from one that does: otherwise a policy would be a way to look
// around in networks that the router reaches and the tenant does not. The error itself is in the
// log.
const (
	causeNoAnswer  = "no answer"
	causeForbidden = "its address is one that no policy may have the router connect to"
	causeNoNodes   = "the router may not list the cluster's nodes, so it connects to no server that is no pod"
	causeUntrusted = "its TLS certificate is not trusted"
	causeExpired   = "its TLS certificate has expired, or is not valid yet"
	causeNoKeys    = "an answer that is no JSON Web Key Set with 1 to 50 keys for signatures: RSA from 2048 bits, P-256, P-384, P-521 or Ed25519"
	causeNoIssuer  = "an answer that is no discovery document of an OpenID provider"
	causeOtherOne  = "the discovery document is of another issuer"
	causeNoHTTPS   = "the discovery document has an endpoint that is not an address of https"
	causeUndecided = "an answer that neither lets requests on nor refuses them"
)

// discoveryPath is where a provider says what it has.
const discoveryPath = "/.well-known/openid-configuration"

// answerError is an answer that is not what was asked for.
type answerError struct{ err error }

func (e *answerError) Error() string { return e.err.Error() }
func (e *answerError) Unwrap() error { return e.err }

// documentError is what is wrong with a document that is one, as one of the classes.
type documentError string

func (e documentError) Error() string { return string(e) }

// whyNot is the class of an error. It is the same for the same cause, at any time and by any
// connection: each other text is written to the policy's status.
func whyNot(err error) string {
	var (
		document  documentError
		answer    *answerError
		read      *fetchError
		untrusted *tls.CertificateVerificationError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.Is(err, errUnknownNodes):
		return causeNoNodes
	case errors.Is(err, ErrForbidden):
		return causeForbidden
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return causeExpired
	case errors.As(err, &untrusted):
		return causeUntrusted
	case errors.As(err, &document):
		return string(document)
	case errors.As(err, &answer) && errors.As(err, &read) && strings.HasSuffix(read.uri, discoveryPath):
		return causeNoIssuer
	case errors.As(err, &answer):
		return causeNoKeys
	}
	return causeNoAnswer
}

// cause is why a server did not decide a request. Of a Service the tenant hears more: it could
// ask its pods itself.
func (m *external) cause(err error) string {
	var (
		answer  *answerError
		timeout net.Error
		own     = m.endpoints.only || len(m.endpoints.list) > 0
	)
	switch {
	case errors.As(err, &answer) && own:
		return answer.Error()
	case errors.As(err, &answer):
		return causeUndecided
	case own && errors.Is(err, errNoEndpoint):
		return errNoEndpoint.Error()
	case own && errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %v", m.timeout)
	}
	return whyNot(err)
}
