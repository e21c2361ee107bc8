package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcPercent trades a little computing for memory, which a speaker takes on
	// every node: it has little to compute, and keeps much.
	gcPercent = 30
	// memoryFloor is what a speaker may take without being thrifty: with 5,000
	// Services it is enough. A scrape of its metrics, or a burst of changes, leaves
	// garbage that Go would keep for minutes.
	memoryFloor = 44 << 20
	// spare is the share of what is in use that may come on top where that is more.
	spare = 4 // a quarter
	// thriftEvery is how often the limit is looked at again.
	thriftEvery = 5 * time.Second
)

// thrift bounds the process's memory at what it has in use and a quarter, until
// ctx ends. It is a soft limit: Go collects more often, and gives back at once
// what is free. $GOGC and $GOMEMLIMIT take precedence.
func thrift(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(memoryFloor)
	tick := time.NewTicker(thriftEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			debug.SetMemoryLimit(limit())
		}
	}
}

// limit is what the process may take now, in bytes.
func limit() int64 {
	read := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(read)
	at := func(i int) int64 { return int64(read[i].Value.Uint64()) }
	besides := at(1) - at(2) - at(3) - at(4) - at(5) // stacks and Go's own
	return max(memoryFloor, besides+at(0)+at(0)/spare)
}
