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
	// settleLimit is the longest time that a speaker settles after it came.
	settleLimit = 5 * time.Minute
)

// aloneWindow is how far back losses do not count once no speaker is left: it was
// this speaker that was cut off, not the others.
const aloneWindow = 30 * time.Second

// lossHistory remembers when speakers were lost that did not say that they stop, and how often
// the others say that they lost this one.
type lossHistory struct {
	mu     sync.Mutex
	lost   map[string][]time.Time
	own    int
	ownAge time.Time
}

// noteReported notes how often another speaker has lost this one recently, and says
// whether that is more often than was known.
func (f *lossHistory) noteReported(lost int, now time.Time) bool {
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

// settle returns how long this speaker has to settle.
func (f *lossHistory) settle() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return settleFor(f.own)
}

// alone forgets the latest losses, and says whether there were several.
func (f *lossHistory) alone(now time.Time) (several bool) {
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

func (f *lossHistory) add(node string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost == nil {
		f.lost = map[string][]time.Time{}
	}
	f.lost[node] = append(f.lost[node], now)
}

// list returns how often each speaker was lost recently.
func (f *lossHistory) list(now time.Time) map[string]int {
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

// settleFor returns how long a speaker settles that was lost so often: five
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
