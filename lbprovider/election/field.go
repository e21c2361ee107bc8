package election

import (
	"net/netip"
	"slices"
)

// field is the nodes of one decision, of which some are taken out.
type field struct {
	nodes    []Node
	in       []bool
	left     int
	excluded map[string]Exclusion
}

func newField(nodes []Node) *field {
	f := &field{nodes: nodes, in: make([]bool, len(nodes)), left: len(nodes)}
	for i := range f.in {
		f.in[i] = true
	}
	return f
}

func (f *field) take(i int, why Exclusion) {
	if f.excluded == nil {
		f.excluded = map[string]Exclusion{}
	}
	f.excluded[f.nodes[i].Name] = why
	f.in[i] = false
	f.left--
}

// doubtful takes out the nodes that had better not announce, the worst first.
func (f *field) doubtful(doubts map[string]Exclusion) {
	if len(doubts) > 0 {
		f.standBack(ExcludedSilent, func(n *Node) bool { return doubts[n.Name] == ExcludedSilent })
		f.standBack(ExcludedLeaving, func(n *Node) bool { return doubts[n.Name] == ExcludedLeaving })
	}
	f.standBack(ExcludedDraining, func(n *Node) bool { return n.Draining })
	f.standBack(ExcludedLost, func(n *Node) bool { return n.Lost })
	f.standBack(ExcludedDrained, func(n *Node) bool { return n.Drained })
	f.standBack(ExcludedNotReady, func(n *Node) bool { return !n.Ready })
}

// standBack takes out the nodes of which except is true, unless none would be left.
func (f *field) standBack(why Exclusion, except func(*Node) bool) {
	count := 0
	for i := range f.nodes {
		if f.in[i] && except(&f.nodes[i]) {
			count++
		}
	}
	if count == 0 || count == f.left {
		return
	}
	for i := range f.nodes {
		if f.in[i] && except(&f.nodes[i]) {
			f.take(i, why)
		}
	}
}

// memoryLimit is how many addresses are remembered at most.
const memoryLimit = 50_000

// Memory remembers the order of the nodes by hash for each address, which
// changes only with the nodes' names. The zero value is empty. It is not safe
// for concurrent use.
type Memory struct {
	names  []string
	orders map[netip.Addr][]uint16
}

// order returns the indices of all nodes in the order of their hashes.
func (m *Memory) order(addr netip.Addr, nodes []Node) []uint16 {
	same := len(nodes) == len(m.names)
	for i := 0; same && i < len(nodes); i++ {
		same = nodes[i].Name == m.names[i]
	}
	if !same || len(m.orders) >= memoryLimit {
		m.names, m.orders = nil, map[netip.Addr][]uint16{}
		for i := range nodes {
			m.names = append(m.names, nodes[i].Name)
		}
	}
	known, ok := m.orders[addr]
	if ok {
		return known
	}
	candidates, index := make([]Candidate, len(nodes)), make(map[string]uint16, len(nodes))
	for i := range nodes {
		candidates[i].Node = nodes[i].Name
		index[nodes[i].Name] = uint16(i)
	}
	ranks := make([]uint16, 0, len(nodes))
	for _, name := range Order(addr, candidates) {
		ranks = append(ranks, index[name])
	}
	if m.orders == nil {
		m.orders = map[netip.Addr][]uint16{}
	}
	m.orders[addr] = ranks
	return slices.Clip(ranks)
}
