package haproxy

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// turn is for how long HAProxy asks to have a processor at a time, the shortest that Linux grants (sched(7), sched_setattr(2); Linux
// 6.12). A program that asks for short turns gets no more of a processor than its share, but gets it sooner: it goes before one
// that computes at once, not when that one's turn of some milliseconds is over. A request waits for HAProxy at least twice.
const turn = 100 * time.Microsecond

// inShortTurns runs a function that starts a program, which then has short turns, as has all that it starts. A kernel that does not
// know them, or refuses them, is none to fail for: it gives the usual ones.
func inShortTurns(start func() error) error {
	runtime.LockOSThread() // what the program inherits is the thread's
	defer runtime.UnlockOSThread()
	usual, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return start()
	}
	short := *usual
	short.Runtime = uint64(turn)
	if unix.SchedSetAttr(0, &short, 0) == nil {
		defer func() { _ = unix.SchedSetAttr(0, usual, 0) }()
	}
	return start()
}
