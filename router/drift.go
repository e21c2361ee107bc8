package router

import (
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
)

// DefaultDriftCheck is how often HAProxy is read back in full to find what
// somebody else has changed in it.
const DefaultDriftCheck = 45 * time.Second

// A look at all of HAProxy keeps its thread from traffic as changes do. So it
// waits until nothing has changed for a while, but not for long: both are
// shares of the time between two looks.
const (
	calmShare     = 20
	maxDelayShare = 4
)

// repairDrift compares what HAProxy has with what the engine believes it has,
// and takes every difference as something to put right. Reading takes most of
// a second of the router's time at 10,000 routes; a look at the digest spares
// it where nothing happens.
func (e *Engine) repairDrift() error {
	overdue := time.Since(e.driftAt) - e.o.DriftCheck
	calm := time.Since(e.appliedAt) >= e.o.DriftCheck/calmShare
	if overdue < 0 || !calm && overdue < e.o.DriftCheck/maxDelayShare {
		return nil
	}
	e.driftAt = time.Now()
	digest, err := e.runtime.Digest()
	if err != nil || e.compared && digest == e.digest {
		return err
	}
	found, err := e.runtime.ReadBack()
	if err != nil {
		return err
	}
	found.Recall(e.live)
	if err := e.runtime.Inspect(found); err != nil {
		return err
	}
	p := plan.Diff(found, e.live, plan.FullScope(found, e.live), e.o.Caps)
	if p.Empty() {
		e.digest, e.compared = digest, true
		return nil
	}
	e.o.Metrics.drift.Add(float64(max(len(p.Steps)+len(p.Removals), 1)))
	e.log.Error("somebody changed HAProxy by its socket; putting it right", "changes", haproxy.Describe(p.Steps, 5), "steps", len(p.Steps), "leftovers", len(p.Removals))
	e.live, e.compared = found, false
	e.removals = newRemovals()
	e.pending = plan.FullScope(found, e.pipeline.Want())
	found.Share(e.pipeline.Want(), e.pending)
	return nil
}
