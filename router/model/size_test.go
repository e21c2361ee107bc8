package model

import (
	"testing"
	"unsafe"
)

// TestClaimSize bounds what a router holds for each claim beside its texts: memory goes
// in steps, and 10,000 claims are 1.3 MB more at the next one, twice that before the
// garbage is collected.
func TestClaimSize(t *testing.T) {
	t.Parallel()
	const most = 480 // a size class of Go's allocator
	if size := unsafe.Sizeof(Claim{}); size > most {
		t.Errorf("a claim takes %d bytes, more than %d: keep what few claims need behind a pointer", size, most)
	}
}
