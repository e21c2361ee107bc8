package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
)

// sourceLooks is how often in the time between two checks for drift the engine
// asks HAProxy which sources it refuses.
const sourceLooks = 3

// Bounds of what is logged and remembered about refused sources, of which there may
// be as many as there are addresses.
const (
	maxSourcesReported = 5
	maxSourcesKept     = 1000
)

// refusedSources remembers which sources have been logged, so that each is logged
// once while it goes on.
type refusedSources struct {
	at     time.Time
	logged map[string]bool
}

// lookAtSources logs clients that have reached a limit of connections: in
// the log once, and in a metric.
func (e *Engine) lookAtSources() {
	if time.Since(e.sources.at) < e.o.DriftCheck/sourceLooks {
		return
	}
	e.sources.at = time.Now()
	count, logged, fresh := 0, map[string]bool{}, []haproxy.RefusedSource{}
	if err := e.haproxy.RefusedSources(func(s haproxy.RefusedSource) {
		if count++; count > maxSourcesKept {
			return
		}
		logged[s.Address] = true
		if !e.sources.logged[s.Address] {
			fresh = append(fresh, s)
		}
	}); err != nil {
		return // the next sync says that HAProxy is gone
	}
	e.sources.logged = logged
	e.o.Metrics.refusedSources.Set(float64(count))
	if len(fresh) == 0 {
		return
	}
	slices.SortFunc(fresh, func(a, b haproxy.RefusedSource) int { return b.Refused - a.Refused })
	var texts []string
	for _, s := range fresh[:min(len(fresh), maxSourcesReported)] {
		texts = append(texts, fmt.Sprintf("%s (%d refused, has %d)", s.Address, s.Refused, s.Connections))
	}
	e.log.Warn("connections are refused: sources have reached a limit; see docs/operator/clients.md", "sources", strings.Join(texts, ", "), "new", len(fresh), "all", count)
}
