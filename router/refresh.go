package router

import (
	"errors"
	"time"

	"github.com/fairlead/fairlead/router/render"
)

const (
	// filesPause bounds how often the files follow the running process.
	filesPause = 3 * time.Second
	// filesShare is how much longer than writing the files the pause between
	// two writes is at least, so that it never takes much of a processor.
	filesShare = 10
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
		e.refresh.start(func() error { return e.files.Write(base, state) })
		err := e.refresh.wait()
		e.refresh.end()
		if !e.refuseUnsafe(err) {
			return err
		}
	}
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
	e.refresh.start(func() error { return e.files.Write(base, state) })
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
	if err != nil {
		e.log.Error("cannot write HAProxy's files; a restart of it would begin with old ones", "err", err)
	}
}
