package pipeline

import (
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// Claim returns the claim that a route makes as it is now, or nil if it is
// refused or unknown, and whether the claim is served.
func (p *Pipeline) Claim(key model.Object) (claim *model.Claim, served bool) {
	r := p.routes[key]
	if r == nil || r.result == nil {
		return nil, false
	}
	return r.result.Claim, r.served != nil
}

// Parses counts the TLS texts of a route that had to be parsed.
func (p *Pipeline) Parses(key model.Object) int {
	if r := p.routes[key]; r != nil && r.material != nil {
		return r.material.Parses()
	}
	return 0
}

// RouteServices returns the Services that a route names.
func (p *Pipeline) RouteServices(key model.Object) []model.Object {
	r := p.routes[key]
	if r == nil || r.result == nil {
		return nil
	}
	var services []model.Object
	for _, d := range r.result.Depends {
		if d.Kind == door.KindService {
			services = append(services, d)
		}
	}
	return services
}

// RouteKeys returns the routes that the pipeline knows, in any order.
func (p *Pipeline) RouteKeys() model.Objects { return keysOf(p.routes) }
