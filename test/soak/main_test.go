// Package soak tests that the router stays as it is however long it runs:
// random changes of everything a Route, its Services and its certificate have,
// and of Gateways with their listeners, ListenerSets and HTTPRoutes, under load
// and under connections that last, with a real API server, the router process
// and HAProxy 3.4. No request may fail, no lasting connection
// break, HAProxy never reload, and memory and open files not grow.
//
// Requests are held against the states that the route had while they ran, so
// that one which is wrong, late or lost is told apart from one that a change
// has rightly made a 404. By default 300 changes over 100 routes take half a
// minute; `make soak` is the full size. A seed repeats the sequence of changes
// of each of the goroutines that make them, though not how they interleave:
//
//	go test -count=1 -v -timeout 30m ./test/soak -args -changes 10000 -routes 2000 -sockets 200 -streams 200 -seed 7
package soak

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/full"
)

// size is how much the test does; unable is why it cannot run here. TestMain
// has no other way to hand them over.
var (
	size struct {
		changes, routes  int
		sockets, streams int
		gateways         int
		seed             uint64
	}
	unable error
)

func TestMain(m *testing.M) {
	flag.IntVar(&size.changes, "changes", full.Or(10000, 300), "number of random changes")
	flag.IntVar(&size.routes, "routes", full.Or(2000, 100), "number of routes that change")
	flag.IntVar(&size.sockets, "sockets", full.Or(200, 20), "number of websockets that last")
	flag.IntVar(&size.streams, "streams", full.Or(200, 20), "number of streams of HTTP/2 that last")
	flag.IntVar(&size.gateways, "gateways", full.Or(8, 3), "number of Gateways that change")
	flag.Uint64Var(&size.seed, "seed", uint64(time.Now().UnixNano()), "seed of the random changes")
	flag.Parse()
	run, code, err := rig.EnterTests(testing.Short())
	if unable = err; run {
		code = m.Run()
	}
	os.Exit(code)
}
