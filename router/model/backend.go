package model

import (
	"hash/fnv"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// BackendKind is the prefix of a backend's name, as users know it from the stats page
// and from metrics. The words are OpenShift's.
type BackendKind string

// Kinds of backends, one per termination.
const (
	KindHTTP   BackendKind = "be_http"
	KindEdge   BackendKind = "be_edge_http"
	KindSecure BackendKind = "be_secure"
	KindTCP    BackendKind = "be_tcp"
)

// KindOf returns the kind of backend that serves routes of a termination.
func KindOf(t Termination) BackendKind {
	switch t {
	case Edge:
		return KindEdge
	case Reencrypt:
		return KindSecure
	case Passthrough:
		return KindTCP
	case Plain:
		return KindHTTP
	}
	return KindHTTP
}

// Balance is a load-balancing algorithm (HAProxy manual, "balance").
type Balance string

// The algorithms that a route may ask for.
const (
	RoundRobin Balance = "roundrobin"
	LeastConn  Balance = "leastconn"
	SourceHash Balance = "source"
	Random     Balance = "random"
	// KeyHash goes by a value of the request (Policy.Hash); only for HTTP.
	KeyHash Balance = "hash"
)

// Profile selects the defaults section that a backend is made from: all that
// cannot change at run time and is not a server's. Every combination is
// rendered at boot, so no route ever needs a new one.
type Profile struct {
	// TCP profiles carry bytes, the others HTTP.
	TCP     bool
	Balance Balance
	// Cookie profiles set a sticky cookie. Only for HTTP.
	Cookie bool
	// AdjustCase profiles write header names to servers as the
	// IngressController lists them. Only for HTTP.
	AdjustCase bool
	// Retry says when requests are tried again at another server. Only for HTTP.
	Retry Retry
	// Repeat takes the place of Retry where it is set. Only for HTTP with Random.
	Repeat Repeat
	// Tunnel is one of TunnelClasses, only for TCP: HAProxy cannot change the
	// timeout of a TCP backend at run time. Zero is the router's default.
	Tunnel time.Duration
}

// Retry is how often and when requests are tried again. HAProxy fixes it for a backend.
type Retry uint8

// The classes: three times if no connection can be made, once or never; and once or
// three times on other failures, too.
const (
	RetryUsual Retry = iota
	RetryNever
	RetryOnce
	RetryFailureOnce
	RetryFailureThree
)

// suffix ends the names of profiles of the class.
func (r Retry) suffix() string {
	switch r {
	case RetryNever:
		return "_retry0"
	case RetryOnce:
		return "_retry1"
	case RetryFailureOnce:
		return "_failure1"
	case RetryFailureThree:
		return "_failure3"
	case RetryUsual:
	}
	return ""
}

// Attempts beyond the first.
func (r Retry) Attempts() int {
	switch r {
	case RetryNever:
		return 0
	case RetryOnce, RetryFailureOnce:
		return 1
	case RetryUsual, RetryFailureThree:
	}
	return 3
}

// OnFailure reports whether more than connections that cannot be made is tried again.
func (r Retry) OnFailure() bool { return r == RetryFailureOnce || r == RetryFailureThree }

// DefaultTunnel is the idle timeout of upgraded and passthrough connections.
const DefaultTunnel = time.Hour

// DefaultKeepAlive is how long idle connections of clients are kept.
const DefaultKeepAlive = 5 * time.Minute

// TunnelClasses returns the idle timeouts that passthrough routes can have. A
// route gets the shortest one that is not below what it asks for.
func TunnelClasses() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute, DefaultTunnel, 6 * time.Hour, 24 * time.Hour, 24 * 24 * time.Hour}
}

// TunnelClass returns the class for a timeout, and zero for zero.
func TunnelClass(d time.Duration) time.Duration {
	if d == 0 {
		return 0
	}
	classes := TunnelClasses()
	for _, c := range classes {
		if d <= c {
			return c
		}
	}
	return classes[len(classes)-1]
}

