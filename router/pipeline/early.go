package pipeline

import (
	"runtime"
	"sync"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// Most of what a start computes is ingesting routes, above all those with
// certificates. That needs nothing of other routes, so many new ones are
// ingested by all processors at a time before they are taken in one by one.

// manyRoutes is from how many new routes on that is worth it.
const manyRoutes = 500

// early is a result that waits to be taken in.
type early struct {
	object *routev1.Route
	result *route.Result
	// material is what its TLS texts hold.
	material *certificate.Material
}

// ingestEarly ingests the new ones of many routes.
func (p *Pipeline) ingestEarly(dirty model.Objects) {
	var fresh []model.Object
	for key := range dirty {
		_, known := p.routes[key]
		if _, kept := p.restored[key]; !known && !kept {
			fresh = append(fresh, key)
		}
	}
	if len(fresh) < manyRoutes {
		return
	}
	results := make([]early, len(fresh))
	workers := runtime.GOMAXPROCS(0)
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := w; i < len(fresh); i += workers {
				if object := p.src.Route(fresh[i]); object != nil {
					material := &certificate.Material{}
					results[i] = early{object, route.Route(object, p.src, p.settings, route.Past{Material: material}), material}
				}
			}
		})
	}
	running.Wait()
	p.early = make(map[model.Object]early, len(fresh))
	for i, key := range fresh {
		p.early[key] = results[i]
	}
}

// read ingests a route, unless that has been done already.
func (p *Pipeline) read(r *tracked, object *routev1.Route) *route.Result {
	if e := p.early[keyOf(object)]; e.object == object && r.result == nil {
		r.material = e.material
		return e.result
	}
	return p.ingestVersion(r, object)
}

// ingestVersion ingests a version of a route.
func (p *Pipeline) ingestVersion(r *tracked, object *routev1.Route) *route.Result {
	if r.material == nil {
		r.material = &certificate.Material{}
	}
	return route.Route(object, p.src, p.settings, route.Past{
		Certificate: r.certificate(), Material: r.material, Stretch: p.paces.stretch(keyOf(object)),
	})
}

func keyOf(r *routev1.Route) model.Object {
	return model.Object{Kind: route.Kind, Namespace: r.Namespace, Name: r.Name}
}
