package door

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Settings are what an IngressController, or the command line, says about all
// routes of one router.
type Settings struct {
	// RouterName is the name of the IngressController.
	RouterName string
	// Domain completes routes that have only a subdomain; may be empty.
	Domain string
	// WildcardsAllowed admits routes with wildcardPolicy Subdomain.
	WildcardsAllowed bool
	// InterNamespace lets several namespaces share a host with different paths.
	InterNamespace bool
	// Forwarded is what happens to forwarded headers unless a route says
	// otherwise; empty means append.
	Forwarded model.Forwarded
	// Balance shares the requests of HTTP routes with one weighted service
	// unless a route says otherwise; empty means random.
	Balance model.Balance
	// CheckInterval is the time between health checks unless a route says
	// otherwise; zero means 5s.
	CheckInterval time.Duration
	// Tunnel is how long connections that carry data both ways, such as calls of gRPC, may
	// be idle; zero means model.DefaultTunnel.
	Tunnel time.Duration
	// NamespaceChecks is how many health checks a second the routes of a
	// namespace may cost; zero means the constant of that name.
	NamespaceChecks int
	// Patterns and NamespacePatterns are how many routes, in all and of one namespace,
	// may choose or replace paths by a pattern; zero means the constants of these names.
	Patterns, NamespacePatterns int
	// NamespaceClaims is how many claims the objects of one namespace that may make many may
	// make in all; zero means the constant of that name.
	NamespaceClaims int
	// PageBytes and NamespacePageBytes are how much error pages may add up to, in all and
	// in one namespace; zero means the constants of these names.
	PageBytes, NamespacePageBytes int
	// NamespaceFetches is for how many pages the routes of one namespace may have Services
	// asked; zero means the constant of that name.
	NamespaceFetches int
	// NamespaceSharedLimits is how many limits of scope Shared the routes of one namespace may
	// have; zero means the constant of that name.
	NamespaceSharedLimits int
	// GatewayPorts says that HAProxy is to have ports for Gateways.
	GatewayPorts bool
	// SharedAddress permits that Gateways share the address of the router.
	SharedAddress bool
	// PortsUnbound says that HAProxy refused the ports for Gateways and runs without them.
	PortsUnbound bool
	// HeaderBytes is what the header actions of a route may add up to in one
	// direction; zero means 8192.
	HeaderBytes int
	// MaxRSABits is the length of the longest RSA key that a route may bring;
	// zero means 4096.
	MaxRSABits int
	// MaxCertificateBytes is how long the PEM text of a route's certificate may
	// be, with chain and key; 0 is no limit. It is what HAProxy's version takes.
	MaxCertificateBytes int
	// Agent says that a policy agent decides beside HAProxy. What needs one is closed
	// without it.
	Agent bool
	// Firewall says that a firewall judges requests beside HAProxy. Without it, what is to
	// block is closed.
	Firewall bool
	// Bandwidth says that HAProxy has filters that bound it.
	Bandwidth bool
	// Tracing is how requests are traced unless a policy says otherwise.
	Tracing model.Tracing
	// OldHAProxy says that HAProxy is too old to ask one.
	OldHAProxy bool
	// RedirectPort stands in the address that redirects to https lead to, unless a policy
	// names another one; zero is none, which means 443.
	RedirectPort int
	// AsksClients says that the IngressController asks all clients for certificates.
	AsksClients bool
	// Key is what hashes of credentials in HAProxy's maps are made with, in base64.
	Key string
	// HTTP2 offers HTTP/2 to clients of hosts whose certificate no other host
	// has, and to pods behind re-encrypt routes.
	HTTP2 bool
	// DestinationCA must have signed the certificates of pods behind
	// re-encrypt routes that bring no CA of their own, for the name
	// SERVICE.NAMESPACE.svc. Without it such pods are not verified; one with
	// an empty ID could not be read, and such routes are refused.
	DestinationCA *model.CA
	// SystemCA are the authorities that the router's image trusts, for BackendTLSPolicies
	// that ask for them, or nil if it has none.
	SystemCA *model.CA
}

// NamespaceChecks is how many health checks a router makes in a second for the
// routes of a namespace, if nothing else is said.
const NamespaceChecks = 500

