// Package churn tests that no request fails while everything around it
// changes: a real API server, the router process, HAProxy 3.4 and 3.0, and wrk.
//
// By default the tests take about a minute, in full about six:
//
//	go test -count=1 -v -timeout 30m ./test/churn -args -full
package churn

import (
	"flag"
	"os"
	"testing"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// unable is why no test can run here. TestMain has no other way to hand it over.
var unable error

func TestMain(m *testing.M) {
	flag.Parse()
	run, code, err := rig.EnterTests(testing.Short())
	if unable = err; run {
		code = m.Run()
	}
	os.Exit(code)
}
