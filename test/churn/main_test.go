// Package churn tests that no request fails while everything around it
// changes: a real API server, the router process, HAProxy 3.4 and 3.0, and wrk.
//
// By default the tests take about a minute, in full about six:
//
//	go test -count=1 -v -timeout 30m ./test/churn -args -full
package churn

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// full asks for 1,000 routes; unable is why no test can run here. TestMain has
// no other way to hand them over.
var (
	full   = flag.Bool("full", false, "change 1,000 routes instead of a few")
	unable error
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		unable = errors.New("needs root and takes a minute")
		os.Exit(m.Run())
	}
	inside, err := rig.Inside()
	if inside && err == nil {
		os.Exit(m.Run())
	}
	code := 1
	if err == nil {
		code, err = rig.Enter()
	}
	if errors.Is(err, rig.ErrUnable) {
		unable = err
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
