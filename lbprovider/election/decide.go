package election

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/lbprovider/config"
)

// Reason says why a node announces an address, or why not.
type Reason string

// The reasons. Each Decision has exactly one.
const (
	// Owner: this node announces the address.
	Owner Reason = "owner"
	// NotOwner: another node announces the address.
	NotOwner Reason = "notOwner"
	// NotLoadBalancer: the Service is not of type LoadBalancer, or its class
	// belongs to another provider.
	NotLoadBalancer Reason = "notLoadBalancer"
	// NoIPAllocated: the Service has no address yet.
	NoIPAllocated Reason = "noIPAllocated"
	// InvalidIP: an entry in the Service's status has no address.
	InvalidIP Reason = "invalidIP"
	// IPNotAllowed: no pool holds the Service's addresses.
	IPNotAllowed Reason = "ipNotAllowed"
	// NoMatchingAdvertisement: no L2Advertisement selects the pool, or none
	// that does selects the Service.
	NoMatchingAdvertisement Reason = "noMatchingAdvertisement"
	// SharedIPWithServiceSelector: the address may be shared, and an
	// advertisement that selects the Service chooses by Service. The nodes could
	// not agree.
	SharedIPWithServiceSelector Reason = "sharedIPWithServiceSelector"
	// NoReadyEndpoints: no pod of the Service is ready, anywhere.
	NoReadyEndpoints Reason = "noReadyEndpoints"
	// NoEligibleNode: every node is excluded; Decision.Excluded says why.
	NoEligibleNode Reason = "noEligibleNode"
	// NotSynced: this speaker does not know the other speakers yet.
	NotSynced Reason = "notSynced"
	// Isolated: this speaker reaches neither the API server nor enough of the
	// other speakers to believe that it is not the one that is cut off.
	Isolated Reason = "isolated"
	// Superseded: this speaker reaches no other speaker, but the API server
	// says that another node has taken the address over.
	Superseded Reason = "superseded"
)

// Exclusion says why a node is no candidate.
type Exclusion string

// The exclusions.
const (
	ExcludedLabel         Exclusion = "it has the label node.kubernetes.io/exclude-from-external-load-balancers"
	ExcludedUnreachable   Exclusion = "its speaker is not reachable"
	ExcludedNetwork       Exclusion = "its network is unavailable"
	ExcludedNotReady      Exclusion = "it is not ready"
	ExcludedSilent        Exclusion = "the Service's pod there does not answer its probe"
	ExcludedLeaving       Exclusion = "the Service's pod there is about to stop"
	ExcludedDraining      Exclusion = "its speaker is about to stop"
	ExcludedDrained       Exclusion = "it is drained by annotation"
	ExcludedAPILost       Exclusion = "its speaker cannot reach the API server"
	ExcludedSettling      Exclusion = "its speaker has just started"
	ExcludedNoLocal       Exclusion = "it has no ready endpoint, and externalTrafficPolicy is Local"
	ExcludedAdvertisement Exclusion = "no advertisement selects it"
	ExcludedInterface     Exclusion = "it has no interface that the advertisements allow"
	ExcludedNoIPv6        Exclusion = "none of its interfaces that the advertisements allow has IPv6"
)

// Node is what is known of a node.
type Node struct {
	Name   string
	Labels labels.Set
	// Ready and NetworkUnavailable are the node's conditions.
	Ready, NetworkUnavailable bool
	// Excluded says that the node has the label that keeps it out.
	Excluded bool
	// Alive says that its speaker is reachable.
	Alive bool
	// Draining and Settling are what its speaker says of itself.
	Draining, Settling bool
	// APILost says that its speaker has not reached the API server for a while,
	// so that it decides from old data.
	APILost bool
	// Drained says that a user wants its addresses moved away.
	Drained bool
	// Interfaces are those on which its speaker can announce; nil if unknown.
	Interfaces []string
	// WithoutIPv6 are those of them that can announce IPv4 addresses only.
	WithoutIPv6 []string
}

