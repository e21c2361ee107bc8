package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Pin lets a process, with all its threads, run on these processors only.
func Pin(pid int, processors ...int) error {
	var set unix.CPUSet
	for _, p := range processors {
		set.Set(p)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return fmt.Errorf("pin process %d: %w", pid, err)
	}
	for _, t := range threads {
		id, _ := strconv.Atoi(filepath.Base(t))
		if err := unix.SchedSetaffinity(id, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("pin process %d: %w", pid, err)
		}
	}
	return nil
}

// PinAll pins every process of the rig's namespace, this one included.
func PinAll(processors ...int) error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err := Pin(pid, processors...); err != nil {
			return err
		}
	}
	return nil
}

// Urgent lets a process go before all that are not, or ends that.
func Urgent(pid int, on bool) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if on {
		attr.Policy, attr.Priority = unix.SCHED_FIFO, 1
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return fmt.Errorf("find the threads of process %d: %w", pid, err)
	}
	for _, t := range threads {
		id, _ := strconv.Atoi(filepath.Base(t))
		if err := unix.SchedSetAttr(id, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("let process %d go before others: %w", pid, err)
		}
	}
	return nil
}

// CPUTime returns the processor time that a process has used, in seconds.
func CPUTime(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	const user, system, ticks = 11, 12, 100 // proc_pid_stat(5); USER_HZ is 100 on Linux
	if len(f) <= system {
		return 0, fmt.Errorf("read processor time: unexpected text %q", text)
	}
	u, err1 := strconv.ParseFloat(f[user], 64)
	s, err2 := strconv.ParseFloat(f[system], 64)
	return (u + s) / ticks, errors.Join(err1, err2)
}

// Computed returns the processor time that the threads of a process have used which are there now, to
// the nanosecond: CPUTime has ticks of 10 ms, which is many changes of a route (Linux, Documentation/scheduler/sched-stats.rst).
func Computed(pid int) (all time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("read processor time: process %d has no threads", pid)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time: unexpected text %q", text)
		}
		all += time.Duration(ns)
	}
	return all, nil
}
