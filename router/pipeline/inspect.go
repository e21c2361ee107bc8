package pipeline

import (
	"slices"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Claim returns the first claim of an object as it is now, or nil if it is refused
// or unknown, and whether the claim is served. A Route has no other but aliases.
func (p *Pipeline) Claim(key model.Object) (claim *model.Claim, served bool) {
	r := p.objects[key]
	if r == nil || r.result == nil {
		return nil, false
	}
	if len(r.result.Claims) == 0 {
		return nil, len(r.served) > 0
	}
	return r.result.Claims[0], slices.Contains(r.served, r.result.Claims[0])
}

// Claims returns all claims of an object as it is now, and those that are served.
func (p *Pipeline) Claims(key model.Object) (all, served []*model.Claim) {
	r := p.objects[key]
	if r == nil || r.result == nil {
		return nil, nil
	}
	return r.result.Claims, r.served
}

// Listeners returns where HAProxy listens for an object.
func (p *Pipeline) Listeners(key model.Object) []model.Listener {
	if r := p.objects[key]; r != nil && r.result != nil {
		return r.result.Listeners
	}
	return nil
}

// Parses counts the TLS texts of an object that had to be parsed.
func (p *Pipeline) Parses(key model.Object) int {
	if r := p.objects[key]; r != nil && r.material != nil {
		return r.material.Parses()
	}
	return 0
}

// Services returns the Services that an object names.
func (p *Pipeline) Services(key model.Object) []model.Object {
	r := p.objects[key]
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

// Objects returns the objects that the pipeline knows.
func (p *Pipeline) Objects() model.Objects { return keysOf(p.objects) }

// Effective returns what policies say about an object, or nil if none is for it.
func (p *Pipeline) Effective(key model.Object) *policy.Effective {
	if r := p.objects[key]; r != nil && r.result != nil {
		return r.result.Effective
	}
	return nil
}

// EffectiveOf returns what policies say about a claim, or nil if none is for it.
func (p *Pipeline) EffectiveOf(c *model.Claim) *policy.Effective {
	r := p.objects[c.Owner]
	switch {
	case r == nil || r.result == nil:
		return nil
	case r.result.OfGateway != nil && r.result.Effectives != nil:
		return r.result.Effectives[c.Rule]
	}
	return r.result.Effective
}

// Dependents returns the objects that depend on another one.
func (p *Pipeline) Dependents(key model.Object) model.Objects {
	set := model.Objects{}
	p.index.addTo(set, key)
	return set
}
