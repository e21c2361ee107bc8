package bgp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/election"
)

// Reason says why a node announces a Service's addresses by BGP, or why not.
type Reason string

// The reasons. Each Decision has exactly one.
const (
	// Announced: this node announces the addresses.
	Announced Reason = "announced"
	// NoAdvertisement: no BGPAdvertisement selects the pool. That is normal
	// where addresses are announced by ARP only.
	NoAdvertisement Reason = "noAdvertisement"
	// NoMatchingAdvertisement: those that select the pool do not select the Service.
	NoMatchingAdvertisement Reason = "noMatchingAdvertisement"
	// ConflictingAdvertisements: two that select the Service disagree about
	// localPref for one prefix and peer.
	ConflictingAdvertisements Reason = "conflictingAdvertisements"
	// NoReadyEndpoints: no pod of the Service is ready, anywhere.
	NoReadyEndpoints Reason = "noReadyEndpoints"
	// NotEligible: this node does not announce, but others do; Decision.Excluded says why.
	NotEligible Reason = "notEligible"
	// NoEligibleNode: every node is excluded; Decision.Excluded says why.
	NoEligibleNode Reason = "noEligibleNode"
)

// Request is a Service to decide about.
type Request struct {
	Addrs []netip.Addr
	// Ads are those that select the pool of the addresses.
	Ads    []*config.BGPAdvertisement
	Labels labels.Set
	// Local says that externalTrafficPolicy is Local.
	Local bool
	// Endpoints are the names of the nodes with usable endpoints. The empty
	// name stands for endpoints that are on no node.
	Endpoints map[string]bool
	// Doubts are reasons to avoid the endpoints on a node, by its name. They
	// matter only where externalTrafficPolicy is Local.
	Doubts map[string]election.Exclusion
}

// Offer is a route before it is known what else a peer is told of the prefix.
type Offer struct {
	Route
	// Peers are the names of the peers that get it; empty means all.
	Peers []string
}

// Decision is the result for one Service, as seen from one node.
type Decision struct {
	Announce bool   `json:"announce"`
	Reason   Reason `json:"reason"`
	// Detail names what the reason does not, or is empty: also which of several
	// addresses is not announced, and why.
	Detail string `json:"detail,omitempty"`
	// Nodes are all that announce, sorted.
	Nodes []string `json:"nodes,omitempty"`
	// Excluded has the other nodes.
	Excluded map[string]election.Exclusion `json:"excluded,omitempty"`
	// Offers are what this node announces.
	Offers []Offer `json:"-"`
}

// String returns the decision in a sentence.
func (d Decision) String() string {
	parts := []string{string(d.Reason)}
	if d.Detail != "" {
		parts = append(parts, d.Detail)
	}
	if d.Reason == NoEligibleNode || d.Reason == NotEligible {
		for _, name := range sortedKeys(d.Excluded) {
			parts = append(parts, fmt.Sprintf("%s: %s", name, d.Excluded[name]))
		}
	}
	return strings.Join(parts, "; ")
}

// Decide says which nodes announce the addresses of req, and what the node self
// tells its peers.
func Decide(req Request, nodes []election.Node, self string) Decision {
	if len(req.Ads) == 0 {
		return Decision{Reason: NoAdvertisement}
	}
	var ads []*config.BGPAdvertisement
	for _, ad := range req.Ads {
		if config.MatchesAny(ad.Services, req.Labels) {
			ads = append(ads, ad)
		}
	}
	switch {
	case len(ads) == 0:
		return Decision{Reason: NoMatchingAdvertisement}
	case len(req.Endpoints) == 0:
		return Decision{Reason: NoReadyEndpoints}
	}
	d := Decision{Excluded: map[string]election.Exclusion{}}
	left := exclude(req, ads, nodes, self, d.Excluded)
	if len(left) > 0 {
		d.Nodes = make([]string, 0, len(left))
	}
	for i := range left {
		n := &left[i]
		d.Nodes = append(d.Nodes, n.Name)
		if n.Name == self {
			d.Offers, d.Detail = offer(covering(ads, n), req.Addrs)
			d.Announce = len(d.Offers) > 0
		}
	}
	slices.Sort(d.Nodes)
	switch {
	case d.Announce:
		d.Reason = Announced
	case d.Detail != "":
		d.Reason = ConflictingAdvertisements
	case len(d.Nodes) == 0:
		d.Reason = NoEligibleNode
	default:
		d.Reason = NotEligible
	}
	return d
}

