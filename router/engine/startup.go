package engine

import "time"

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