// Request is one address to decide about.
type Request struct {
	// Addr is the first address of the Service; all of its addresses follow it.
	Addr netip.Addr
	// IPv6 says that one of the Service's addresses is IPv6.
	IPv6 bool
	// Pool holds the Service's addresses; nil if no pool does.
	Pool   *config.Pool
	Labels labels.Set
	// Shared says that the Service may share its address.
	Shared bool
	// Local says that externalTrafficPolicy is Local.
	Local bool
	// Endpoints are the names of the nodes with usable endpoints. The empty
	// name stands for endpoints that are on no node.
	Endpoints map[string]bool
	// Incumbents are the nodes that are known to announce the address, if it is
	// to stay where it is. Whichever of them has no more doubts against it than
	// the best of the others comes first.
	Incumbents []string
	// Doubts are reasons to avoid the endpoints on a node, by its name. They
	// matter only where externalTrafficPolicy is Local.
	Doubts map[string]Exclusion
}

// score is the score of a node for this address, of which others know s.
func (r *Request) score(node string, s int) int {
	if slices.Contains(r.Incumbents, node) {
		return incumbent
	}
	return s
}

// incumbent is more than any sum of weights.
const incumbent = math.MaxInt

// Decision is the result for one address, as seen from one node.
type Decision struct {
	Announce bool   `json:"announce"`
	Reason   Reason `json:"reason"`
	// Order has the candidates, the owner first.
	Order []string `json:"order,omitempty"`
	// Excluded has the other nodes.
	Excluded map[string]Exclusion `json:"excluded,omitempty"`
	// Interfaces limit where this node announces; nil means everywhere.
	Interfaces []string `json:"interfaces,omitempty"`
}

// String returns the decision in a sentence.
func (d Decision) String() string {
	switch {
	case len(d.Order) > 0:
		return Verdict{Reason: d.Reason, Owner: d.Order[0]}.String()
	case len(d.Excluded) > 0:
		parts := []string{string(d.Reason)}
		for _, n := range slices.Sorted(maps.Keys(d.Excluded)) {
			parts = append(parts, fmt.Sprintf("%s: %s", n, d.Excluded[n]))
		}
		return strings.Join(parts, "; ")
	default:
		return string(d.Reason)
	}
}

// Decide says whether the node self announces the address of req, and everything
// that a user may want to know about it.
func Decide(req Request, nodes []Node, self string) Decision {
	ads, reason := advertisements(req)
	if reason != "" {
		return Decision{Reason: reason}
	}
	if len(req.Endpoints) == 0 {
		return Decision{Reason: NoReadyEndpoints}
	}
	field := newCandidateNodes(nodes)
	exclude(req, ads, field)
	var candidates []Candidate
	for i := range nodes {
		if field.in[i] {
			candidates = append(candidates, Candidate{Node: nodes[i].Name, Score: req.score(nodes[i].Name, score(ads, nodes[i]))})
		}
	}
	d := Decision{Excluded: field.excluded, Order: Order(req.Addr, candidates)}
	switch {
	case len(d.Order) == 0:
		d.Reason = NoEligibleNode
	case d.Order[0] != self:
		d.Reason = NotOwner
	default:
		d.Announce, d.Reason = true, Owner
		for _, n := range nodes {
			if n.Name == self {
				d.Interfaces = interfaces(ads, n)
			}
		}
	}
	return d
}

// advertisements returns those that apply to the Service on some node.
func advertisements(req Request) ([]*config.L2Advertisement, Reason) {
	if req.Pool == nil {
		return nil, IPNotAllowed
	}
	ads, byService := req.Pool.L2, false
	for _, ad := range ads {
		byService = byService || len(ad.Services) > 0
	}
	if byService {
		ads = slices.DeleteFunc(slices.Clone(ads), func(ad *config.L2Advertisement) bool { return !config.MatchesAny(ad.Services, req.Labels) })
	}
	if len(ads) == 0 {
		return nil, NoMatchingAdvertisement
	}
	// One that does not select this Service says nothing about it.
	if req.Shared && slices.ContainsFunc(ads, func(ad *config.L2Advertisement) bool { return len(ad.Services) > 0 }) {
		return nil, SharedIPWithServiceSelector
	}
	return ads, ""
}