// exclude returns the nodes that announce, and notes why others do not. Nodes
// that had better not announce stand back, unless they are all there is. The
// list is nodes itself if there are no others: a speaker asks for each Service.
func exclude(req Request, ads []*config.BGPAdvertisement, nodes []election.Node, self string, excluded map[string]election.Exclusion) []election.Node {
	left, out := nodes, false
	for i := range nodes {
		why := exclusion(&req, ads, &nodes[i], self)
		switch {
		case why == "" && out:
			left = append(left, nodes[i])
		case why != "":
			if !out {
				left, out = append(make([]election.Node, 0, len(nodes)), nodes[:i]...), true
			}
			excluded[nodes[i].Name] = why
		}
	}
	doubts := req.Doubts
	if !req.Local {
		doubts = nil
	}
	return election.ExcludeDoubtful(left, doubts, excluded)
}

// exclusion says why a node must not announce, or is empty.
func exclusion(req *Request, ads []*config.BGPAdvertisement, n *election.Node, self string) election.Exclusion {
	switch {
	case n.Excluded:
		return election.ExcludedLabel
	case n.NetworkUnavailable:
		return election.ExcludedNetwork
	case n.Name != self && !n.Alive: // of itself, a speaker knows that it lives
		return election.ExcludedUnreachable
	case !slices.ContainsFunc(ads, func(ad *config.BGPAdvertisement) bool { return config.MatchesAny(ad.Nodes, n.Labels) }):
		return election.ExcludedAdvertisement
	case req.Local && !req.Endpoints[n.Name]:
		return election.ExcludedNoLocal
	}
	return ""
}

func covering(ads []*config.BGPAdvertisement, n *election.Node) []*config.BGPAdvertisement {
	var out []*config.BGPAdvertisement
	for _, ad := range ads {
		if config.MatchesAny(ad.Nodes, n.Labels) {
			out = append(out, ad)
		}
	}
	return out
}

// offer returns what the advertisements make of the addresses. A prefix about
// which two of them disagree is not offered; conflict says which.
func offer(ads []*config.BGPAdvertisement, addrs []netip.Addr) (offers []Offer, conflict string) {
	for _, addr := range addrs {
		of, why := offerOne(ads, addr)
		if why != "" {
			conflict = why
		}
		offers = append(offers, of...)
	}
	return offers, conflict
}

func offerOne(ads []*config.BGPAdvertisement, addr netip.Addr) (offers []Offer, conflict string) {
	var names []string // of the advertisements that offers are from
	for _, ad := range ads {
		prefix, announced := ad.Prefix(addr)
		if !announced {
			continue
		}
		o := Offer{Route: Route{Prefix: prefix, LocalPref: ad.LocalPref, Prepend: ad.Prepend, Communities: ad.Communities}, Peers: ad.Peers}
		for i, other := range offers {
			if other.Prefix != o.Prefix || !intersect(other.Peers, o.Peers) {
				continue
			}
			if other.Prepend != o.Prepend {
				return nil, fmt.Sprintf("BGPAdvertisements %q and %q want asPathPrepend %d and %d for %s",
					names[i], ad.Name, other.Prepend, o.Prepend, o.Prefix)
			}
			if other.LocalPref != o.LocalPref {
				return nil, fmt.Sprintf("BGPAdvertisements %q and %q want localPref %d and %d for %s",
					names[i], ad.Name, other.LocalPref, o.LocalPref, o.Prefix)
			}
		}
		offers, names = append(offers, o), append(names, ad.Name)
	}
	return offers, ""
}

// intersect says whether two lists of peers, of which an empty one means all, have
// one in common.
func intersect(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return slices.ContainsFunc(a, func(p string) bool { return slices.Contains(b, p) })
}
