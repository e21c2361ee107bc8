// Package fuzz is what fuzz targets need that start other processes.
package fuzz

import (
	"flag"
	"syscall"
)

// KeepPipes keeps the processes that a fuzz target starts from holding what its
// worker and the coordinator of "go test -fuzz" talk through. The worker gets
// these files open for all of its children; a child that is left behind when the
// worker is stopped would have the coordinator wait for its end for ever.
func KeepPipes() {
	worker := flag.Lookup("test.fuzzworker")
	if worker == nil || worker.Value.String() != "true" {
		return
	}
	for _, fd := range []int{3, 4, 5} { // orders, answers and shared memory
		syscall.CloseOnExec(fd)
	}
}
