package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/fairlead/fairlead/router"
)

// steadyGC is GOGC of a router that has started. What it holds hardly changes
// and changes make little garbage, so a small heap costs no time worth
// mentioning. A start makes much garbage and should be quick.
const (
	startGC  = 300
	steadyGC = 15
)

// saveMemory bounds the garbage that the process keeps, once it is ready.
// GOGC in the environment, if set, stays in force.
func saveMemory(ctx context.Context, ready func() bool) {
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
	// What a start leaves behind: the first reports of status, and the first
	// look at all of HAProxy, which comes after router.DefaultDriftCheck.
	for _, wait := range []time.Duration{5 * time.Second, router.DefaultDriftCheck + 10*time.Second} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			debug.FreeOSMemory()
		}
	}
}
