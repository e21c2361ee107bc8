// Package snapshot is what the router hands to the policy agent: all policies that
// need it, by ID, in versioned JSON with a generation and a hash. It is pure, and
// knows nothing of Kubernetes.
//
// A snapshot holds secrets (hashes of passwords, shared keys), so it is kept only in memory.
package snapshot

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/jwt"
)

// Version is the version of the format. An agent refuses any other one, and keeps
// the snapshot that it has.
const Version = 1

// Snapshot is everything that an agent decides by.
type Snapshot struct {
	Version    int    `json:"version"`
	Generation uint64 `json:"generation"`
	// Forbidden are networks that the agent never connects to, besides loopback,
	// link-local, unspecified and multicast addresses: nodes, router pods, the API server.
	Forbidden []netip.Prefix `json:"forbidden,omitempty"`
	// ByEndpoints has the agent connect to nothing but the endpoints of Services: not all
	// networks that are forbidden are known.
	ByEndpoints bool `json:"byEndpoints,omitempty"`
	// Sessions are the keys of cookies; without any, logins are refused.
	Sessions []SessionKey `json:"sessions,omitempty"`
	// Replicas count together what Counted limits; without them that is refused.
	Replicas *Replicas `json:"replicas,omitempty"`
	// Relays are UDP ports whose datagrams the agent relays.
	Relays   []Relay  `json:"relays,omitempty"`
	Policies []Policy `json:"policies"`
}

// Networks are those that the agent never connects to.
type Networks struct {
	Forbidden []netip.Prefix
	// Incomplete says that there are others, which are not known.
	Incomplete bool
}

// Surroundings are what a snapshot has besides policies.
type Surroundings struct {
	Networks Networks
	// Sessions are the keys of cookies.
	Sessions []SessionKey
	// Replicas are the routers that count together; nil for none.
	Replicas *Replicas
	// Relays are UDP ports whose datagrams the agent relays, by port.
	Relays []Relay
}

// Equal reports whether two are the same.
func (s Surroundings) Equal(o Surroundings) bool {
	return s.Networks.Equal(o.Networks) && s.Replicas.Equal(o.Replicas) && sameRelays(s.Relays, o.Relays) && slices.EqualFunc(s.Sessions, o.Sessions, func(a, b SessionKey) bool {
		return a.Made == b.Made && string(a.Secret) == string(b.Secret)
	})
}

// Equal reports whether two are the same.
func (n Networks) Equal(o Networks) bool {
	return n.Incomplete == o.Incomplete && slices.Equal(n.Forbidden, o.Forbidden)
}

// Satisfy says how many of a policy's methods must admit a request.
type Satisfy string

// The values of Satisfy. The empty one is All.
const (
	All Satisfy = "All"
	Any Satisfy = "Any"
)

// Policy is the part of an effective policy that the agent decides. A policy without
// any method refuses everything.
type Policy struct {
	// ID is what HAProxy asks for. It changes with the policy's content, so that no
	// verdict about an older version is used.
	ID string `json:"id"`
	// Namespace is whose share of the agent's work the policy uses.
	Namespace string  `json:"namespace"`
	Satisfy   Satisfy `json:"satisfy,omitempty"`
	// Listed clients need none of the methods; only with Any.
	Listed        []netip.Prefix   `json:"listed,omitempty"`
	Basic         *Basic           `json:"basic,omitempty"`
	External      *External        `json:"external,omitempty"`
	JWT           *JWT             `json:"jwt,omitempty"`
	OIDC          *OIDC            `json:"oidc,omitempty"`
	APIKeys       *APIKeys         `json:"apiKeys,omitempty"`
	Authorization []authorize.Rule `json:"authorization,omitempty"`
	// Identities are what HAProxy counts requests by, in the order of its limits.
	Identities []Identity `json:"identities,omitempty"`
	// Mirrors are targets of copies of requests. A policy with any decides about nothing.
	Mirrors []Mirror `json:"mirrors,omitempty"`
	// Counted are limits over all replicas. A policy with any decides about nothing else.
	Counted []Counted `json:"counted,omitempty"`
	// Limits are limits over all replicas of the requests that the policy lets on, by identity. HAProxy
	// keeps no verdict of such a policy, because each request is counted.
	Limits []Counted `json:"limits,omitempty"`
}

// Identity is a claim, or who the client is where it names none.
type Identity struct {
	Claim string `json:"claim,omitempty"`
}

// MaxIdentities is how many of them HAProxy keeps with a verdict.
const MaxIdentities = 3

