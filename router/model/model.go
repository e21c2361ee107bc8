// Package model holds what the router serves, as plain values: backends with
// their servers, the tables that lead a request to a backend, certificates,
// and the state that each route gets to see.
//
// No Kubernetes and no HAProxy type appears here. Packages that decide produce
// these values, packages that do IO consume them.
//
//	Route, Service, EndpointSlice, Secret ── door ─▶ Claim ─ admit ─▶ HostTable
//	                                                   │                  │
//	                                                   └──▶ State ◀───────┘ ─ plan ─▶ steps
package model

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead/fairlead/api"
)

// Termination says where the TLS connection of a client ends.
type Termination string

const (
	// Plain routes have no TLS; they answer on the HTTP listener only.
	Plain Termination = ""
	// Edge routes end TLS at the router and speak HTTP to the pod.
	Edge Termination = "edge"
	// Reencrypt routes end TLS at the router and speak TLS to the pod.
	Reencrypt Termination = "reencrypt"
	// Passthrough routes hand the TLS connection to the pod, chosen by SNI.
	Passthrough Termination = "passthrough"
)

// InsecurePolicy says what the HTTP listener does for a TLS route.
type InsecurePolicy string

const (
	// InsecureNone refuses plain HTTP; it is the default.
	InsecureNone InsecurePolicy = "None"
	// InsecureAllow serves plain HTTP from the same backend.
	InsecureAllow InsecurePolicy = "Allow"
	// InsecureRedirect answers with the https address, and 302 or what the claim
	// says.
	InsecureRedirect InsecurePolicy = "Redirect"
)

// ToHTTPS is how plain HTTP is redirected to https.
type ToHTTPS struct {
	// Status is 301, 302, 303, 307 or 308; zero means 302.
	Status uint16
	// Port stands in the address; zero is none, which means 443.
	Port uint16
}

// ClaimID names a claim.
type ClaimID struct {
	Owner Object
	Rule  string
}

// ID names the claim.
func (c *Claim) ID() ClaimID { return ClaimID{c.Owner, c.Rule} }

// Claim is an object's request to answer for a host and path, with all that is
// needed to serve it if it wins. A front door makes any number of them of one
// object.
type Claim struct {
	// Owner is the object that makes the claim, and Rule which of its claims this
	// is: no two claims of an object have the same. It is empty where an object can
	// have only one.
	Owner   Object
	Rule    string
	UID     string
	Created time.Time
	// Version is the resourceVersion of the Route that made the claim.
	Version string

	// Host is lower case and without trailing dot. For wildcard claims it is
	// "*." and the parent domain, for claims of any host "*". For those that come in by
	// one listener it is a ScopedHost.
	Host string
	// NamedHost is the host as the route's status shows it.
	NamedHost string
	Match
	Termination Termination
	Insecure    InsecurePolicy
	// ToHTTPS is what InsecureRedirect answers.
	ToHTTPS ToHTTPS
	// Closed claims keep their host and path, and no pod gets anything.
	Closed bool
	// Alias claims have no pods: they redirect to the host of their owner's first claim.
	// Losing its host does not refuse the owner.
	Alias bool
	// Answer is the status with which the router itself answers in place of pods, 500 or
	// 503, or zero. Only claims of a Gateway's listener have it.
	Answer uint16
	// Shared is how the claim stands where Routes and Gateways' listeners have the same ports, nil
	// for nearly all.
	Shared *Shared

	// Datagrams says where the policy agent relays what comes in by a listener for UDP. HAProxy
	// knows nothing of a claim that has it.
	Datagrams *Datagrams
	// Backend serves the claim's requests.
	Backend Backend
	// Split are further backends, for requests that the Canary of the policy names; it
	// is empty for claims that have one target.
	Split []Target
	// Checks is how many health checks an hour the route asks for, whatever it
	// gets; one with a TLS handshake counts for several.
	Checks int64
	// Certificate is the route's own, or nil for the router's default.
	Certificate *Certificate
}

// Backends returns the backends of the claim, its own one first: none for one that the
// router answers, or of datagrams.
func (c *Claim) Backends() iter.Seq[*Backend] {
	return func(yield func(*Backend) bool) {
		if c.Answer != 0 || c.Datagrams != nil || !yield(&c.Backend) {
			return
		}
		for i := range c.Split {
			if !yield(&c.Split[i].Backend) {
				return
			}
		}
	}
}

// ByAge compares claims by their right to a host: the older creation time first, then
// the smaller UID, and of one object the smaller rule. In scopes names take the place of
// UIDs, as the Gateway API wants it.
func ByAge(a, b *Claim) int {
	if age := a.Created.Compare(b.Created); age != 0 {
		return age
	}
	if Scoped(a.Host) && Scoped(b.Host) {
		return cmp.Or(cmp.Compare(a.Owner.Namespace, b.Owner.Namespace), cmp.Compare(a.Owner.Name, b.Owner.Name), cmp.Compare(a.Rule, b.Rule))
	}
	return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.Rule, b.Rule))
}

