package engine

import "time"

const (
	// processCheck is how often the process behind the socket is looked at, and
	// watchedCheck how often if the kernel reports its end, which it does not for a HAProxy in
	// a container of its own. A look is half of what an idle router does. What is left to find
	// is a reload that others asked for.
	processCheck = 500 * time.Millisecond
	watchedCheck = 2 * time.Second
)

// watch waits for the end of a worker.
type watch struct {
	pid int
	// ended is closed then. It is nil if nothing reports the end, or has reported it.
	ended <-chan struct{}
}

// lookDue returns in how long the process is to be looked at.
func (e *Engine) lookDue(now time.Time) (time.Duration, bool) {
	every := processCheck
	if e.watch.ended != nil {
		every = watchedCheck
	}
	return max(e.seenAt.Add(every).Sub(now), 0), e.pid != 0
}

// identify makes sure that live describes the process behind the socket. It
// does not ask before every change: one that reaches a process which has just
// been replaced fails or is found out, and repaired, at the next look.
func (e *Engine) identify() error {
	if wait, known := e.lookDue(time.Now()); known && wait > 0 {
		return nil
	}
	info, err := e.haproxy.Info()
	if err != nil {
		return err
	}
	e.seenAt = time.Now()
	if info.PID != e.pid {
		e.countOldWorkers(0)
	} else if e.old.known > 0 {
		e.countOldWorkers(oldWorkersCheck)
	}
	if info.PID == e.pid {
		return e.repairDrift()
	}
	if info.PID != e.watch.pid {
		e.watch = watch{info.PID, e.haproxy.Ended(info.PID)}
	}
	if !e.skeleton.is(info.Description) {
		return e.replaceSkeleton(info)
	}
	if info.Description == e.skeleton.target.base.Fingerprint {
		e.skeleton.started()
	}
	return e.readBack(info.PID)
}
