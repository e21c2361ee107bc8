// Package respawn keeps the process of a container running: the first one starts the
// program once more as its child.
package respawn

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// ChildMark in the environment tells a process that it is the one that works.
const ChildMark = "ROUTER_CHILD=1"

// Needed reports whether this is the first process of a container.
func Needed() bool { return os.Getpid() == 1 && os.Getenv("ROUTER_CHILD") == "" }

// Run is what the first process of a container does: it runs the program as
// a child, starts it again when it dies and hands signals on. A router that
// crashes is back within a tenth of a second, before Kubernetes would notice
// and take the pod, whose HAProxy serves all the while, out of its Service.
// It returns the exit code of the child that ended by itself or on demand.
func Run(log *slog.Logger, name string) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	const shortest, longest = 100 * time.Millisecond, 10 * time.Second
	pause := shortest
	for {
		began := time.Now()
		code, stopped := runChild(signals, log)
		if code == 0 || code == 2 || stopped {
			return code
		}
		if time.Since(began) > longest {
			pause = shortest
		}
		log.Error("the "+name+" died; starting it again", "code", code, "pause", pause)
		select {
		case <-signals:
			return code
		case <-time.After(pause):
		}
		// A router that cannot start is the kubelet's business.
		if pause *= 4; pause > longest {
			return code
		}
	}
}

// runChild runs the program once. It reports whether a signal asked for its end.
func runChild(signals <-chan os.Signal, log *slog.Logger) (code int, stopped bool) {
	child := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:gosec // the very command line that this process was given
	child.Env = append(os.Environ(), ChildMark)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		log.Error("cannot start the program", "err", err)
		return 1, false
	}
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			stopped = true
			_ = child.Process.Signal(s) // it may have ended just now
		case err := <-done:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return max(exit.ExitCode(), 1), stopped
			}
			if err != nil {
				return 1, stopped
			}
			return 0, stopped
		}
	}
}
