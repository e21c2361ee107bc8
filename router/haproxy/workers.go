package haproxy

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/router/render"
)

// MaxOldWorkers is how many workers that a reload has replaced may stay to end
// their connections. HAProxy's own limit, mworker-max-reloads, is not used: it
// counts refused reloads as well, and then ends the worker that serves together
// with all its connections (3.0.11, 3.2.26, 3.4.7).
const MaxOldWorkers = 8

const (
	// workerCheck is how often old workers are counted.
	workerCheck = time.Second
	// memoryShare is the part of the container's memory, in percent, above which
	// old workers are ended: less, and a reload with many routes would do; more,
	// and the kernel may be first, and end the worker that serves.
	memoryShare = 85
	// maxWorkers bounds the answer of the master, which is checked as what
	// comes from outside is.
	maxWorkers = 1000
)

// OldWorker is a worker that a reload has replaced.
type OldWorker struct {
	PID int
	// Reloads is how many there have been since it started.
	Reloads int
}

// OldWorkers asks the master in a layout for them, the oldest one first. The library
// has no call for this, and its raw call cannot tell an answer that was cut off: it
// drops the empty line that ends one.
func OldWorkers(l render.Layout) ([]OldWorker, error) {
	const limit = 5 * time.Second
	conn, err := net.DialTimeout("unix", filepath.Join(l.RunDir(), "master.sock"), limit)
	if err != nil {
		return nil, fmt.Errorf("%w: master socket: %w", ErrGone, err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, fmt.Errorf("%w: master socket: %w", ErrGone, err)
	}
	if _, err := io.WriteString(conn, "show proc\n"); err != nil {
		return nil, fmt.Errorf("%w: master socket: %w", ErrGone, err)
	}
	return parseWorkers(conn)
}

// OldWorkers asks the master of this process.
func (r *Runtime) OldWorkers() ([]OldWorker, error) { return OldWorkers(r.layout) }

// parseWorkers reads the answer to "show proc". The master does not close the
// connection; an empty line ends the answer.
func parseWorkers(from io.Reader) ([]OldWorker, error) {
	lines := bufio.NewScanner(io.LimitReader(from, 1<<20))
	var old []OldWorker
	for section := ""; lines.Scan(); {
		l := lines.Text()
		f := strings.Fields(l)
		switch {
		case len(f) == 0:
			slices.SortStableFunc(old, func(a, b OldWorker) int { return cmp.Compare(b.Reloads, a.Reloads) })
			return old, nil
		case l[0] == '#':
			section = l
		case section == "# old workers" && len(f) > 2 && f[1] == "worker":
			pid, err1 := strconv.ParseInt(f[0], 10, 32)
			reloads, err2 := strconv.ParseInt(f[2], 10, 32)
			if err1 != nil || err2 != nil || pid < 2 || reloads < 0 || len(old) == maxWorkers {
				return nil, fmt.Errorf("unexpected answer of the master: %q", l)
			}
			old = append(old, OldWorker{int(pid), int(reloads)})
		}
	}
	return nil, fmt.Errorf("%w: the master did not answer to the end: %w", ErrGone, cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
}

// boundWorkers ends old workers of a master, the oldest first, while there are
// too many, or while they take the memory that the worker which serves may need.
func (s *Supervisor) boundWorkers(ctx context.Context, master int) {
	tick := time.NewTicker(workerCheck)
	defer tick.Stop()
	asked := map[int]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if single(master) {
			continue
		}
		old, err := OldWorkers(s.Layout)
		if err != nil {
			continue // a master that starts or reloads; what is wrong with it, others say
		}
		surplus, why := max(len(old)-MaxOldWorkers, 0), fmt.Sprintf("more than %d old workers", MaxOldWorkers)
		if surplus == 0 && len(old) > 0 && s.short() {
			surplus, why = 1, "memory is short"
		}
		for _, w := range old[:surplus] {
			s.endWorker(master, w, why, asked)
		}
	}
}

// single reports whether a master has no more than one worker. It spares asking
// the master, once a second and for ever, where no reload ever was.
func single(master int) bool {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", master))
	return err == nil && len(strings.Fields(string(children))) <= 1
}

// short reports whether the container is about to run out of memory.
func (s *Supervisor) short() bool {
	if s.Memory == nil {
		return false
	}
	used, limit, limited := s.Memory()
	return limited && used > limit/100*memoryShare
}

// endWorker ends a worker with the connections that it still has: by a signal,
// and if that is not enough, by force.
func (s *Supervisor) endWorker(master int, w OldWorker, why string, asked map[int]bool) {
	if parent, err := parentOf(w.PID); err != nil || parent != master {
		return // it has ended meanwhile, or belongs to another master
	}
	if asked[w.PID] {
		_ = syscall.Kill(w.PID, syscall.SIGKILL)
		return
	}
	asked[w.PID] = true
	s.Ended++
	s.Log.Error("ending an old HAProxy worker with the connections that it still has", "pid", w.PID, "reloads", w.Reloads, "reason", why)
	_ = syscall.Kill(w.PID, syscall.SIGTERM)
}

// parentOf returns the parent of a process.
func parentOf(pid int) (int, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// "PID (NAME) STATE PARENT …", where NAME may hold anything.
	i := strings.LastIndex(string(stat), ") ")
	f := strings.Fields(string(stat)[i+1:])
	if i < 0 || len(f) < 2 {
		return 0, fmt.Errorf("look at process %d: unexpected %q", pid, stat)
	}
	parent, err := strconv.Atoi(f[1])
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return parent, nil
}

// ContainerMemory returns what the processes of this container use, without the
// cache of files, and may use. It is false where there is no limit, or none that
// can be read (cgroup v1).
func ContainerMemory() (used, limit int64, limited bool) {
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return 0, 0, false
	}
	if limit, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
		return 0, 0, false // "max"
	}
	stat, err := os.ReadFile("/sys/fs/cgroup/memory.stat")
	if err != nil {
		return 0, 0, false
	}
	for l := range strings.Lines(string(stat)) {
		if value, ok := strings.CutPrefix(l, "anon "); ok {
			used, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return used, limit, err == nil
		}
	}
	return 0, 0, false
}
