package share

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
)

// Key names what is counted together.
type Key struct {
	// Namespace is whose limit it is.
	Namespace string
	// Name is the limit's, which changes with the limit, and the client's.
	Name string
}

// Bounds of a Key, in bytes.
const (
	longestNamespace = 63
	longestName      = 160
)

func (k Key) valid() bool {
	return len(k.Namespace) <= longestNamespace && k.Name != "" && len(k.Name) <= longestName
}

func (k Key) hash() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.Namespace))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(k.Name))
	return h.Sum64()
}

// view is a set of members.
type view struct {
	members []string // sorted
	hashes  []uint64
	// id is the same for all that see the same members.
	id uint64
}

func newView(members []string) *view {
	members = slices.Compact(slices.Sorted(slices.Values(members)))
	v := &view{members: members}
	for _, m := range members {
		sum := sha256.Sum256([]byte(m))
		v.hashes = append(v.hashes, binary.BigEndian.Uint64(sum[:]))
	}
	sum := sha256.Sum256([]byte(strings.Join(members, "\n")))
	v.id = max(binary.BigEndian.Uint64(sum[:]), 1)
	return v
}

func (v *view) has(member string) bool {
	_, found := slices.BinarySearch(v.members, member)
	return found
}

// owner is the member with the highest hash together with the key (rendezvous), so that
// a change of members changes the owner of few keys.
func (v *view) owner(key uint64) string {
	owner, highest := "", uint64(0)
	for i, h := range v.hashes {
		if s := mix(key ^ h); owner == "" || s > highest {
			owner, highest = v.members[i], s
		}
	}
	return owner
}

// Owner is the member that owns a key, among members that are the same everywhere.
func Owner(members []string, k Key) string { return newView(members).owner(k.hash()) }

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
