package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// steadyGC is GOGC of a router that has started. What it holds hardly changes
// and changes make little garbage, so a small heap costs no time worth
// mentioning. A start makes much garbage and should be quick: with startGC it
// takes a quarter more memory than what it ends with, with 300 two thirds more,
// and the same time within what two starts differ.
const (
	startGC  = 50
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
