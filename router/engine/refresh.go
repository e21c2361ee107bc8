package engine

import (
	"errors"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

const (
	// filesPause bounds how often the files follow the running process.
	filesPause = 3 * time.Second
	// filesShare is how much longer than writing the files the pause between
	// two writes is at least, so that it never takes much of a processor.
	filesShare = 30
	// recordedSteps is how many steps are recorded at once, at most: at a start there are
	// tens of thousands.
	recordedSteps = 512
)

// refresh keeps the files close to the running process, beside the engine so
// that no change waits for it: at 10,000 routes a write takes most of a second.
type refresh struct {
	// due is true if the process has changed since the files were written.
	due bool
	// next is when they may be written again.
	next time.Time
	// running receives the result of the write under way; it is nil if none is.
	running chan error
	began   time.Time
}

// in returns when a write is due, if one is.
func (r *refresh) in(now time.Time) (time.Duration, bool) {
	return max(r.next.Sub(now), time.Millisecond), r.due && r.running == nil
}

// wait waits for the end of the write under way, if there is one.
func (r *refresh) wait() error {
	if r.running == nil {
		return nil
	}
	return <-r.running
}

// start begins a write.
func (r *refresh) start(write func() error) {
	r.due, r.began, r.running = false, time.Now(), make(chan error, 1)
	done := r.running
	go func() { done <- write() }()
}

// end notes that the write under way has ended.
func (r *refresh) end() {
	r.running = nil
	r.next = time.Now().Add(max(filesPause, filesShare*time.Since(r.began)))
}

// writeFiles makes the files say what is wanted. A route with a value that must
// not be written falls back.
func (e *Engine) writeFiles() error {
	for {
		e.refreshed(e.refresh.wait())
		state, base := e.pipeline.Want(), e.skeleton.target.base
		e.turnRecord()
		e.refresh.start(func() error { return e.haproxy.Write(base, state) })
		err := e.refresh.wait()
		e.refresh.end()
		if e.refuseUnsafe(err) {
			continue
		}
		e.reportFiles(err)
		if err != nil {
			return &filesError{err}
		}
		return nil
	}
}

// filesError is why the files that HAProxy starts from cannot be written, most
// often a full disk. HAProxy goes on with what it has, and with what changes at
// run time.
type filesError struct{ err error }

func isFilesError(err error) bool {
	_, files := errors.AsType[*filesError](err)
	return files
}

func (e *filesError) Error() string { return e.err.Error() }

func (e *filesError) Unwrap() error { return e.err }

// reportFiles notes whether the files could be written, and reports it when that has
// changed. What waits for files is tried again with the next write.
func (e *Engine) reportFiles(err error) {
	if err == nil {
		if e.filesFailing {
			e.log.Info("HAProxy's files can be written again")
			e.filesFailing = false
			e.o.Metrics.filesStale.Set(0)
			e.o.FilesFailed(nil)
		}
		if e.skeleton.postponed {
			e.skeleton.postponed, e.skeleton.tolerated = false, ""
			e.pid = 0 // compare with the process at once
		}
		return
	}
	e.refresh.due = true
	e.o.Metrics.WriteFailed("haproxy")
	if e.filesFailing {
		return
	}
	e.filesFailing = true
	e.o.Metrics.filesStale.Set(1)
	e.log.Error("cannot write HAProxy's files; a restart of it would begin with old ones", "err", err)
	e.o.FilesFailed(&api.Finding{
		Reason: api.ReasonFilesNotWritten, Severity: api.SeverityError, Message: "a router cannot write HAProxy's files: " + err.Error(),
		Effect: "HAProxy serves what it has, and changes that need no reload; the write is tried again every few seconds",
	})
}

// refuseUnsafe lets the route fall back whose value could not be written. It
// reports false if there is no such route.
func (e *Engine) refuseUnsafe(err error) bool {
	unsafe, ok := errors.AsType[*render.UnsafeError](err)
	if !ok {
		return false
	}
	owner, owned := e.owner(unsafe.Step)
	return owned && e.refuse(owner, unsafe.Error())
}

// refreshFiles lets a HAProxy that dies start again from what it had.
func (e *Engine) refreshFiles() {
	if wait, due := e.refresh.in(time.Now()); !due || wait > time.Millisecond {
		return
	}
	// The engine goes on to change its own maps, but never what they hold.
	state := e.pipeline.Want().Clone()
	base := e.skeleton.target.base
	e.turnRecord()
	e.refresh.start(func() error { return e.haproxy.Write(base, state) })
}

// refreshed takes the end of a write in.
func (e *Engine) refreshed(err error) {
	if e.refresh.running == nil {
		return
	}
	e.refresh.end()
	if e.refuseUnsafe(err) {
		e.refresh.due = true
		return
	}
	e.reportFiles(err)
}

// startBare takes out of the files what may keep HAProxy from starting: first
// the routes, and next time the router-wide settings as well.
func (e *Engine) startBare() {
	e.goneSince = time.Now()
	e.refreshed(e.refresh.wait())
	if e.bare {
		e.log.Error("HAProxy does not start without routes either; taking the router-wide settings out of its files until they are changed", "fields", e.skeleton.reason())
		if err := e.fallBack(""); err != nil {
			e.log.Error("cannot render the plain settings", "err", err)
		}
	} else {
		e.log.Error("HAProxy does not start; taking the routes out of its files and bringing them back one by one")
	}
	e.bare = true
	e.turnRecord()
	e.reportFiles(e.haproxy.Write(e.skeleton.target.base, e.pipeline.Bare()))
}

// took notes that HAProxy has taken a step.
func (e *Engine) took(s plan.Step) {
	e.live.Apply(s)
	e.o.Metrics.traffic.touch(s)
	if e.taken = append(e.taken, s); len(e.taken) == recordedSteps {
		e.record()
	}
}

// record keeps what HAProxy has taken for a process that starts before the files have it.
func (e *Engine) record() {
	if len(e.taken) == 0 {
		return
	}
	err := e.haproxy.Record(e.taken)
	clear(e.taken)
	e.taken = e.taken[:0]
	if err != nil {
		e.reportFiles(err)
	}
}

// turnRecord begins another part of the record, before a write of the files.
func (e *Engine) turnRecord() {
	if err := e.haproxy.Turn(); err != nil {
		e.reportFiles(err)
	}
}

// finish writes what the next process reads.
func (e *Engine) finish() {
	e.refreshed(e.refresh.wait())
	e.lastGood.next = time.Time{}
	e.saveLastGood()
}
