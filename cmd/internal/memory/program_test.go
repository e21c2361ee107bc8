package memory

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestCleanPages: only parts of the program's file that were never written to may be dropped.
func TestCleanPages(t *testing.T) {
	t.Parallel()
	const text = `00400000-01000000 r-xp 00000000 08:01 42                         /bin/router
Size:              12288 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01000000-02000000 r--p 00c00000 08:01 42                         /bin/router
Anonymous:             4 kB
02000000-02100000 rw-p 01c00000 08:01 42                         /bin/router
Anonymous:             0 kB
02100000-02200000 r--p 00000000 08:01 43                         /lib/other
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
03000000-03100000 r--p 01d00000 08:01 42                         /bin/router
Anonymous:             0 kB
`
	want := []pages{{0x400000, 0x1000000}, {0x3000000, 0x3100000}}
	if got := cleanPages(strings.NewReader(text), "/bin/router"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestDropProgram drops pages of this program, which goes on.
func TestDropProgram(t *testing.T) {
	before := resident(t)
	dropProgram()
	if after := resident(t); after >= before {
		t.Errorf("%d pages of files are resident, %d before", after, before)
	}
}

// resident returns the resident pages of files (proc_pid_statm(5), shared).
func resident(t *testing.T) (pages int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(strings.Fields(string(text))[2], &pages); err != nil {
		t.Fatal(err)
	}
	return pages
}