// Patterns is how many routes of a router may have a pattern, unless settings say
// otherwise: HAProxy keeps what the patterns of that many mean.
const Patterns = 4096

// NamespacePatterns is how many of them one namespace may have.
const NamespacePatterns = 100

// PatternLimits returns how many routes may have a pattern, in all and of one namespace.
func (s Settings) PatternLimits() (all, ofNamespace int) {
	return cmp.Or(s.Patterns, Patterns), cmp.Or(s.NamespacePatterns, NamespacePatterns)
}

// TooManyPatterns says why a route may have none; own is the bound that an administrator has
// set for its namespace, or zero.
func (s Settings) TooManyPatterns(own int) string {
	all, ofNamespace := s.PatternLimits()
	if own > 0 {
		ofNamespace = min(ofNamespace, own)
	}
	return fmt.Sprintf("older routes have all of the %d patterns of a namespace, or of the %d of the router", ofNamespace, all)
}

const tooOld = "needs HAProxy 3.4; this router runs an older one"

// AgentLack is why the policy agent decides nothing, or empty.
func (s Settings) AgentLack() string {
	switch {
	case s.OldHAProxy:
		return tooOld
	case !s.Agent:
		return "needs the policy agent, which is switched off for this router (policies: Disabled)"
	}
	return ""
}

// FirewallLack is why the router judges no requests, or empty.
func (s Settings) FirewallLack() string {
	switch {
	case s.OldHAProxy:
		return tooOld
	case !s.Firewall:
		return "needs a firewall, which this router does not have (unsupportedConfigOverrides.firewall of the IngressController)"
	}
	return ""
}

// NamespaceClaims is how many claims the objects of a namespace that may make many, such as
// HTTPRoutes, may make in all, unless settings say otherwise.
const NamespaceClaims = 20_000

// ClaimLimit returns how many claims such objects of one namespace may make.
func (s Settings) ClaimLimit() int { return cmp.Or(s.NamespaceClaims, NamespaceClaims) }

// PageBytes is how much the error pages of a router may add up to, unless settings say
// otherwise: HAProxy and the router keep them in memory.
const PageBytes = 32 << 20

// NamespacePageBytes is how much those of one namespace may.
const NamespacePageBytes = 1 << 20

// PageLimits returns how many bytes of pages there may be, in all and in one namespace.
func (s Settings) PageLimits() (all, ofNamespace int) {
	return cmp.Or(s.PageBytes, PageBytes), cmp.Or(s.NamespacePageBytes, NamespacePageBytes)
}

// NamespaceFetches is for how many pages the routes of a namespace may have Services asked.
const NamespaceFetches = 128

// FetchLimit returns the same for one router.
func (s Settings) FetchLimit() int { return cmp.Or(s.NamespaceFetches, NamespaceFetches) }

// NamespaceSharedLimits is how many limits of scope Shared the routes of a namespace may have.
const NamespaceSharedLimits = 50

// SharedLimit returns the same for one router.
// own is the bound that an administrator has set for it, or zero.
func (s Settings) SharedLimit(own int) int {
	most := cmp.Or(s.NamespaceSharedLimits, NamespaceSharedLimits)
	if own > 0 {
		most = min(most, own)
	}
	return most
}

// CheckBudget returns what the health checks of a namespace may add up to, as
// model.Claim.Checks counts them.
func (s Settings) CheckBudget() int64 {
	return int64(cmp.Or(s.NamespaceChecks, NamespaceChecks)) * int64(time.Hour/time.Second)
}

// CheckStretch returns how many times longer the pause between the health
// checks of a route is than it asks for, where it and all older ones of its
// namespace ask for so many. Up to the budget it is 1, up to twice the budget 4,
// up to four times 16, and so on: each doubling adds half of what the one before
// added, so all together make at most half as many checks more than the budget
// allows, and one route's.
func (s Settings) CheckStretch(asked int64) int {
	times := (max(asked, 1) - 1) / s.CheckBudget()
	return 1 << (2 * min(bits.Len64(uint64(times)), maxStretch)) // times is never negative
}

// maxStretch keeps the number, and times multiplied by it, in range.
const maxStretch = 8
