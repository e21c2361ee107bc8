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

// Connections leaves room below the file limit: a connection whose TLS ends
// here takes four file descriptors (client, both ends of the way to where TLS
// ends, pod), and HAProxy refuses to start with too few.
func Connections() int {
	const reserved = 1000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max > math.MaxInt32 {
		return math.MaxInt32
	}
	return max((int(limit.Max)-reserved)/4, 100)
}
