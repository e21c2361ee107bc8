package pipeline

import (
	"maps"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// Known reports whether there is such a route, and Pending whether it is too
// early to say anything about it.
func (p *Pipeline) Known(key model.Object) (known, pending bool) {
	r := p.routes[key]
	return r != nil, r != nil && r.result.Pending
}

// Status returns what the router says about a route that it knows.
func (p *Pipeline) Status(key model.Object) model.RouteStatus {
	r := p.routes[key]
	res := r.result
	st := model.RouteStatus{
		Object: key, UID: res.UID, Host: res.Host, WildcardPolicy: res.WildcardPolicy,
		Admitted: true, Findings: res.Findings,
	}
	if c := res.Claim; c != nil {
		if f, lost := p.hosts[c.Host].Losers[key]; lost {
			st.Findings = append([]api.Finding{f}, st.Findings...)
		}
	}
	for _, f := range st.Findings {
		if f.Severity == api.SeverityError {
			st.Admitted, st.Reason, st.Message = false, f.Reason, f.Text()
			break
		}
	}
	return st
}

// RouteCount returns how many routes the router knows, and how many it serves.
func (p *Pipeline) RouteCount() (known, served int) { return len(p.routes), p.served }

func keysOf[K comparable, V any](m map[K]V) map[K]struct{} {
	out := make(map[K]struct{}, len(m))
	for k := range maps.Keys(m) {
		out[k] = struct{}{}
	}
	return out
}
