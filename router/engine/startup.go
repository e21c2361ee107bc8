package engine

import (
	"context"
	"time"

	"github.com/fairlead/fairlead/router/door"
)

// startup logs once how long the parts of a start took, so that a slow start can be
// explained.
type startup struct {
	// parts are names and durations, in order.
	parts  []any
	since  time.Time
	logged bool
}

// end notes the end of a part of the start.
func (s *startup) end(part string) {
	if s.logged {
		return
	}
	now := time.Now()
	s.parts = append(s.parts, part, now.Sub(s.since).Round(time.Millisecond))
	s.since = now
}

// started logs the parts when the router gets ready for the first time.
func (e *Engine) started() {
	if e.startup.logged {
		return
	}
	e.startup.end("haproxy")
	e.startup.logged = true
	_, served := e.pipeline.Count()
	e.log.Info("ready: all routes are served", append([]any{"routes", served}, e.startup.parts...)...)
}

// takeFirstState computes what is wanted of all that is there.
func (e *Engine) takeFirstState(ctx context.Context) {
	e.startup.end("list")
	e.o.Cluster.Take()
	e.update(door.Changes{All: true})
	if e.pipeline.Needs() {
		e.o.Cluster.WaitForNeeded(ctx)
		e.update(e.o.Cluster.Take())
	}
	e.startup.end("compute")
}

// attach starts from what is there: a HAProxy that serves keeps serving, and
// one that does not run starts from files with everything in them.
func (e *Engine) attach() error {
	if _, err := e.haproxy.Info(); err == nil {
		return nil // sync reads it back
	}
	switch err := e.writeFiles(); {
	case isFilesError(err):
		return nil // HAProxy may have files of before; these are tried again
	case err != nil:
		return err
	}
	e.expect() // while HAProxy starts
	return nil
}