// Mirror is where copies of requests go, with their own paths.
type Mirror struct {
	// URL has http or https, a host and perhaps a port. Endpoints and ByEndpoints are as
	// those of External.
	URL         string           `json:"url"`
	Endpoints   []netip.AddrPort `json:"endpoints,omitempty"`
	ByEndpoints bool             `json:"byEndpoints,omitempty"`
	// HTTP2 has copies sent by HTTP/2, without TLS too, as calls of gRPC need it.
	HTTP2 bool `json:"http2,omitempty"`
	// Host is the Host header; empty for that of the request.
	Host string `json:"host,omitempty"`
	// Set and Remove change headers. Keep has Authorization and Cookie where these are
	// copied.
	Set    []Header `json:"set,omitempty"`
	Remove []string `json:"remove,omitempty"`
	Keep   []string `json:"keep,omitempty"`
	// MaxInFlight is how many copies may be under way in one worker.
	MaxInFlight int `json:"maxInFlight,omitempty"`
}

// Header is a header of copies.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Basic is authentication by user and password.
type Basic struct {
	// Htpasswd is the text of a file of users, or Users their hashes by name.
	Htpasswd string            `json:"htpasswd,omitempty"`
	Users    map[string]string `json:"users,omitempty"`
	Realm    string            `json:"realm,omitempty"`
	// ForwardUser is the header that gets the user's name.
	ForwardUser string `json:"forwardUser,omitempty"`
	// KeepCredentials leaves the Authorization header for the pod.
	KeepCredentials bool `json:"keepCredentials,omitempty"`
	// MaxFailures is how many wrong passwords an address may send in a period; 0 is 10.
	MaxFailures int           `json:"maxFailures,omitempty"`
	FailurePer  time.Duration `json:"failurePer,omitempty"`
}

// External is authentication by a server that is asked about each request.
type External struct {
	// URL is where the server is asked: http or https, host, port and path.
	URL string `json:"url"`
	// Endpoints are where to connect to for the URL's host, if the router knows them: the
	// pods of a Service.
	Endpoints []netip.AddrPort `json:"endpoints,omitempty"`
	// ByEndpoints says that the server is nowhere else: without any of them nothing is
	// asked, and the URL's host is never resolved.
	ByEndpoints bool `json:"byEndpoints,omitempty"`
	// CA is the PEM of the certificates that the server's must descend from, instead of
	// the system's.
	CA string `json:"ca,omitempty"`
	// Method is GET, or Original for the request's own.
	Method string `json:"method,omitempty"`
	// RequestHeaders are those of the client that are sent; empty is all but those that
	// concern the connection or the body.
	RequestHeaders []string `json:"requestHeaders,omitempty"`
	// ResponseHeaders of the answer go to the pod.
	ResponseHeaders []string `json:"responseHeaders,omitempty"`
	// ClientHeaders of a refusal go to the client.
	ClientHeaders   []string      `json:"clientHeaders,omitempty"`
	SignIn          *SignIn       `json:"signIn,omitempty"`
	SetCookieAlways bool          `json:"setCookieAlways,omitempty"`
	Timeout         time.Duration `json:"timeout,omitempty"`
	// RefuseRedirects makes a redirect of the server an error instead of an answer.
	RefuseRedirects bool  `json:"refuseRedirects,omitempty"`
	Cache           Cache `json:"cache"`
}

// SignIn turns 401 into a redirect.
type SignIn struct {
	URL string `json:"url"`
	// Param is the query argument that gets the original URL; default is rd.
	Param string `json:"param,omitempty"`
}

// Cache is for how long answers of an external server are kept.
type Cache struct {
	TTL      time.Duration `json:"ttl,omitempty"`
	Negative time.Duration `json:"negative,omitempty"`
	// Key are the headers with credentials: a header's name, or Cookie:NAME. A request
	// without any of them is never answered from the cache.
	Key []string `json:"key,omitempty"`
}

// JWT is authentication by a JSON Web Token.
type JWT struct {
	Issuers []Issuer `json:"issuers"`
	// From are the places where a token may be; empty is the Authorization header.
	From []Source `json:"from,omitempty"`
	// Optional lets requests without any token on; an invalid one is refused.
	Optional bool          `json:"optional,omitempty"`
	Claims   []ClaimHeader `json:"claims,omitempty"`
	// Drop removes the token from the request.
	Drop bool `json:"drop,omitempty"`
}