// Name returns the name of the profile's defaults section.
func (p Profile) Name() string {
	name := "http_"
	if p.TCP {
		name = "tcp_"
	}
	name += string(p.Balance)
	if p.Cookie {
		name += "_cookie"
	}
	if p.AdjustCase {
		name += "_case"
	}
	name += p.Retry.suffix() + p.Repeat.suffix()
	if p.TCP {
		name += "_" + p.Tunnel.String()
	}
	return name
}

// Profiles returns every profile but RepeatProfiles, in a fixed order.
func Profiles() []Profile {
	var all []Profile
	for _, b := range []Balance{Random, RoundRobin, LeastConn, SourceHash, KeyHash} {
		for _, r := range []Retry{RetryUsual, RetryNever, RetryOnce, RetryFailureOnce, RetryFailureThree} {
			all = append(all, Profile{Balance: b, Retry: r}, Profile{Balance: b, Cookie: true, Retry: r},
				Profile{Balance: b, AdjustCase: true, Retry: r}, Profile{Balance: b, Cookie: true, AdjustCase: true, Retry: r})
		}
		if b == KeyHash {
			continue
		}
		for _, t := range append([]time.Duration{0}, TunnelClasses()...) {
			all = append(all, Profile{Balance: b, TCP: true, Tunnel: t})
		}
	}
	return all
}

// Backend is the servers of one claim and how they are used.
type Backend struct {
	Kind    BackendKind
	Owner   Object
	Rule    string
	Profile Profile
	Cookie  Cookie
	// Asks is nil for a claim that asks for nothing, which most do. Policy reads it.
	Asks *Policy
	// CA verifies the servers of a re-encrypt backend, or is nil.
	CA *CA
	// Health is how the router asks the servers that are probed; nil for none.
	Health *Health
	// Servers are sorted by ID.
	Servers []Server
}

// Cookie is the sticky cookie of a backend. Its value is the server's.
type Cookie struct {
	// Name is the name that clients see, or empty without stickiness.
	Name string
	// Attributes follow "; path=/": what is left of the path, and attributes such as
	// "; Secure".
	Attributes string
}

// noPolicy asks for nothing.
var noPolicy Policy

// Policy returns what the claim asks for beyond its servers. It is never nil, and is
// not to be changed.
func (b *Backend) Policy() *Policy {
	if b.Asks == nil {
		return &noPolicy
	}
	return b.Asks
}

// Record returns the policy's record with the sticky cookie.
func (b *Backend) Record() string { return b.Policy().record(b.Cookie) }

// Name returns HAProxy's name of the backend. It ends in a short hash of
// everything that HAProxy cannot change in a living backend, so a name that is
// present means content that is right.
func (b *Backend) Name() string {
	owner := b.Owner.Name
	if b.Owner.Kind != unmarkedKind {
		owner = string(b.Owner.Kind) + "_" + owner
	}
	if b.Rule != "" {
		owner += "_" + b.Rule
	}
	return string(b.Kind) + ":" + b.Owner.Namespace + ":" + owner + ":" + shortHash(b.Profile.Name())
}

// IsBackendName reports whether a name in HAProxy is one of a claim's backends, as
// opposed to the router's own.
func IsBackendName[T ~string | ~[]byte](name T) bool {
	return len(name) > len(namePrefix) && string(name[:len(namePrefix)]) == namePrefix
}

// namePrefix begins all kinds of backends.
const namePrefix = "be_"

// unmarkedKind is the kind of owner that a backend's name does not mention:
// dashboards know these names from OpenShift. Other kinds begin with a capital letter, which
// no name of an object has, as little as a "_": so an HTTPRoute "canary" is not a canary of
// the Route "httproute".
const unmarkedKind Kind = "Route"

// SplitClaim splits the third part of a backend's name: into what stands for a claim, the
// object's kind, name and rule, and the branch of it, such as the Service of a canary. It
// reports whether the backend is a branch.
func SplitClaim(part string) (claim, branch string, found bool) {
	from := 0
	if kind, rest, ok := strings.Cut(part, "_"); ok && kind != strings.ToLower(kind) {
		name, _, _ := strings.Cut(rest, "_")
		from = len(kind) + 1 + len(name)
	}
	claim, branch, found = strings.Cut(part[from:], BranchMark)
	return part[:from] + claim, branch, found
}

