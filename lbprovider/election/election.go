// Package election decides which node answers for an address, and says why. It
// is pure and stateless: every speaker computes it alone from the same data
// and comes to the same result, so the nodes need not talk about it.
//
//	all nodes ── exclude (with reason) ─→ candidates ── order ─→ owner
//
// The order is MetalLB's: preference score, then the hash of node and address.
// When a node comes or goes, only the addresses it owns move.
//
// Decide returns everything about one address. An Electorate returns only who owns
// it, thousands of times as fast as nodes come and go.
package election

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
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
	h, all := newHasher(addr), make([]ranked, len(candidates))
	for i, c := range candidates {
		all[i] = ranked{Candidate: c, hash: h.hash(c.Node)}
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

// hasher hashes nodes with one address.
type hasher struct {
	suffix []byte // "#" and the address
	text   []byte
}

func newHasher(addr netip.Addr) *hasher { return &hasher{suffix: addr.AppendTo([]byte{'#'})} }

func (h *hasher) hash(node string) [sha256.Size]byte {
	h.text = append(append(h.text[:0], node...), h.suffix...)
	return sha256.Sum256(h.text)
}

func (h *hasher) less(a, b string) bool {
	x, y := h.hash(a), h.hash(b)
	return cmp.Or(bytes.Compare(x[:], y[:]), cmp.Compare(a, b)) < 0
}

// sort returns the indices of names in the order of their hashes.
func (h *hasher) sort(names []string) []uint16 {
	type ranked struct {
		start uint64 // of the hash, which is enough for all but one pair in 10^19
		slot  uint16
	}
	all := make([]ranked, len(names))
	for i, name := range names {
		sum := h.hash(name)
		all[i] = ranked{start: binary.BigEndian.Uint64(sum[:]), slot: uint16(i)}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		switch {
		case h.less(names[a.slot], names[b.slot]):
			return -1
		case h.less(names[b.slot], names[a.slot]):
			return 1
		}
		return 0
	})
	slots := make([]uint16, len(all))
	for i, r := range all {
		slots[i] = r.slot
	}
	return slots
}

// insert puts the last of names, of which the others are in order, in its place.
func (h *hasher) insert(order []uint16, names []string) []uint16 {
	last := names[len(names)-1]
	at, _ := slices.BinarySearchFunc(order, last, func(slot uint16, last string) int {
		if h.less(names[slot], last) {
			return -1
		}
		return 1
	})
	return slices.Insert(order, at, uint16(len(names)-1))
}
