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
// mentioning. Where they make much, as those of a hostile tenant do, a quarter of
// the time went to collections: the share of garbage grows until they take
// no more than mostGC of what the process computes, or there are mostGarbage bytes
// of it. A start makes much garbage and should be quick: with startGC it
// takes a quarter more memory than what it ends with, with 300 two thirds more,
// and the same time within what two starts differ.
const (
	startGC  = 50
	steadyGC = 12
	mostGC   = 0.08
	// leastGarbage is how much garbage is kept at least, in bytes: with a share of
	// a small heap alone, one change of a large route is several collections.
	leastGarbage, mostGarbage = 9 << 20, 16 << 20
	// roomyHeap is what the heap may grow to for the sake of more garbage: beyond it there is as little as may be, so that
	// a router of 10,000 routes has the 120 MB resident that are promised, also while many of them change.
	roomyHeap = 72 << 20
	// heapLooks is how often the share is made to fit the heap.
	heapLooks = 10 * time.Second
)

// steady returns GOGC for a heap of so many live bytes in a process that computes little,
// and the most for one that computes much.
func steady(live uint64) (least, most int) {
	of := func(garbage uint64) int { return max(steadyGC, int(garbage*100/max(live, 1<<20))) }
	return of(leastGarbage), of(max(leastGarbage, min(mostGarbage, roomyHeap-min(live, roomyHeap))))
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
	if !await(ctx, ready) {
		return
	}
	debug.SetGCPercent(steadyGC)
	go followHeap(ctx)
	giveBack(ctx)
}

// boundedGC is GOGC of a program that decides about all objects again after each change, which makes
// as much garbage as it holds.
const boundedGC = 30

// SaveBound is Save for such a program.
func SaveBound(ctx context.Context, ready func() bool) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(boundedGC)
	}
	if await(ctx, ready) {
		giveBack(ctx)
	}
}

// await waits until a program is ready, and returns false if it ends before.
func await(ctx context.Context, ready func() bool) bool {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// giveBack gives back what only a start has needed.
func giveBack(ctx context.Context) {
	debug.FreeOSMemory()
	dropProgram()
	// The first reports of status are what a start leaves behind.
	for _, wait := range []time.Duration{5 * time.Second, 20 * time.Second} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			debug.FreeOSMemory()
			dropProgram()
		}
	}
}

// followHeap lets the share of garbage follow the heap's size, and what collections take.
func followHeap(ctx context.Context) {
	tick := time.NewTicker(heapLooks)
	defer tick.Stop()
	before := processorTime()
	for now := steadyGC; ; {
		after := processorTime()
		least, most := steady(liveHeap())
		if want := next(now, least, most, after.minus(before)); want != now {
			now = want
			debug.SetGCPercent(want)
		}
		before = after
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// next returns GOGC, within bounds, after some time with GOGC now in which the process
// computed. It is as it was if another would hardly be different.
func next(now, least, most int, spent computed) int {
	want := least
	if spent.all > 0 && spent.collecting > 0 {
		// What collections take is in inverse proportion to the share of garbage.
		want = max(least, min(int(float64(now)*spent.collecting/(mostGC*spent.all)), most))
	}
	if want >= now*9/10 && want <= now*11/10 {
		return now
	}
	return want
}

// computed is the processor time of the process in seconds, and that of its collections.
type computed struct{ all, collecting float64 }

func (c computed) minus(o computed) computed {
	return computed{c.all - o.all, c.collecting - o.collecting}
}

// processorTime returns what the runtime estimates, as of the last collection. What collections do while the
// process is idle is among it: the processor may be wanted by others.
func processorTime() computed {
	const total, idle, gc = "/cpu/classes/total:cpu-seconds", "/cpu/classes/idle:cpu-seconds", "/cpu/classes/gc/total:cpu-seconds"
	samples := []metrics.Sample{{Name: total}, {Name: idle}, {Name: gc}}
	metrics.Read(samples)
	of := func(i int) float64 { return samples[i].Value.Float64() }
	return computed{of(0) - of(1), of(2)}
}
