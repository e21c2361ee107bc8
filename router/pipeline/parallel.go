package pipeline

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// Most of what a start computes is ingesting objects, above all those with
// certificates. That needs nothing of other objects, so many new ones are
// ingested by all processors at a time before they are taken in one by one.

// manyObjects is from how many new objects on that is worth it.
const manyObjects = 500

// ingested is a result that waits to be taken in.
type ingested struct {
	object door.Version
	result *door.Result
	// material is what its TLS texts hold.
	material *certificate.Material
}

// ingestInParallel ingests the new ones of many objects.
func (p *Pipeline) ingestInParallel(dirty model.Objects) {
	var fresh []model.Object
	for key := range dirty {
		_, known := p.objects[key]
		if _, kept := p.restored[key]; !known && !kept && p.doors[key.Kind] != nil {
			fresh = append(fresh, key)
		}
	}
	if len(fresh) < manyObjects {
		return
	}
	results := make([]ingested, len(fresh))
	var running sync.WaitGroup
	var next atomic.Int64 // a processor that others use as well gets fewer of them
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(fresh)); i = next.Add(1) - 1 {
				if object := p.src.Object(fresh[i]); object != nil {
					material := &certificate.Material{}
					results[i] = ingested{object, p.doors[fresh[i].Kind].Ingest(object, p.src, p.settings, door.Past{Material: material, Fetched: p.fetches.pages, Now: p.ends.now}), material}
				}
			}
		})
	}
	running.Wait()
	p.ingested = make(map[model.Object]ingested, len(fresh))
	for i, key := range fresh {
		p.ingested[key] = results[i]
	}
}

// read ingests an object, unless that has been done already.
func (p *Pipeline) read(r *tracked, key model.Object, object door.Version) *door.Result {
	if e := p.ingested[key]; e.object == object && r.result == nil {
		r.material = e.material
		return e.result
	}
	return p.ingestVersion(r, key, object)
}

// ingestVersion ingests a version of an object.
func (p *Pipeline) ingestVersion(r *tracked, key model.Object, v door.Version) *door.Result {
	if r.material == nil {
		r.material = &certificate.Material{}
	}
	past := p.shares.past(key, door.Past{Claims: r.past(), Material: r.material, Fetched: p.fetches.pages, Now: p.ends.now})
	if r.result != nil {
		past.Listeners = r.result.Listeners
	}
	if p.forgetful {
		past.Claims, past.Listeners = nil, nil
	}
	res := r.door.Ingest(v, p.src, p.settings, past)
	// What grew one by one has room for twice as many, of each object for as long as it lives.
	res.Depends = append(make([]model.Object, 0, len(res.Depends)), res.Depends...)
	return res
}
