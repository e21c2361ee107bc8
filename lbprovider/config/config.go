// Package config turns the objects of group metallb.io into one validated,
// typed snapshot that the allocator and the speakers work from.
//
// It is pure: objects in, snapshot and findings out. One bad object harms only
// itself: it keeps its last valid version (if this process has seen one), and a
// finding on it says what is wrong. A reference to an object that is not there
// yet has a reason of its own, api.ReasonMissingReference, because it may
// become right without an edit.
//
//	objects ─┐
//	         ├─ Parse ─→ *Config (pools with their advertisements, peers)
//	last ────┘      ├──→ findings (conditions and events on the objects)
//	                └──→ State: one ConfigurationState per consumer
package config

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
)

// Namespace is what pools need to know of a namespace.
type Namespace struct {
	Name   string
	Labels map[string]string
}

// Node is what the configuration needs to know of a node.
type Node struct {
	Name   string
	Labels labels.Set
	// Addresses are those of the node itself, PodRanges those of its pods.
	// Only the controller needs them.
	Addresses []netip.Addr
	PodRanges []netip.Prefix
}

// Secret is a Secret of the provider's namespace.
type Secret struct {
	Type string
	Data map[string][]byte
}

// Resources are the objects that a Config is made of, in any order.
type Resources struct {
	// ProviderNamespace is the only namespace whose objects count.
	ProviderNamespace string
	Pools             []v1beta1.IPAddressPool
	L2Advertisements  []v1beta1.L2Advertisement
	BGPAdvertisements []v1beta1.BGPAdvertisement
	BGPPeers          []v1beta2.BGPPeer
	BFDProfiles       []v1beta1.BFDProfile
	Communities       []v1beta1.Community
	// Secrets by name. Nil means that this consumer does not read passwords:
	// peers then have none, and nothing is said about it.
	Secrets map[string]Secret
	// Namespaces are all namespaces of the cluster. Only the allocator needs
	// them; speakers leave them out.
	Namespaces []Namespace
	// Nodes are all nodes of the cluster.
	Nodes []Node
	// OnlyNode is for speakers: BGPPeers and BGPAdvertisements that do not
	// select this node are left out, and so is what is wrong with them.
	OnlyNode string
	// ServiceAddresses are the cluster IPs of Services. Only the controller
	// needs them.
	ServiceAddresses []netip.Addr
}

// Config is a validated snapshot. It is never changed after Parse returns it.
type Config struct {
	// Pools are sorted by name. Their addresses do not overlap.
	Pools []Pool
	// Peers are sorted by name. On no node are two of them the same session.
	Peers []*Peer

	// These are the valid objects by name; they outlive this snapshot when a
	// later version of the object is bad.
	l2          map[string]*L2Advertisement
	bgp         map[string]*BGPAdvertisement
	profiles    map[string]*BFDProfile
	communities map[string]map[string]Community
}

// Pool is one IPAddressPool.
type Pool struct {
	Name   string
	Labels labels.Set
	// Ranges are in the order of spec.addresses.
	Ranges        []Range
	AutoAssign    bool
	AvoidBuggyIPs bool
	// Allocation is nil if the pool is for everybody.
	Allocation *Allocation
	// Default has the pool tried first among those that are for everybody.
	Default bool
	// ShareWithinNamespace lets only Services of one namespace share an address.
	ShareWithinNamespace bool
	// L2 and BGP are the advertisements that select this pool, sorted by name.
	L2  []*L2Advertisement
	BGP []*BGPAdvertisement

	// partial says that this is no valid version, only what could be used of
	// one that never was.
	partial bool
}

// Allocation says which Services a pool is pinned to.
type Allocation struct {
	// Priority: 1 comes first; 0 comes last.
	Priority int
	// ByNamespace says that only Namespaces may use the pool. It is set even
	// if the selectors match no namespace at present.
	ByNamespace bool
	Namespaces  map[string]bool
	// Services is empty if labels do not matter.
	Services []labels.Selector
}

// L2Advertisement is one L2Advertisement.
type L2Advertisement struct {
	Name string
	// Nodes, Services: empty means all.
	Nodes    []labels.Selector
	Services []labels.Selector
	// Interfaces is sorted; empty means all.
	Interfaces []string
	Preferred  []Preference
	// Stay leaves an address where it is announced, while that may be.
	Stay bool

	pools         []string
	poolSelectors []labels.Selector
}

// Preference gives nodes that match Nodes the given weight.
type Preference struct {
	Weight int
	Nodes  labels.Selector
}

// Accepts says whether the pool is for a Service of the given namespace and
// labels. It does not look at AutoAssign.
func (p *Pool) Accepts(namespace string, serviceLabels labels.Set) bool {
	a := p.Allocation
	if a == nil {
		return true
	}
	if a.ByNamespace && !a.Namespaces[namespace] {
		return false
	}
	return MatchesAny(a.Services, serviceLabels)
}

// Contains says whether the pool holds addr. An address that AvoidBuggyIPs
// keeps unused is not held.
func (p *Pool) Contains(addr netip.Addr) bool {
	if p.AvoidBuggyIPs && Buggy(addr) {
		return false
	}
	return slices.ContainsFunc(p.Ranges, func(r Range) bool { return r.Contains(addr) })
}

// PoolOf returns the pool that holds all of addrs, or nil.
func (c *Config) PoolOf(addrs []netip.Addr) *Pool {
	if c == nil || len(addrs) == 0 {
		return nil
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		if !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !p.Contains(a) }) {
			return p
		}
	}
	return nil
}

// Pool returns the pool of that name, or nil.
func (c *Config) Pool(name string) *Pool {
	if c == nil {
		return nil
	}
	for i := range c.Pools {
		if c.Pools[i].Name == name {
			return &c.Pools[i]
		}
	}
	return nil
}

// Peer returns the peer of that name, or nil.
func (c *Config) Peer(name string) *Peer {
	if c == nil {
		return nil
	}
	for _, p := range c.Peers {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// MatchesAny says whether one of the selectors matches. No selectors at all
// match everything.
func MatchesAny(selectors []labels.Selector, set labels.Set) bool {
	if len(selectors) == 0 {
		return true
	}
	return slices.ContainsFunc(selectors, func(s labels.Selector) bool { return s.Matches(set) })
}