// Source is a place of a token.
type Source struct {
	// Type is Header, Cookie or Query.
	Type   string `json:"type"`
	Name   string `json:"name"`
	Prefix string `json:"prefix,omitempty"`
}

// Issuer is one issuer of tokens, with one source of keys.
type Issuer struct {
	Name       string        `json:"name"`
	Audiences  []string      `json:"audiences,omitempty"`
	Algorithms []string      `json:"algorithms,omitempty"`
	Leeway     time.Duration `json:"leeway,omitempty"`
	MaxAge     time.Duration `json:"maxAge,omitempty"`
	// JWKSURI is where the key set is fetched, JWKS the set itself, Secret a shared key.
	JWKSURI string `json:"jwksURI,omitempty"`
	CA      string `json:"ca,omitempty"`
	JWKS    string `json:"jwks,omitempty"`
	Secret  []byte `json:"secret,omitempty"`
}

// APIKeys is authentication by a key that HAProxy has looked up.
type APIKeys struct {
	// Header is the one that HAProxy sets for the pod if it found a consumer.
	Header string `json:"header,omitempty"`
}

// ClaimHeader writes a claim into a header for the pod.
type ClaimHeader struct {
	Claim  string   `json:"claim"`
	Header string   `json:"header"`
	As     jwt.Form `json:"as,omitempty"`
}

// Credentials says by which headers of a request HAProxy may let a client on without
// asking again: "a" for Authorization, "c" for Cookie, "ac" for both, "s" for the cookies
// of a session at one host and path, and "" if each request must be asked about, because the
// verdict depends on something else, or comes with headers for the pod. The router writes it into the Route's record.
func (p *Policy) Credentials() string {
	if p.keepsSessions() {
		return "s"
	}
	if len(p.Limits) > 0 || p.Satisfy == Any || p.OIDC != nil || !p.keepable() || p.Basic == nil && p.JWT == nil && p.External == nil {
		return ""
	}
	var authorization, cookies bool
	if p.Basic != nil {
		if p.Basic.ForwardUser != "" {
			return ""
		}
		authorization = true
	}
	if p.JWT != nil {
		if !p.JWT.keepable() {
			return ""
		}
		authorization = true
	}
	if x := p.External; x != nil {
		byAuthorization, byCookies, ok := x.credentials()
		if !ok {
			return ""
		}
		authorization, cookies = authorization || byAuthorization, byCookies
	}
	switch {
	case authorization && cookies:
		return "ac"
	case cookies:
		return "c"
	}
	return "a"
}

// keepable reports whether a token is in Authorization, and nothing of it is for the pod.
func (j *JWT) keepable() bool {
	if j.Optional || j.Drop || len(j.Claims) > 0 || len(j.From) > 1 {
		return false
	}
	return len(j.From) == 0 || j.From[0].Type == "Header" && strings.EqualFold(j.From[0].Name, "Authorization")
}

// keepsSessions reports whether nothing but the session decides, and nothing of it is for the pod.
func (p *Policy) keepsSessions() bool {
	o := p.OIDC
	return o != nil && len(o.Claims) == 0 && o.AccessToken == "" && o.IDToken == "" &&
		p.Basic == nil && p.JWT == nil && p.External == nil && p.APIKeys == nil &&
		len(p.Limits) == 0 && p.Satisfy != Any && p.keepable()
}

// credentials says by which of the two headers the server's answers may be kept, and
// reports false if they may be by neither.
func (x *External) credentials() (authorization, cookies, ok bool) {
	if x.Cache.TTL <= 0 || len(x.ResponseHeaders) > 0 {
		return false, false, false
	}
	authorization = len(x.Cache.Key) == 0
	for _, k := range x.Cache.Key {
		switch {
		case strings.EqualFold(k, "Authorization"):
			authorization = true
		case strings.HasPrefix(k, "Cookie:"):
			cookies = true
		default:
			return false, false, false
		}
	}
	return authorization, cookies, true
}

// keepable reports whether a verdict depends on credentials alone. Rules and limits may ask
// for the consumer of an API key as well, and HAProxy does not keep verdicts by API keys.
func (p *Policy) keepable() bool {
	return authorize.ByIdentity(p.Authorization) && (p.APIKeys == nil || len(p.Authorization)+len(p.Identities) == 0)
}

// Strips reports whether HAProxy has to remove Authorization from a request that it lets
// on by an earlier verdict. With Any there is none, and the header may hold a token.
func (p *Policy) Strips() bool {
	return p.Basic != nil && !p.Basic.KeepCredentials && p.Satisfy != Any
}
