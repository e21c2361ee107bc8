package main

import (
	"runtime"
	"testing"

	"github.com/fairlead/fairlead/cmd/internal/machine"
)

// TestThreads: as many as there are processors, unless the command line says
// otherwise.
func TestThreads(t *testing.T) {
	t.Parallel()
	for processors, want := range map[int]int{0: 1, 1: 1, 2: 2, 16: 16, 64: 16} {
		if got := machine.Threads(processors); got != want {
			t.Errorf("%d processors: %d threads, want %d", processors, got, want)
		}
	}
	for _, test := range []struct {
		args []string
		want int
	}{{nil, machine.Threads(runtime.GOMAXPROCS(0))}, {[]string{"--threads", "3"}, 3}} {
		c, err := parseFlags(append([]string{"--work-dir", t.TempDir()}, test.args...), false)
		if err != nil || c.threads != test.want {
			t.Errorf("%v: %d threads, want %d: %v", test.args, c.threads, test.want, err)
		}
	}
}
