// Package election decides which node answers for an address, and says why. It
// is pure and stateless: every speaker computes it alone from the same facts
// and comes to the same result, so the nodes need not talk about it.
//
//	all nodes ── exclude (with reason) ─→ candidates ── order ─→ owner
//
// The order is MetalLB's: preference score, then the hash of node and address.
// When a node comes or goes, only the addresses it owns move.
package election

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"net/netip"
	"slices"
)

// Candidate is a node that may own an address.
type Candidate struct {
	Node string
	// Score is the sum of the weights of matching preferences; more is better.
	Score int
}

// Order returns the names of the candidates, the owner first. The order depends
// on nothing but its arguments, and not on their order.
func Order(addr netip.Addr, candidates []Candidate) []string {
	type ranked struct {
		Candidate
		hash [sha256.Size]byte
	}
	all := make([]ranked, len(candidates))
	for i, c := range candidates {
		all[i] = ranked{Candidate: c, hash: sha256.Sum256([]byte(c.Node + "#" + addr.String()))}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), bytes.Compare(a.hash[:], b.hash[:]), cmp.Compare(a.Node, b.Node))
	})
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Node
	}
	return names
}
