package memory

import (
	"runtime"
	"testing"
)

// TestNext: GOGC grows where collections take much of what a process computes, never
// above a bound, and is what it was when that is over.
func TestNext(t *testing.T) {
	t.Parallel()
	now := steadyGC
	for i, step := range []struct {
		share float64
		want  int
	}{
		{0, 12}, {0.05, 12}, {0.085, 12}, {0.25, 37}, {0.08, 37}, {0.2, 60}, {0.5, 60}, {0.08, 60}, {0.04, 30}, {0.01, 12}, {0, 12},
	} {
		if now = next(now, steadyGC, 60, computed{all: 10, collecting: 10 * step.share}); now != step.want {
			t.Errorf("step %d: GOGC is %d after collections took %v, want %d", i, now, step.share, step.want)
		}
	}
	for _, heap := range []struct {
		live        uint64
		least, most int
	}{{20 << 20, 45, 80}, {40 << 20, 22, 40}, {56 << 20, 16, 28}, {68 << 20, 13, 13}, {200 << 20, 12, 12}} {
		if least, most := steady(heap.live); least != heap.least || most != heap.most {
			t.Errorf("GOGC for %d MB is %d to %d, want %d to %d", heap.live>>20, least, most, heap.least, heap.most)
		}
	}
	if got := next(now, 80, 100, computed{all: 1, collecting: 0.01}); got != 80 {
		t.Errorf("GOGC of a small heap is %d", got)
	}
}

// TestProcessorTime: what the runtime calls these times has not changed.
func TestProcessorTime(t *testing.T) {
	t.Parallel()
	before := processorTime()
	for range 3 {
		_ = make([]byte, 64<<20)
		runtime.GC()
	}
	if d := processorTime().minus(before); d.all <= 0 || d.collecting <= 0 || d.collecting > d.all {
		t.Errorf("computed %+v", d)
	}
}
