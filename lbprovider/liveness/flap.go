package liveness

import (
	"slices"
	"sync"
	"time"
)

const (
	// flapWindow is how long the loss of a speaker is remembered.
	flapWindow = 10 * time.Minute
	// flapsForgiven is how many losses within it are nothing unusual.
	flapsForgiven = 2
	// settleLimit is the longest time that a speaker stands back after it came.
	settleLimit = 5 * time.Minute
)

// aloneWindow is how far back losses do not count once nobody is left: it was
// this speaker that was cut off, not the others.
const aloneWindow = 30 * time.Second

// flaps remembers when which speaker was lost without a good-bye, and how often
// the others say that they lost this one.
type flaps struct {
	mu     sync.Mutex
	lost   map[string][]time.Time
	own    int
	ownAge time.Time
}

// told notes how often another speaker has lost this one of late, and says
// whether that is more often than was known.
func (f *flaps) told(lost int, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.ownAge) > flapWindow {
		f.own = 0
	}
	if lost <= f.own {
		return false
	}
	f.own, f.ownAge = lost, now
	return true
}

// settle returns how long this speaker has to stand back.
func (f *flaps) settle() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return settleFor(f.own)
}

// alone forgets the latest losses, and says whether there were several.
func (f *flaps) alone(now time.Time) (several bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := 0
	for node, times := range f.lost {
		older := slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return now.Sub(at) < aloneWindow })
		if len(older) < len(times) {
			count++
		}
		f.lost[node] = older
	}
	return count > 1
}

func (f *flaps) add(node string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost == nil {
		f.lost = map[string][]time.Time{}
	}
	f.lost[node] = append(f.lost[node], now)
}

// list returns how often each speaker was lost of late.
func (f *flaps) list(now time.Time) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]int{}
	for node, times := range f.lost {
		for len(times) > 0 && now.Sub(times[0]) > flapWindow {
			times = times[1:]
		}
		if f.lost[node] = times; len(times) == 0 {
			delete(f.lost, node)
			continue
		}
		out[node] = len(times)
	}
	return out
}

// settleFor returns how long a speaker stands back that was lost so often: five
// seconds, and from the third time on twice as long each time.
func settleFor(lost int) time.Duration {
	d := settleTime
	for range max(0, lost-flapsForgiven) {
		if d *= 2; d >= settleLimit {
			return settleLimit
		}
	}
	return d
}
