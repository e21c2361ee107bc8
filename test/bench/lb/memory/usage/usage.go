// Package usage tells what a process takes of a machine's memory, in the words
// of Linux and in those of Kubernetes.
package usage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Usage is what a process takes, in bytes.
type Usage struct {
	// WorkingSet is what `kubectl top` shows, and what counts against a memory
	// limit in the end: everything charged to the process's control group, but
	// for pages of files that were not used of late, of its program for instance.
	WorkingSet int64 `json:"workingSet"`
	// Anonymous is what the process has allocated (RssAnon), and Resident is that
	// with all pages of its program that are mapped (VmRSS), which the kernel may
	// drop at any time and shares among processes.
	Anonymous int64 `json:"anonymous"`
	Resident  int64 `json:"resident"`
	// Peak is the most that was ever resident (VmHWM).
	Peak int64 `json:"peak"`
}

// String returns all four in MB, which are millions of bytes.
func (u Usage) String() string {
	mb := func(bytes int64) float64 { return float64(bytes) / 1e6 }
	return fmt.Sprintf("%.1f MB (allocated %.1f, with the program's pages %.1f, at most %.1f)",
		mb(u.WorkingSet), mb(u.Anonymous), mb(u.Resident), mb(u.Peak))
}

// Group is a control group for one process.
type Group struct {
	dir string
	v2  bool
}

// NewGroup makes a group of this name, which must not exist yet.
func NewGroup(name string) (*Group, error) {
	g := &Group{dir: filepath.Join("/sys/fs/cgroup/memory", name)}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		g.v2, g.dir = true, filepath.Join("/sys/fs/cgroup", name)
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	return g, nil
}

// Command returns a command that runs the program in the group. Its pages are
// dropped from memory first, so that they are charged to it and not to whoever
// wrote the file.
func (g *Group) Command(program string, args ...string) (*exec.Cmd, error) {
	f, err := os.Open(program)
	if err != nil {
		return nil, fmt.Errorf("drop the program's pages: %w", err)
	}
	defer f.Close()
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		return nil, fmt.Errorf("drop the program's pages: %w", err)
	}
	enter := fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$0" "$@"`, g.dir)
	return exec.Command("sh", append([]string{"-c", enter, program}, args...)...), nil
}

// Remove removes the group, in which no process may be left.
func (g *Group) Remove() error {
	if err := os.Remove(g.dir); err != nil {
		return fmt.Errorf("remove the control group: %w", err)
	}
	return nil
}

// Usage returns what the process of the group takes now.
func (g *Group) Usage(pid int) (Usage, error) {
	current, inactive := "memory.usage_in_bytes", "total_inactive_file"
	if g.v2 {
		current, inactive = "memory.current", "inactive_file"
	}
	var u Usage
	text, err := os.ReadFile(filepath.Join(g.dir, current))
	if err != nil {
		return u, fmt.Errorf("read the control group: %w", err)
	}
	if _, err := fmt.Sscan(string(text), &u.WorkingSet); err != nil {
		return u, fmt.Errorf("read the control group: %w", err)
	}
	unused, err := fields(filepath.Join(g.dir, "memory.stat"), inactive)
	if err != nil {
		return u, err
	}
	u.WorkingSet -= unused[0]
	status, err := fields(fmt.Sprintf("/proc/%d/status", pid), "RssAnon:", "VmRSS:", "VmHWM:")
	if err != nil {
		return u, err
	}
	u.Anonymous, u.Resident, u.Peak = status[0]*1024, status[1]*1024, status[2]*1024
	return u, nil
}

// fields returns the numbers behind the names in a file of lines.
func fields(path string, names ...string) ([]int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the memory in use: %w", err)
	}
	out := make([]int64, len(names))
	found := 0
	for line := range strings.Lines(string(text)) {
		for i, name := range names {
			rest, ok := strings.CutPrefix(line, name)
			if !ok {
				continue
			}
			if _, err := fmt.Sscan(rest, &out[i]); err != nil {
				return nil, fmt.Errorf("read %q: %w", line, err)
			}
			found++
		}
	}
	if found != len(names) {
		return nil, fmt.Errorf("%s does not tell %v", path, names)
	}
	return out, nil
}