// Older reports whether c has the better right to a host than o.
func (c *Claim) Older(o *Claim) bool { return ByAge(c, o) < 0 }

// Guard returns what a claim keeps out by client, as text: claims with the same
// text keep out the same clients. It is empty for a claim that is open to all.
func (c *Claim) Guard() string {
	p := c.Backend.Policy()
	switch {
	case c.Closed:
		return "closed"
	case !p.KeepsOut():
		return ""
	}
	asked, keys, certificate, judged := "", APIKeys{}, "", ""
	if p.Firewall.Blocks() {
		judged = firewall(p)
	}
	if c := p.Certificate; c != nil {
		certificate = fmt.Sprint(c.Mark(), c.Required, c.Subjects, c.SANs)
	}
	if p.APIKeys != nil {
		keys = *p.APIKeys
	}
	if p.Agent != nil {
		asked = p.Agent.Content
	}
	return fmt.Sprint(p.Restricted, p.Limits, p.Sizes, sorted(p.Allow), sorted(p.Deny), exemptions(p), rates(p), identified(p), concurrents(p), sharedTexts(p), asked, keys, certificate, judged)
}

// KeepsOut reports whether the policy refuses requests of some clients.
func (p *Policy) KeepsOut() bool {
	return p.Restricted || len(p.Deny) > 0 || p.Limits != Limits{} || p.Sizes != Sizes{} || p.counted() || len(p.Identified)+len(p.IdentifiedConcurrents) > 0 || len(p.Shared)+len(p.SharedIdentified) > 0 ||
		p.Agent != nil || p.APIKeys != nil || p.Certificate != nil || p.Firewall.Blocks()
}

func exemptions(p *Policy) (lists [][]string) {
	for _, limits := range [][]RateLimit{p.Rates, p.Identified} {
		for i := range limits {
			lists = append(lists, sorted(limits[i].Exempt))
		}
	}
	return lists
}

func sharedTexts(p *Policy) (texts []string) {
	for _, limits := range [][]RateLimit{p.Shared, p.SharedIdentified} {
		for i := range limits {
			texts = append(texts, fmt.Sprint(limits[i].String(), sorted(limits[i].Exempt)))
		}
	}
	return texts
}

func sorted(list []netip.Prefix) []string {
	items := make([]string, 0, len(list))
	for _, a := range list {
		items = append(items, a.String())
	}
	slices.Sort(items)
	return items
}

// Barred returns the claim closed: with its host, path and listeners, and with
// nothing behind them.
func (c *Claim) Barred() *Claim {
	barred := *c
	kind := KindOf(c.Termination)
	if c.IsShared() {
		kind = KindHTTP
	}
	barred.Closed, barred.Checks, barred.Split = true, 0, nil
	barred.Backend = Backend{
		Kind: kind, Owner: c.Owner, Rule: c.Rule,
		Profile: Profile{TCP: c.Termination == Passthrough, Balance: Random},
	}
	return &barred
}

// LongName begins the hash that stands, in the ID of a certificate or CA, for
// a name that is too long for a file.
const LongName = "~"

// Certificate is a chain with its private key, as HAProxy loads it.
type Certificate struct {
	// ID is unique per owner and content: the same ID means the same PEM.
	ID string
	// Chain identifies the certificates without the key and the owner.
	Chain string
	// PEM holds the leaf first, then the chain, then the key.
	PEM string
}

// CA is a bundle of authorities that a backend's servers, or clients, must be signed by.
type CA struct {
	// ID is unique per owner and content. It ends in RevocableSuffix if PEM has revocation
	// lists, too.
	ID  string
	PEM string
}

// RevocableSuffix ends the names of bundles with revocation lists: where one is asked for,
// each certificate is looked up in the list of its authority.
const RevocableSuffix = "-r"

// RouteStatus is what one router says about one route.
type RouteStatus struct {
	Object Object
	UID    string
	// Host as this router serves it, empty if it could not be determined.
	Host           string
	WildcardPolicy string
	Admitted       bool
	// Reason and Message are empty for an admitted route, unless its paths are closed.
	Reason  api.Reason
	Message string
	// Findings are all findings about the route, the refusing one included.
	Findings []api.Finding
	// Generation is the object's that the others are about: Parents of routes of the Gateway
	// API, Listeners of Gateways and ListenerSets, Conditions of ListenerSets and
	// BackendTLSPolicies. AttachedTo is
	// the Gateway that has accepted a ListenerSet.
	Generation int64
	Parents    []ParentStatus
	Listeners  []ListenerStatus
	Conditions []StatusCondition
	AttachedTo Object
	// TLSPolicies are the BackendTLSPolicies for Services that a route names.
	TLSPolicies []Object
}
