package model

import (
	"net/netip"
	"strconv"
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

// Policy is what a claim asks for beyond its servers and their sticky cookie, as data
// that HAProxy's rules read at run time.
type Policy struct {
	// Timeouts are zero for the router's defaults.
	Timeouts Timeouts
	// Forwarded is ForwardedAppend if it is empty.
	Forwarded Forwarded
	// Limits bound what one client address may do.
	Limits Limits
	// Rates and Concurrents bound what requests with the same key may do. All of them
	// hold.
	Rates       []RateLimit
	Concurrents []ConcurrentLimit
	// Identified are rates by identity, which Agent and APIKeys have to find out first.
	Identified []RateLimit
	// IdentifiedConcurrents bound what clients with the same identity have under way.
	IdentifiedConcurrents []ConcurrentLimit
	// Shared are rates that all replicas count together, and Counted is what the policy
	// agent, which does that, has to know; nil with Shared only where it is not asked for.
	Shared  []RateLimit
	Counted *Agent
	// SharedIdentified are rates by identity that all replicas count together, which Agent does
	// with the requests that it lets on.
	SharedIdentified []RateLimit
	// Rewrite replaces the beginning of the path; nil leaves it alone.
	Rewrite *Rewrite
	// PodHost is the Host header that pods get; empty for the client's.
	PodHost string
	// HSTS is the value of Strict-Transport-Security, or empty.
	HSTS string
	// Restricted admits only clients in Allow, and no client in Deny is admitted.
	Restricted  bool
	Allow, Deny []netip.Prefix
	// Sizes bound single requests.
	Sizes Sizes
	// Redirects answer in place of the pods.
	Redirects []Redirect
	// Maintenance is nil where the pods serve.
	Maintenance *Maintenance
	// Pages are nil where clients get error answers as they are.
	Pages *Pages
	// Unlogged is the percentage of requests that are not written to the access log.
	Unlogged int
	// RequestID gives pods a header X-Request-ID.
	RequestID RequestID
	// CORS is nil where it is left to the pods.
	CORS *CORS
	// RetryAll tries requests of all methods again where the profile does on failures.
	RetryAll bool
	// Hash is what the balance KeyHash goes by, and nil with others.
	Hash *HashKey
	// Firewall is nil where requests are not judged.
	Firewall *Firewall
	// Fault is nil where requests are let on as they are.
	Fault *Fault
	// Bandwidth bounds how fast bodies are.
	Bandwidth Bandwidth
	// Tracing gives pods a traceparent.
	Tracing Tracing
	// Mirror is nil where nothing is copied.
	Mirror *Mirror
	// Canary is nil where all requests go to the claim's own backend.
	Canary *Canary
	// Agent is nil where the policy agent is not asked.
	Agent *Agent
	// APIKeys is nil where no key is asked for.
	APIKeys *APIKeys
	// Certificate is nil where clients need not show one.
	Certificate *ClientCertificate
	// RequestHeaders and ResponseHeaders are changed in order.
	RequestHeaders, ResponseHeaders []HeaderAction
	// BranchHeaders are changed in requests to one backend of the claim, after
	// RequestHeaders: of Canary's by its name, and of the claim's own by an empty one.
	BranchHeaders map[string][]HeaderAction
	// BranchRewrites say, for the same names, what pods of one backend get in place of the host
	// and the path that the client sent; what they leave open is as Rewrite and PodHost say.
	BranchRewrites map[string]BranchRewrite
	// Cookies and Location are nil where those of pods reach clients as they are.
	Cookies  *CookieChanges
	Location *LocationChange
	// ClientCertificate is shown to pods, or nil. Servers name it.
	ClientCertificate *Certificate
}

// Timeouts bound how long the router waits; zero means its default.
type Timeouts struct {
	// Server bounds a pod's answer until it begins, and each pause in it unless Idle
	// does.
	Server, Idle time.Duration
	// Tunnel bounds an idle upgraded connection.
	Tunnel time.Duration
	// Connect bounds an attempt to connect to a pod, Queue the time that a request
	// waits for one.
	Connect, Queue time.Duration
	// Total bounds all attempts of a request together, until the answer of the last one
	// begins.
	Total time.Duration
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

// Maintenance answers 503 in place of the pods.
type Maintenance struct {
	// Exempt clients reach the pods.
	Exempt []netip.Prefix
	// RetryAfter is in seconds; 0 is none.
	RetryAfter int
	// Until is when it ends, in seconds since 1970; 0 is never. HAProxy compares it with its
	// clock, so nothing has to be changed then.
	Until int64
}

// RequestID says what becomes of the header X-Request-ID.
type RequestID string

// The header is left alone, made where the client sends none, or always made.
const (
	RequestIDNone    RequestID = ""
	RequestIDKeep    RequestID = "Keep"
	RequestIDReplace RequestID = "Replace"
)

// Sizes are in bytes; zero means no limit.
type Sizes struct {
	// Body bounds the body of a request, which then has to say its length.
	Body int64
	// URI bounds path and query, Headers all headers.
	URI, Headers int
}

// HeaderAction sets a header. It deletes it if Delete is true, and adds a value to it
// if Add is true.
type HeaderAction struct {
	Name        string
	Delete, Add bool
	// Value is literal text with the fetches of the Route API, "%[req.hdr(x),lower]",
	// and "%%" for a percent sign.
	Value string
}

// Field is the place of a value in a policy record, counted from 1 as HAProxy's
// converter "field" does (manual, section 7.3.1).
type Field int

// The fields of a record. What most requests need comes first, because HAProxy
// counts from the beginning.
const (
	// FieldMode begins with one of the Mode letters and goes on with Flag letters.
	FieldMode Field = 1 + iota
	FieldCookieName
	FieldCookieAttributes
	FieldTracing
	FieldRequests
	FieldConcurrent
	FieldConnections
	// FieldServerTimeout and FieldTunnelTimeout are in milliseconds.
	FieldServerTimeout
	FieldTunnelTimeout
	FieldStrip
	FieldRewrite
	FieldRewriteEmpty
	FieldHSTS
	FieldBody
	FieldURI
	FieldHeaders
	FieldRetryAfter
	FieldUnlogged
	// FieldAsk is the ID of the policy that the agent is asked about, FieldAskBy what
	// its verdict may be kept by.
	FieldAsk
	FieldAskBy
	// FieldRates and FieldConcurrents hold limits, which plus signs separate.
	FieldRates
	FieldConcurrents
	// These three are in milliseconds, too.
	FieldConnectTimeout
	FieldQueueTimeout
	FieldIdleTimeout
	FieldPodHost
	// FieldKeyFrom are the places of API keys, which plus signs separate.
	FieldKeyFrom
	FieldCanary
	FieldHash
	FieldPattern
	// FieldClientCA is the mark of the authorities of clients.
	FieldClientCA
	FieldFault
	FieldMirror
	FieldBandwidth
	// FieldCounted is the ID of the limits that the agent counts.
	FieldCounted
	// FieldUntil is when maintenance ends, in seconds since 1970.
	FieldUntil
	FieldFirewall
	// FieldTotalTimeout is in milliseconds.
	FieldTotalTimeout
	// FieldIdentified is as FieldRates.
	FieldIdentified
	endOfFields
)

// fields write the fields behind the mode and the cookie.
var fields = [endOfFields]func(*Policy) string{
	FieldTracing:        tracing,
	FieldRequests:       func(p *Policy) string { return number(p.Limits.Requests) },
	FieldConcurrent:     func(p *Policy) string { return number(p.Limits.Concurrent) },
	FieldConnections:    func(p *Policy) string { return number(p.Limits.Connections) },
	FieldServerTimeout:  func(p *Policy) string { return milliseconds(p.Timeouts.Server) },
	FieldTunnelTimeout:  func(p *Policy) string { return milliseconds(p.Timeouts.Tunnel) },
	FieldStrip:          rewriting(func(r *Rewrite) string { return strconv.Itoa(r.Strip) }),
	FieldRewrite:        rewriting(func(r *Rewrite) string { return r.To }),
	FieldRewriteEmpty:   rewriting(func(r *Rewrite) string { return r.Empty }),
	FieldHSTS:           func(p *Policy) string { return p.HSTS },
	FieldBody:           func(p *Policy) string { return number(p.Sizes.Body) },
	FieldURI:            func(p *Policy) string { return number(p.Sizes.URI) },
	FieldHeaders:        func(p *Policy) string { return number(p.Sizes.Headers) },
	FieldRetryAfter:     retryAfter,
	FieldUnlogged:       func(p *Policy) string { return number(p.Unlogged) },
	FieldAsk:            asking(func(a *Agent) string { return a.ID }),
	FieldAskBy:          asking(func(a *Agent) string { return a.Credentials }),
	FieldRates:          rates,
	FieldConcurrents:    concurrents,
	FieldConnectTimeout: func(p *Policy) string { return milliseconds(p.Timeouts.Connect) },
	FieldQueueTimeout:   func(p *Policy) string { return milliseconds(p.Timeouts.Queue) },
	FieldIdleTimeout:    func(p *Policy) string { return milliseconds(p.Timeouts.Idle) },
	FieldPodHost:        func(p *Policy) string { return p.PodHost },
	FieldKeyFrom: func(p *Policy) string {
		if p.APIKeys == nil {
			return ""
		}
		return p.APIKeys.record()
	},
	FieldCanary:    canary,
	FieldHash:      hashKey,
	FieldClientCA:  clientMarkOf,
	FieldFault:     fault,
	FieldMirror:    mirror,
	FieldBandwidth: bandwidth,
	FieldCounted:   counting,
	FieldUntil: func(p *Policy) string {
		if p.Maintenance == nil {
			return ""
		}
		return number(p.Maintenance.Until)
	},
	FieldFirewall:     firewall,
	FieldIdentified:   identified,
	FieldTotalTimeout: func(p *Policy) string { return milliseconds(p.Timeouts.Total) },
	FieldPattern: func(p *Policy) string {
		if !p.patterned() {
			return ""
		}
		return p.Rewrite.Regex.record()
	},
}

func certificateFlags(c *ClientCertificate) string {
	if c == nil {
		return ""
	}
	return FlagCertified + flag(c.Demanded(), FlagCertificateDemanded) + flag(len(c.Subjects) > 0, FlagSubjects) + flag(len(c.SANs) > 0, FlagSANs)
}

func retryAfter(p *Policy) string {
	if p.Maintenance == nil {
		return ""
	}
	return number(p.Maintenance.RetryAfter)
}

func asking(write func(*Agent) string) func(*Policy) string {
	return func(p *Policy) string {
		if p.Agent == nil {
			return ""
		}
		return write(p.Agent)
	}
}

func rewriting(write func(*Rewrite) string) func(*Policy) string {
	return func(p *Policy) string {
		if p.Rewrite == nil || p.Rewrite.Regex != nil {
			return ""
		}
		return write(p.Rewrite)
	}
}

// Letters that a record begins with: what happens to forwarded headers.
const (
	ModeAppend  = "a"
	ModeReplace = "r"
	ModeIfNone  = "i"
	ModeNever   = "n"
)

// Letters that follow the mode, each only where it says something.
const (
	// FlagGuarded has the path looked up normalised. It is the host's, and set by
	// package plan.
	FlagGuarded     = "u"
	FlagMaintenance = "m"
	FlagUnlogged    = "x"
	FlagRestricted  = "w"
	FlagDenied      = "d"
	FlagLimited     = "l"
	FlagSized       = "b"
	FlagRedirected  = "e"
	FlagCORS        = "c"
	// FlagForwardPreflight lets pods answer preflights.
	FlagForwardPreflight = "f"
	FlagRequestHeaders   = "q"
	// FlagAsked has the policy agent asked; with FlagStripped it is not for the pod to
	// see Authorization.
	FlagAsked    = "k"
	FlagStripped = "z"
	// FlagKeyed has a key looked up; with FlagKeyDemanded requests without one are
	// refused, and with FlagKeyStripped it is not for the pod.
	FlagKeyed       = "K"
	FlagKeyDemanded = "D"
	FlagKeyStripped = "S"
	// FlagCounted has limits of Rates or Concurrents, FlagCountedByBits such that need
	// the bits of the client's address.
	FlagCounted       = "y"
	FlagCountedByBits = "v"
	// FlagIdentified has limits of Identified.
	FlagIdentified = "I"
	// FlagTimeouts has a timeout of connections, queues or pauses.
	FlagTimeouts = "t"
	FlagPodHost  = "h"
	// FlagKeepID and FlagReplaceID are the two modes of RequestID.
	FlagKeepID          = "o"
	FlagReplaceID       = "p"
	FlagResponseHeaders = "s"
	FlagCanary          = "g"
	// FlagBranch has changes for single backends, FlagBranchPath such that replace the path.
	FlagBranch     = "H"
	FlagBranchPath = "J"
	FlagHash       = "j"
	FlagRetryAll   = "A"
	// FlagTotalTimeout has FieldTotalTimeout.
	FlagTotalTimeout = "T"
	FlagPattern      = "P"
	FlagPages        = "E"
	FlagFault        = "F"
	FlagMirror       = "M"
	FlagBandwidth    = "B"
	// FlagShared has the agent count the request.
	FlagShared = "G"
	// FlagFirewall has requests judged; with FlagFirewallBlocks those that are not get no
	// further.
	FlagFirewall       = "W"
	FlagFirewallBlocks = "X"
	// FlagCertified has the handshake looked at; with FlagCertificateDemanded requests
	// without a certificate are refused, with FlagSubjects those of other subjects, with
	// FlagSANs those without one of some alternative names.
	FlagCertified           = "C"
	FlagCertificateDemanded = "R"
	FlagSubjects            = "N"
	FlagSANs                = "V"
	// FlagTraced has FieldTracing. Where a record asks for nothing else, it stands in the
	// place of the mode, so that rules can let such requests go early.
	FlagTraced = "O"
	// FlagCommon says that the record asks for nothing that Policy.common does not list.
	FlagCommon = "Y"
)

// separator ends each field of a record.
const separator = "|"