// SplitOwner splits what stands for a claim into the object's kind and name.
func SplitOwner(claim string) (kind Kind, name string) {
	kind = unmarkedKind
	if first, rest, ok := strings.Cut(claim, "_"); ok && first != strings.ToLower(first) {
		kind, claim = Kind(first), rest
	}
	name, _, _ = strings.Cut(claim, "_")
	return kind, name
}

// Server is one endpoint in a backend.
type Server struct {
	// ID is "pod:<pod>:<service>:<port name>:<ip>:<port>", or "ept:…" for an
	// endpoint that is not a pod. It is the identity that sticky cookies
	// carry, so it stays the same across restarts and replicas.
	ID      string
	Address netip.AddrPort
	// Weight is 0 to 256 as HAProxy uses it.
	Weight int
	// MaxConn limits concurrent connections; 0 means no limit.
	MaxConn int
	// Probed servers are asked as the backend's Health says.
	Probed bool
	// Options cannot change while the server lives.
	Options ServerOptions
}

// ServerOptions are what HAProxy fixes when a server is created.
type ServerOptions struct {
	// Cookie is the value of the sticky cookie, or empty.
	Cookie string
	// CheckInterval is HAProxy's time text between health checks, or empty
	// for a server that is not checked.
	CheckInterval string
	// SlowStart is HAProxy's time text for which a server that is new, or healthy again, gets
	// less than its share of requests, or empty.
	SlowStart string
	// H2C speaks HTTP/2 without TLS to the server.
	H2C bool
	// HashByAddress has hashes lead to the server by its address, so that all replicas
	// of a router agree. By default HAProxy counts servers as they come.
	HashByAddress bool
	// TLS speaks TLS to the server, and with HTTP2 offers HTTP/2 in it.
	TLS   bool
	HTTP2 bool
	// CAID names the CA that must have signed the server's certificate.
	// Empty with TLS means that any certificate will do.
	CAID string
	// VerifyHost is the name that the certificate must have, or empty. It is
	// also sent as SNI, unless More has one.
	VerifyHost string
	// More is nil for most servers, and never changed.
	More *MoreOptions
}

// MoreOptions are options that few servers have.
type MoreOptions struct {
	// ClientCert is the ID of the certificate that is shown to the server, or empty.
	ClientCert string
	// SNI is the name that is sent to a server whose certificate is not verified; with
	// others HAProxy verifies the name that it sends.
	SNI string
	// ProxyProtocol is the version of the PROXY header that connections begin with, or 0.
	ProxyProtocol uint8
	// OnlyHTTP2 speaks nothing but HTTP/2 in TLS.
	OnlyHTTP2 bool
}

// Rare returns More, or the zero value.
func (o *ServerOptions) Rare() MoreOptions {
	if o.More == nil {
		return MoreOptions{}
	}
	return *o.More
}

func (m *MoreOptions) parts() []string {
	return []string{"more", m.ClientCert, m.SNI, strconv.Itoa(int(m.ProxyProtocol)), strconv.FormatBool(m.OnlyHTTP2)}
}

// Name returns HAProxy's name of the server: its ID, and for servers with
// options beyond the cookie a short hash of them. A changed option is thus a
// new server, and a name that is present means options that are right.
func (s *Server) Name() string {
	o := s.Options
	if !o.TLS && !o.H2C && o.CheckInterval == "" && o.SlowStart == "" && !o.HashByAddress && o.More == nil {
		return s.ID
	}
	parts := []string{o.CheckInterval, strconv.FormatBool(o.H2C), strconv.FormatBool(o.TLS), strconv.FormatBool(o.HTTP2), o.CAID, o.VerifyHost}
	if o.HashByAddress {
		parts = append(parts, "hash")
	}
	if o.SlowStart != "" {
		parts = append(parts, "slow", o.SlowStart)
	}
	if o.More != nil {
		parts = append(parts, o.More.parts()...)
	}
	return s.ID + ":" + shortHash(parts...)
}

// shortHash returns eight hexadecimal digits that identify the parts.
func shortHash(parts ...string) string {
	h := fnv.New32a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p + "\x00"))
	}
	return strconv.FormatUint(uint64(h.Sum32())|1<<32, 16)[1:]
}
