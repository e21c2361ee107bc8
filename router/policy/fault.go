package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Bounds of the group fault.
const (
	maxFaultDelay      = 60_000
	maxFaultConditions = 8
	// maxFaultText bounds names and values together, which each request of the route looks
	// through.
	maxFaultText = 1024
)

// faultStatuses are those of fault.abort.
func faultStatuses() []int32 {
	return []int32{400, 401, 403, 404, 408, 409, 410, 413, 429, 500, 501, 502, 503, 504, 507}
}

const effectNoFault = "requests are served as without it"

// compileFault sets the group fault of a policy. A fault protects nothing, so one that
// cannot be read does nothing.
func compileFault(f *v1alpha1.Fault, p *model.Policy) []Problem {
	if f == nil {
		return nil
	}
	p.Fault = nil
	out, field, err := readFault(f)
	if err != nil {
		return []Problem{{Key: "fault" + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: effectNoFault}}
	}
	p.Fault = out
	return nil
}

// readFault also returns the field that is wrong. A fault that is for no request is none.
func readFault(f *v1alpha1.Fault) (*model.Fault, string, error) {
	out := &model.Fault{}
	if f.Delay == nil && f.Abort == nil {
		return nil, "", errors.New("must have delay, abort or both")
	}
	if field, err := readDelay(f.Delay, out); err != nil {
		return nil, ".delay." + field, err
	}
	if field, err := readAbort(f.Abort, out); err != nil {
		return nil, ".abort." + field, err
	}
	if len(f.When) > maxFaultConditions {
		return nil, ".when", fmt.Errorf("must hold %d conditions at most", maxFaultConditions)
	}
	text := 0
	for i, c := range f.When {
		rule, err := readCondition(&v1alpha1.CanaryCondition{Type: c.Type, Name: c.Name, Match: c.Match, Value: c.Value}, 1)
		if err != nil {
			return nil, fmt.Sprintf(".when[%d]", i), err
		}
		text += len(rule.Name) + len(rule.Value)
		out.When = append(out.When, rule)
	}
	if text > maxFaultText {
		return nil, ".when", fmt.Errorf("names and values of the conditions add up to more than %d bytes", maxFaultText)
	}
	if out.Delay == 0 && out.Abort == 0 {
		return nil, "", nil
	}
	return out, "", nil
}

func readDelay(d *v1alpha1.FaultDelay, out *model.Fault) (field string, err error) {
	if d == nil {
		return "", nil
	}
	if d.Milliseconds < 1 || d.Milliseconds > maxFaultDelay {
		return "milliseconds", fmt.Errorf("must be from 1 to %d", maxFaultDelay)
	}
	percent, err := percentOf(d.Percent)
	if percent > 0 {
		out.Delay, out.DelayPercent = int(d.Milliseconds), percent
	}
	return "percent", err
}

func readAbort(a *v1alpha1.FaultAbort, out *model.Fault) (field string, err error) {
	if a == nil {
		return "", nil
	}
	if !slices.Contains(faultStatuses(), a.Status) {
		return "status", fmt.Errorf("must be one of %v", faultStatuses())
	}
	percent, err := percentOf(a.Percent)
	if percent > 0 {
		out.Abort, out.AbortPercent = int(a.Status), percent
	}
	return "percent", err
}

func percentOf(p *int32) (int, error) {
	switch {
	case p == nil:
		return 100, nil
	case *p < 0 || *p > 100:
		return 0, errors.New("must be from 0 to 100")
	}
	return int(*p), nil
}

// boundFault leaves out a fault that a tenant asks for, unless a guard allows it.
func (s *Selection) boundFault(e *Effective) {
	from := e.Origin(GroupFault)
	if from == nil || from.Key.Kind == KindClusterRoutePolicy || slices.ContainsFunc(s.guards, func(g *v1alpha1.Guard) bool { return g.FaultInjection }) {
		return
	}
	e.Spec.Fault = nil
	e.Origins = slices.DeleteFunc(e.Origins, func(o Origin) bool { return o.Group == GroupFault })
	e.Unapplied = append(e.Unapplied, Closing{
		Key: from.Key, Field: from.Field(GroupFault), Reason: api.ReasonNotAllowed,
		Message: "no guard.faultInjection of a ClusterRoutePolicy for the object allows it", Effect: effectNoFault,
	})
}
