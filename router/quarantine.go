package router

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/ingest"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// isolate goes on after a refused batch: it reads back what was done and takes
// the remaining steps one by one. Once a step of a route is refused, the
// route's other steps are left out, so its routing keys stay where its last
// good version put them, and everything else goes live.
func (e *Engine) isolate() error {
	live, err := e.runtime.ReadBack()
	if err != nil {
		return err
	}
	e.live, e.removals = live, newRemovals()
	e.pending = plan.FullScope(live, e.pipeline.Want())
	p := plan.Diff(live, e.pipeline.Want(), e.pending, e.o.Caps)
	if p.Reload != "" {
		return errors.New("a reload is needed after a refused change")
	}
	for _, s := range p.Steps {
		owner, owned := plan.OwnerIn(e.live, s)
		if _, refused := e.refused[owner]; refused && owned {
			continue
		}
		err := e.runtime.Apply([]plan.Step{s}, e.live.Apply)
		var refusal *haproxy.RefusedError
		switch {
		case err == nil:
		case !errors.As(err, &refusal):
			return err
		case !owned:
			e.log.Error("HAProxy refused a step of no single route", "step", s, "err", err)
		default:
			e.log.Error("isolated a route", "route", owner, "err", err)
			e.refused[owner] = refusal.Message
			e.reports[owner] = struct{}{}
		}
	}
	for _, s := range p.Removals {
		// What a refused route used before is what it goes on with.
		if owner, _ := plan.OwnerIn(e.live, s); e.refused[owner] == "" {
			e.removals.add([]plan.Step{s}, time.Now().Add(removalPause))
		}
	}
	return nil
}

// blameAfter is how long HAProxy may take to start before it is asked why not.
const blameAfter = 2 * time.Second

// blame lays the alerts of HAProxy's start at the doors of the routes that they
// name. It reports whether one of them was not refused before.
func (e *Engine) blame(messages string) bool {
	found := false
	for _, b := range haproxy.Blame(e.o.Layout, messages) {
		owner, owned := plan.Owner(b.Step)
		if _, known := e.refused[owner]; !owned || known {
			continue
		}
		e.log.Error("HAProxy refuses a route; leaving it out", "route", owner, "err", b.Message)
		e.refused[owner], e.reports[owner], found = b.Message, struct{}{}, true
	}
	return found
}

// blameFiles finds out why HAProxy does not start, and writes files without
// the routes that keep it from starting.
func (e *Engine) blameFiles() {
	if e.o.Binary == "" || time.Since(e.blamedAt) < blameAfter {
		return
	}
	e.blamedAt = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), goneLimit)
	defer cancel()
	messages, err := haproxy.Check(ctx, e.o.Binary, e.o.Layout)
	if err != nil {
		e.log.Error("cannot ask HAProxy why it does not start", "err", err)
		return
	}
	found := e.blame(messages)
	if messages != "" && !found {
		e.log.Error("HAProxy refuses its files for no route's sake; taking the router-wide settings out until they are changed", "fields", e.skeleton.reason())
		if err := e.skeleton.fallBack(""); err != nil {
			e.log.Error("cannot render the plain settings", "err", err)
			return
		}
		found = true
	}
	if found {
		if err := e.writeFiles(); err != nil {
			e.log.Error("cannot write HAProxy's files", "err", err)
		}
		e.blamedAt, e.goneSince = time.Time{}, time.Now()
	}
}

// refusedStatus is the status of a route that HAProxy refused.
func refusedStatus(st model.RouteStatus, message string) model.RouteStatus {
	f := api.Finding{
		Object: ingest.RouteRef(st.Key), Reason: api.ReasonRefusedByHAProxy, Severity: api.SeverityError,
		Message: "HAProxy refused this route's configuration: " + message,
		Effect:  "the last good version keeps serving, if there was one",
	}
	st.Admitted, st.Reason, st.Message = false, f.Reason, f.Text()
	st.Findings = append([]api.Finding{f}, st.Findings...)
	return st
}
