package engine

import "time"

// startup tells once how long the parts of a start took, so that a slow start can be
// explained.
type startup struct {
	// parts are names and durations, in order.
	parts []any
	since time.Time
	told  bool
}

// end notes the end of a part of the start.
func (s *startup) end(part string) {
	if s.told {
		return
	}
	now := time.Now()
	s.parts = append(s.parts, part, now.Sub(s.since).Round(time.Millisecond))
	s.since = now
}

// started logs the parts when the router gets ready for the first time.
func (e *Engine) started() {
	if e.startup.told {
		return
	}
	e.startup.end("haproxy")
	e.startup.told = true
	_, served := e.pipeline.Count()
	e.log.Info("ready: all routes are served", append([]any{"routes", served}, e.startup.parts...)...)
}
