package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// MaxShare is how many bytes of a snapshot the policies of one namespace take, so that
// no tenant fills it.
const MaxShare = 2 << 20

// MaxTotal is how many bytes all policies take: what a worker has memory for.
const MaxTotal = 16 << 20

// Item is an encoded policy, for Select.
type Item struct {
	ID, Namespace, Text string
	// Old ones are left out before others of the namespace.
	Old bool
}

// Select returns the items that fit into a snapshot, sorted, a number that identifies
// them, and the IDs of the others with the reason. The agent knows nothing of those, so
// it refuses what asks for them.
func Select(around Surroundings, items []Item) (kept []string, generation uint64, left map[string]string) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), order(a.Old)-order(b.Old), cmp.Compare(a.ID, b.ID))
	})
	sum, all, share, namespace := sha256.New(), 0, 0, ""
	_, _ = fmt.Fprintln(sum, around.Networks, around.Sessions)
	if r := around.Replicas; r != nil {
		_, _ = fmt.Fprintln(sum, *r)
	}
	if len(around.Relays) > 0 {
		_, _ = fmt.Fprintln(sum, around.Relays)
	}
	for i := range items {
		item := &items[i]
		if item.Namespace != namespace {
			share, namespace = 0, item.Namespace
		}
		reason := ""
		switch size := len(item.Text) + 1; {
		case share+size > MaxShare:
			reason = "the policies of the namespace take more than 2 MiB with what they name"
		case all+size > MaxTotal || len(kept) == MaxPolicies:
			reason = "the policies of all namespaces together are too many for the policy agent"
		default:
			share, all = share+size, all+size
			kept = append(kept, item.Text)
			_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(item.Text))))
			_, _ = sum.Write([]byte(item.Text))
			continue
		}
		if left == nil {
			left = map[string]string{}
		}
		left[item.ID] = reason
	}
	// A metric holds it, which has 53 bits.
	return kept, binary.BigEndian.Uint64(sum.Sum(nil))>>11 | 1, left
}

func order(old bool) int {
	if old {
		return 1
	}
	return 0
}
