package election

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
