package engine

import (
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// mostTimed is how many changed routes are measured at a time; of more, the first ones are a sample.
const mostTimed = 1000

// liveClock measures how long changed routes take until HAProxy serves them as changed.
type liveClock struct{ since map[model.Object]time.Time }

// seen notes routes that wait for their turn from now on.
func (c *liveClock) seen(ch door.Changes, now time.Time) {
	if c.since == nil {
		c.since = map[model.Object]time.Time{}
	}
	for _, of := range []model.Objects{ch.Objects, ch.Endpoints} {
		for key := range of {
			if _, waits := c.since[key]; !waits && len(c.since) < mostTimed {
				c.since[key] = now
			}
		}
	}
}

// live returns how long the routes took that do not wait any more.
func (c *liveClock) live(waits func(model.Object) bool, now time.Time) (took []time.Duration) {
	for key, at := range c.since {
		if !waits(key) {
			took = append(took, now.Sub(at))
			delete(c.since, key)
		}
	}
	return took
}
