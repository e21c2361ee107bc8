package dns

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// failures are the writes that failed in a row, for each DNSRecord.
type failures struct {
	mu    sync.Mutex
	known map[types.UID]failing
}

// failing is a DNSRecord that fails. Another wish starts from scratch.
type failing struct {
	generation int64
	count      int
}

// next returns when to try again after one more failure: first, then twice as
// long each time, up to limit.
func (f *failures) next(uid types.UID, generation int64, first, limit time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[types.UID]failing{}
	}
	now := f.known[uid]
	if now.generation != generation {
		now = failing{generation: generation}
	}
	wait := first
	for range now.count {
		if wait = 2 * wait; wait >= limit {
			break
		}
	}
	now.count++
	f.known[uid] = now
	return min(wait, limit)
}

// forget starts from scratch.
func (f *failures) forget(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, uid)
}
