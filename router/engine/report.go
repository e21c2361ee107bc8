package engine

import "github.com/fairlead/fairlead/router/model"

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
			continue
		}
		if pending {
			continue
		}
		statuses = append(statuses, e.pipeline.Status(k))
	}
	clear(e.reports)
	e.o.Statuses.Publish(statuses)
	e.o.Statuses.Forget(gone)
	e.o.Metrics.setRoutes(e.pipeline.Count())
}
