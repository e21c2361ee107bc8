package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Usage is what a process uses.
type Usage struct {
	PID int
	// Memory is the resident memory in bytes, Anonymous what of it is not pages
	// of files, such as the program's own, which all processes of it share and
	// the kernel drops when memory is short. Files is the number of open file
	// descriptors.
	// Peak is the most memory that was resident since ForgetPeak.
	Memory, Anonymous, Peak int64
	Files                   int
}

// Usage returns that of the router and of the largest process of its HAProxy, the
// worker.
func (o *Router) Usage() (router, haproxy Usage) {
	router = UsageOf(o.cmd.Process.Pid)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return router, haproxy
	}
	for _, dir := range dirs {
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err != nil || !strings.HasPrefix(string(name), "haproxy") {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err != nil || !strings.Contains(string(line), o.WorkDir+"/") {
			continue
		}
		if u := UsageOf(pid); u.Memory > haproxy.Memory {
			haproxy = u
		}
	}
	return router, haproxy
}

// ForgetPeak makes the router's peak what it uses now (proc(5), clear_refs).
func (o *Router) ForgetPeak() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", o.cmd.Process.Pid), []byte("5"), 0o600); err != nil {
		return fmt.Errorf("forget the peak of memory: %w", err)
	}
	return nil
}

// Memory returns the resident memory, in bytes, of the router and of the
// largest HAProxy process.
func (o *Router) Memory() (router, haproxy int64) {
	r, h := o.Usage()
	return r.Memory, h.Memory
}

// UsageOf returns what a process uses.
func UsageOf(pid int) Usage {
	u := Usage{PID: pid}
	if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil {
		u.Files = len(files)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			u.Memory = kb << 10
		case "VmHWM:":
			u.Peak = kb << 10
		case "RssAnon:":
			u.Anonymous = kb << 10
		}
	}
	return u
}
