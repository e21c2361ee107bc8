// Package machine says what this machine, or its container, lets HAProxy have.
package machine

import (
	"math"
	"syscall"
)

// Threads is HAProxy's number of threads on so many processors. Go counts
// those that the affinity and the CPU limit of the cgroup leave, which HAProxy by
// itself does not. More threads than mostThreads wait for each other at each
// change of a route, which stops all of them, and keep memory that is rarely used.
func Threads(processors int) int {
	const mostThreads = 16
	return min(max(processors, 1), mostThreads)
}

// Files is the most files that a process may have open here, 0 where there is no limit.
func Files() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max > math.MaxInt32 {
		return 0
	}
	return int(limit.Max)
}
