package router

import (
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
