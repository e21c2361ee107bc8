package pipeline

import (
	"github.com/fairlead/fairlead/router/model"
)

// Claim returns the claim that a route makes as it is now, or nil if it is
// refused or unknown, and whether the claim is served.
func (p *Pipeline) Claim(key model.Key) (claim *model.Claim, served bool) {
	r := p.routes[key]
	if r == nil || r.result == nil {
		return nil, false
	}
	return r.result.Claim, r.served != nil
}

// Parses counts the TLS texts of a route that had to be parsed.
func (p *Pipeline) Parses(key model.Key) int {
	if r := p.routes[key]; r != nil && r.material != nil {
		return r.material.Parses()
	}
	return 0
}

// RouteServices returns the Services that a route names.
func (p *Pipeline) RouteServices(key model.Key) []model.Key {
	r := p.routes[key]
	if r == nil || r.result == nil {
		return nil
	}
	return r.result.Services
}

// RouteKeys returns the routes that the pipeline knows, in any order.
func (p *Pipeline) RouteKeys() KeySet { return keysOf(p.routes) }
