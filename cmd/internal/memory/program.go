package memory

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dropProgram unmaps the pages of the program's own file that were read so far, a tenth of what is
// resident after a start: what most of them hold only the start has used. Those that are used again
// come from the kernel's cache of files. Where it cannot be done, nothing is lost but memory.
func dropProgram() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, p := range cleanPages(maps, self) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, p.first, p.last-p.first, unix.MADV_DONTNEED)
	}
}

// pages are a part of the address space.
type pages struct{ first, last uintptr }

// cleanPages reads proc_pid_smaps(5). It returns where a file is mapped that is not written to. A part
// of it that was written to before, as relocations are, is no such place: its contents would be lost.
func cleanPages(maps io.Reader, file string) (all []pages) {
	var here *pages
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
		case !strings.HasSuffix(fields[0], ":"):
			here = nil
			var p pages
			if n, _ := fmt.Sscanf(fields[0], "%x-%x", &p.first, &p.last); n == 2 && len(fields) == 6 && fields[5] == file && fields[1][1] == '-' {
				here = &p
			}
		case fields[0] == "Anonymous:" && here != nil && fields[1] == "0":
			all = append(all, *here)
		}
	}
	return all
}
