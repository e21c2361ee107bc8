package pipeline

import (
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// ends are the objects whose results depend on the time, such as those with revocation
// lists, which are too old one day.
type ends struct {
	now   time.Time
	until map[model.Object]time.Time
}

// SetTime says what time it is for what is ingested from now on.
func (p *Pipeline) SetTime(now time.Time) { p.ends.now = now }

// note remembers until when the result of an object holds; zero is for ever.
func (e *ends) note(key model.Object, until time.Time) {
	if until.IsZero() {
		delete(e.until, key)
		return
	}
	if e.until == nil {
		e.until = map[model.Object]time.Time{}
	}
	e.until[key] = until
}

// Ended returns the objects that are to be read again because of the time.
func (p *Pipeline) Ended(now time.Time) model.Objects {
	var out model.Objects
	for key, until := range p.ends.until {
		if now.Before(until) {
			continue
		}
		if out == nil {
			out = model.Objects{}
		}
		out[key] = struct{}{}
		delete(p.ends.until, key)
	}
	return out
}
