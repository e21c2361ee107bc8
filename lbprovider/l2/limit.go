package l2

import (
	"hash/maphash"
	"net/netip"
)

const (
	// limitPerSecond is how many answers about one address one host gets. A host
	// that asks more often floods; it cannot make this node flood in turn.
	limitPerSecond = 100
	limitSlots     = 4096
)

// limiter counts the answers of the current second. Hosts that fall into the same
// slot share its count. It belongs to one goroutine and does not allocate.
type limiter struct {
	seed  maphash.Seed
	slots []limitSlot
}

type limitSlot struct {
	second int64
	count  int
}

// limitKey is a host and the address that it asks for.
type limitKey struct {
	host   mac
	target netip.Addr
}

func newLimiter() *limiter {
	return &limiter{seed: maphash.MakeSeed(), slots: make([]limitSlot, limitSlots)}
}

// allow says whether to answer host about target in this second.
func (l *limiter) allow(host mac, target netip.Addr, second int64) bool {
	slot := &l.slots[maphash.Comparable(l.seed, limitKey{host, target})%uint64(len(l.slots))]
	if slot.second != second {
		*slot = limitSlot{second: second}
	}
	slot.count++
	return slot.count <= limitPerSecond
}
