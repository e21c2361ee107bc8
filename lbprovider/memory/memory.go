// Package memory keeps the processes of a node small: Go leaves garbage for
// minutes where nothing asks for the memory.
package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcPercent trades a little computing for memory, which a speaker takes on
	// every node: it has little to compute, and keeps much.
	gcPercent = 30
	// headroomShare is the share of what is in use that may come on top before it is looked
	// for garbage. A scrape of its metrics, or a burst of changes, leaves garbage
	// that Go would keep for minutes.
	headroomShare = 8
	// checkInterval is how often the limit is looked at again, and step what it changes by
	// at least.
	checkInterval = time.Second
	minStep       = 256 << 10
)

// DisableSampling switches off the record of who allocated what, of which only a
// profile makes use: it takes 1.5 MB. It is to be called before anything else.
func DisableSampling() { runtime.MemProfileRate = 0 }

// LimitGarbage bounds the memory of the process at what it has in use and an eighth, but
// not below the floor, in bytes, until ctx ends. It is a soft limit: Go collects more often, and gives back at once
// what is free. $GOGC and $GOMEMLIMIT take precedence.
func LimitGarbage(ctx context.Context, floor int64, env func(string) string) {
	if env("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if env("GOMEMLIMIT") != "" {
		return
	}
	now := floor
	debug.SetMemoryLimit(now)
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if next := limit(floor); next >= now+minStep || next <= now-minStep {
			now = next
			debug.SetMemoryLimit(now)
		}
	}
}

// limit is what the process may take now, in bytes, by Go's own count. All that
// is no object counts as well: stacks, Go's tables, and room between objects,
// which a burst leaves. A limit without it would have Go look for garbage all the
// time where there is none.
func limit(floor int64) int64 {
	read := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(read)
	at := func(i int) int64 { return int64(read[i].Value.Uint64()) }
	besides := at(1) - at(2) - at(3) - at(4)
	return max(floor, besides+at(0)+at(0)/headroomShare)
}
