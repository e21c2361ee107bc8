package election

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead/fairlead/lbprovider/config"
)

// Verdict is what a speaker acts upon: which node announces an address. Decide returns
// the same with all candidates and all reasons.
type Verdict struct {
	Announce bool
	Reason   Reason
	// Owner is the node that announces, or empty.
	Owner string
	// Interfaces limit where this node announces; nil means everywhere.
	Interfaces []string
}

// String returns the verdict in a sentence.
func (v Verdict) String() string {
	if v.Owner == "" {
		return string(v.Reason)
	}
	return fmt.Sprintf("%s: %s announces", v.Reason, v.Owner)
}

// Electorate is the nodes among which addresses are given out, as seen from one
// of them. It remembers what does not change from address to address, or not
// from time to time, so that an election costs little more than a look at its
// winner: a speaker decides about all addresses again whenever a node comes or
// goes. The zero value has no nodes. It is not safe for concurrent use.
type Electorate struct {
	self  string
	nodes []Node
	ranks ranks
	views []adView
}

// Set replaces the nodes, which must not be changed afterwards. The
// configuration may be another one from then on.
func (e *Electorate) Set(nodes []Node, self string) {
	e.nodes, e.self, e.views = nodes, self, nil
	e.ranks.set(nodes)
}

// adView is how the nodes stand towards some advertisements.
type adView struct {
	ads   []*config.L2Advertisement
	nodes []nodeState
	// best is the highest score.
	best int
}

// nodeState is what holds for a node whatever the address.
type nodeState struct {
	// out says that it may not announce.
	out bool
	// doubts are reasons against it, the worst the most significant bit: of the
	// nodes that may announce those are left whose number is least. That is what
	// standing back, doubt after doubt, comes to.
	doubts uint8
	score  int
}

// The doubts, in the order in which nodes are excluded.
const (
	doubtSettling uint8 = 1 << iota
	doubtNotReady
	doubtDrained
	doubtAPILost
	doubtDraining
	doubtLeaving
	doubtSilent
	doubtNoIPv6
)

// Elect says who announces the address of req.
func (e *Electorate) Elect(req Request) Verdict {
	ads, reason := advertisements(req)
	if reason != "" {
		return Verdict{Reason: reason}
	}
	if len(req.Endpoints) == 0 {
		return Verdict{Reason: NoReadyEndpoints}
	}
	winner := e.winner(&req, e.view(ads))
	switch {
	case winner == nil:
		return Verdict{Reason: NoEligibleNode}
	case winner.Name != e.self:
		return Verdict{Reason: NotOwner, Owner: winner.Name}
	default:
		return Verdict{Announce: true, Reason: Owner, Owner: e.self, Interfaces: interfaces(ads, *winner)}
	}
}

// winner returns the node with the least doubts, of those the one with the
// highest score, and of those the first by hash; nil if none may announce.
func (e *Electorate) winner(req *Request, v *adView) *Node {
	var winner *Node
	var least uint8
	var best int
	top := v.best
	if len(req.Incumbents) > 0 {
		top = incumbent
	}
	for _, slot := range e.ranks.of(req.Addr) {
		i := e.ranks.present[slot]
		if i < 0 || v.nodes[i].out {
			continue
		}
		n, s := &e.nodes[i], &v.nodes[i]
		if req.Local && !req.Endpoints[n.Name] {
			continue
		}
		doubts := s.doubts | doubtsOf(req, n.Name)
		if !req.IPv6 {
			doubts &^= doubtNoIPv6
		}
		score := req.score(n.Name, s.score)
		if winner == nil || doubts < least || doubts == least && score > best {
			winner, least, best = n, doubts, score
		}
		if least == 0 && best == top {
			break // none can be better, and those to come are later by hash
		}
	}
	return winner
}

func doubtsOf(req *Request, node string) uint8 {
	if !req.Local || len(req.Doubts) == 0 {
		return 0
	}
	switch req.Doubts[node] {
	case ExcludedSilent:
		return doubtSilent
	case ExcludedLeaving:
		return doubtLeaving
	default:
		return 0
	}
}

// view returns how the nodes stand towards the advertisements.
func (e *Electorate) view(ads []*config.L2Advertisement) *adView {
	for i := range e.views {
		if slices.Equal(e.views[i].ads, ads) {
			return &e.views[i]
		}
	}
	v := adView{ads: slices.Clone(ads), nodes: make([]nodeState, len(e.nodes))}
	for i := range e.nodes {
		n := &e.nodes[i]
		v.nodes[i] = nodeState{out: mustNotAnnounce(Request{}, ads, n) != "", doubts: doubts(ads, n), score: score(ads, *n)}
		v.best = max(v.best, v.nodes[i].score)
	}
	e.views = append(e.views, v)
	return &e.views[len(e.views)-1]
}

func doubts(ads []*config.L2Advertisement, n *Node) uint8 {
	var all uint8
	for _, d := range []struct {
		doubt uint8
		holds bool
	}{
		{doubtNoIPv6, !reaches(ads, n, n.WithoutIPv6)},
		{doubtDraining, n.Draining},
		{doubtAPILost, n.APILost},
		{doubtDrained, n.Drained},
		{doubtNotReady, !n.Ready},
		{doubtSettling, n.Settling},
	} {
		if d.holds {
			all |= d.doubt
		}
	}
	return all
}

// addressLimit is how many addresses are remembered at most.
const addressLimit = 50_000

// ranks is the order of the nodes by hash for each address. It depends on the
// nodes' names only: a node that has gone keeps its place, and a new one is put
// into the orders that there are.
type ranks struct {
	// slots are the numbers of all nodes that were seen, by name; names is the
	// same the other way round.
	slots map[string]uint16
	names []string
	// present is the index of each slot's node, or -1 if it is not there.
	present []int32
	orders  map[netip.Addr][]uint16
}

func (r *ranks) set(nodes []Node) {
	if len(r.names) > 2*len(nodes)+16 { // most of them have gone for good
		*r = ranks{}
	}
	if r.slots == nil {
		r.slots, r.orders = map[string]uint16{}, map[netip.Addr][]uint16{}
	}
	for i := range r.present {
		r.present[i] = -1
	}
	for i := range nodes {
		slot, known := r.slots[nodes[i].Name]
		if !known {
			slot = uint16(len(r.names))
			r.slots[nodes[i].Name] = slot
			r.names, r.present = append(r.names, nodes[i].Name), append(r.present, -1)
		}
		r.present[slot] = int32(i)
	}
}

// of returns the slots of all nodes in the order of their hashes.
func (r *ranks) of(addr netip.Addr) []uint16 {
	known := r.orders[addr]
	if len(known) == len(r.names) {
		return known
	}
	if len(known) == 0 && len(r.orders) >= addressLimit {
		clear(r.orders)
	}
	h := newHasher(addr)
	if missing := len(r.names) - len(known); missing > 1 {
		known = h.sort(r.names)
	} else {
		known = h.insert(slices.Grow(known, 1), r.names)
	}
	r.orders[addr] = known
	return known
}
