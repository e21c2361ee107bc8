package engine

import (
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policyPause is the pause between two reports on policies, policyRest how much
// longer than making one it is at least: a policy may be for thousands of routes, of
// which some change all the time.
const policyPause, policyRest = 500 * time.Millisecond, 20

// report notes that HAProxy has taken what the changes touched, and tells the
// status of the routes.
func (e *Engine) report() {
	if len(e.reports) == 0 {
		return
	}
	e.pipeline.Accept(e.reports)
	e.noteLastGood()
	var statuses []model.RouteStatus
	var gone []model.Object
	for k := range e.reports {
		known, pending := e.pipeline.Known(k)
		if !known {
			gone = append(gone, k)
			e.census.forget(k)
			continue
		}
		if pending {
			continue
		}
		st := e.pipeline.Status(k)
		e.census.set(k, e.pipeline.LastGood(k), st.Findings)
		statuses = append(statuses, st)
	}
	e.reports = model.Objects{} // cleared, it would keep room for all routes of the start
	e.o.Statuses.Publish(statuses)
	e.o.Statuses.Forget(gone)
	known, served := e.pipeline.Count()
	e.o.Metrics.setRoutes(known, served, e.census)
}

// reportPolicies tells the status of policies, after HAProxy has taken what they say.
func (e *Engine) reportPolicies() {
	began := time.Now()
	if began.Before(e.policiesNext) {
		return
	}
	reports := e.pipeline.PolicyReports(e.turns.objects)
	if counts, changed := e.pipeline.PolicyCounts(); changed {
		e.o.Metrics.setPolicies(counts)
	}
	if len(reports) == 0 {
		return
	}
	now := time.Now()
	e.policiesNext = now.Add(max(policyPause, policyRest*now.Sub(began)))
	e.o.Statuses.PublishPolicies(reports)
}

// policiesDue returns in how long more may be reported on policies, if that is not now.
func (e *Engine) policiesDue(now time.Time) (time.Duration, bool) {
	return e.policiesNext.Sub(now), now.Before(e.policiesNext) && e.pid != 0
}

// policyClock measures how long changed policies take until HAProxy serves by them.
type policyClock struct{ since []time.Time }

// mostClocked is how many changes are measured at a time.
const mostClocked = 100

// seen notes changes of policies.
func (c *policyClock) seen(ch door.Changes, now time.Time) {
	for key := range ch.Objects {
		if policy.IsKind(key.Kind) && len(c.since) < mostClocked {
			c.since = append(c.since, now)
		}
	}
}

// live returns how long the changes took that are live now.
func (c *policyClock) live(now time.Time) (took []time.Duration) {
	for _, at := range c.since {
		took = append(took, now.Sub(at))
	}
	c.since = c.since[:0]
	return took
}
