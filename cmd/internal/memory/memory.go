// Package memory bounds the garbage that a router's process keeps.
package memory

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// steadyGC is GOGC of a router that has started. What it holds hardly changes
// and changes make little garbage, so a small heap costs no time worth
// mentioning. A start makes much garbage and should be quick: with startGC it
// takes a quarter more memory than what it ends with, with 300 two thirds more,
// and the same time within what two starts differ.
const (
	startGC  = 50
	steadyGC = 12
	// leastGarbage is how much garbage is kept at least, in bytes: with a share of
	// a small heap alone, one change of a large route is several collections.
	leastGarbage = 6 << 20
	// heapLooks is how often the share is made to fit the heap.
	heapLooks = 10 * time.Second
)

// steady returns GOGC for a heap of so many live bytes.
func steady(live uint64) int {
	return max(steadyGC, int(leastGarbage*100/max(live, 1<<20)))
}

// liveHeap returns what the last collection found in use, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Save bounds the garbage that the process keeps, once it is ready.
// GOGC in the environment, if set, stays in force.
func Save(ctx context.Context, ready func() bool) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(startGC)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	debug.SetGCPercent(steadyGC)
	debug.FreeOSMemory()
	go followHeap(ctx)
	// The first reports of status are what a start leaves behind.
	for _, wait := range []time.Duration{5 * time.Second, time.Minute} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			debug.FreeOSMemory()
		}
	}
}

// followHeap lets the share of garbage follow the heap's size.
func followHeap(ctx context.Context) {
	tick := time.NewTicker(heapLooks)
	defer tick.Stop()
	for now := steadyGC; ; {
		if want := steady(liveHeap()); want < now*9/10 || want > now*11/10 {
			now = want
			debug.SetGCPercent(want)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
