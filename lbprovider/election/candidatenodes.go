package election

// candidateNodes is the nodes of one decision, of which some are taken out.
type candidateNodes struct {
	nodes    []Node
	in       []bool
	left     int
	excluded map[string]Exclusion
}

func newCandidateNodes(nodes []Node) *candidateNodes {
	f := &candidateNodes{nodes: nodes, in: make([]bool, len(nodes)), left: len(nodes)}
	for i := range f.in {
		f.in[i] = true
	}
	return f
}

func (f *candidateNodes) exclude(i int, why Exclusion) {
	if f.excluded == nil {
		f.excluded = map[string]Exclusion{}
	}
	f.excluded[f.nodes[i].Name] = why
	f.in[i] = false
	f.left--
}

// excludeDoubtful takes out the nodes that had better not announce, the worst first.
func (f *candidateNodes) excludeDoubtful(doubts map[string]Exclusion) {
	if len(doubts) > 0 {
		f.excludeUnlessAll(ExcludedSilent, func(n *Node) bool { return doubts[n.Name] == ExcludedSilent })
		f.excludeUnlessAll(ExcludedLeaving, func(n *Node) bool { return doubts[n.Name] == ExcludedLeaving })
	}
	f.excludeUnlessAll(ExcludedDraining, func(n *Node) bool { return n.Draining })
	f.excludeUnlessAll(ExcludedAPILost, func(n *Node) bool { return n.APILost })
	f.excludeUnlessAll(ExcludedDrained, func(n *Node) bool { return n.Drained })
	f.excludeUnlessAll(ExcludedNotReady, func(n *Node) bool { return !n.Ready })
}

// excludeUnlessAll takes out the nodes of which except is true, unless none would be left.
func (f *candidateNodes) excludeUnlessAll(why Exclusion, except func(*Node) bool) {
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
			f.exclude(i, why)
		}
	}
}
