package memory

import (
	"runtime"
	"testing"
)

// A process that has more in use than the floor may take an eighth more than
// that, so that collections do not eat its processor time.
func TestLimit(t *testing.T) {
	const floor = 40 << 20
	if got := limit(floor); got != floor {
		t.Errorf("a small process may take %d bytes, want %d", got, floor)
	}
	kept := make([][]byte, 100)
	for i := range kept {
		kept[i] = make([]byte, 1<<20)
	}
	runtime.GC()
	if got, least := limit(floor), int64(len(kept)<<20)*9/8; got < least || got > 2*least {
		t.Errorf("a process with 100 MiB in use may take %d bytes, want %d or somewhat more", got, least)
	}
	for i := range kept {
		kept[i][0]++
	}
}
