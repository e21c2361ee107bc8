package rig_test

import (
	"os"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// TestComputed: what this process computes is counted, in less than ticks.
func TestComputed(t *testing.T) {
	before, err := rig.Computed(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 5*time.Millisecond; {
	}
	after, err := rig.Computed(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used := after - before; used <= 0 || used > time.Second {
		t.Errorf("%v", used)
	}
	if _, err := rig.Computed(1 << 30); err == nil {
		t.Error("a process that is not there has used time")
	}
}