// exclude takes the nodes out that may not own the address, and notes why.
func exclude(req Request, ads []*config.L2Advertisement, field *candidateNodes) {
	for i := range field.nodes {
		if why := mustNotAnnounce(req, ads, &field.nodes[i]); why != "" {
			field.exclude(i, why)
		}
	}
	if req.IPv6 {
		field.excludeUnlessAll(ExcludedNoIPv6, func(n *Node) bool { return !reaches(ads, n, n.WithoutIPv6) })
	}
	doubts := req.Doubts
	if !req.Local {
		doubts = nil
	}
	field.excludeDoubtful(doubts)
	field.excludeUnlessAll(ExcludedSettling, func(n *Node) bool { return n.Settling })
}

// ExcludeDoubtful leaves out the nodes that had better not announce, and notes why,
// the worst first. Where none would be left, they stay: an address on a
// doubtful node is better than on none. What is returned is nodes itself if none
// is left out.
func ExcludeDoubtful(nodes []Node, doubts, excluded map[string]Exclusion) []Node {
	f := newCandidateNodes(nodes)
	f.excludeDoubtful(doubts)
	if f.left == len(nodes) {
		return nodes
	}
	kept := make([]Node, 0, f.left)
	for i := range nodes {
		if f.in[i] {
			kept = append(kept, nodes[i])
		}
	}
	maps.Copy(excluded, f.excluded)
	return kept
}

func mustNotAnnounce(req Request, ads []*config.L2Advertisement, n *Node) Exclusion {
	switch {
	case n.Excluded:
		return ExcludedLabel
	case !n.Alive:
		return ExcludedUnreachable
	case n.NetworkUnavailable:
		return ExcludedNetwork
	case !slices.ContainsFunc(ads, func(ad *config.L2Advertisement) bool { return config.MatchesAny(ad.Nodes, n.Labels) }):
		return ExcludedAdvertisement
	case req.Local && !req.Endpoints[n.Name]:
		return ExcludedNoLocal
	case !reaches(ads, n, nil):
		return ExcludedInterface
	}
	return ""
}

func covering(ads []*config.L2Advertisement, n Node) []*config.L2Advertisement {
	var out []*config.L2Advertisement
	for _, ad := range ads {
		if config.MatchesAny(ad.Nodes, n.Labels) {
			out = append(out, ad)
		}
	}
	return out
}

// reaches says whether n has an interface, but for those in except, that one of
// the advertisements that select it allows. A node that does not report its interfaces gets the benefit of
// the doubt.
func reaches(ads []*config.L2Advertisement, n *Node, except []string) bool {
	if n.Interfaces == nil {
		return true
	}
	for _, ad := range ads {
		if !config.MatchesAny(ad.Nodes, n.Labels) {
			continue
		}
		for _, name := range n.Interfaces {
			allowed := len(ad.Interfaces) == 0 || slices.Contains(ad.Interfaces, name)
			if allowed && !slices.Contains(except, name) {
				return true
			}
		}
	}
	return false
}

// interfaces is the union over the advertisements that select n; nil means all.
func interfaces(ads []*config.L2Advertisement, n Node) []string {
	var out []string
	for _, ad := range covering(ads, n) {
		if len(ad.Interfaces) == 0 {
			return nil
		}
		out = append(out, ad.Interfaces...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func score(ads []*config.L2Advertisement, n Node) int {
	total := 0
	for _, ad := range covering(ads, n) {
		for _, p := range ad.Preferred {
			if p.Nodes.Matches(n.Labels) {
				total += p.Weight
			}
		}
	}
	return total
}
