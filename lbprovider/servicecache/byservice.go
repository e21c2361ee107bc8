package servicecache

import (
	"maps"
	"slices"
	"sync"
)

// record is what is kept of an object that is about a Service. It is never
// changed.
type record interface {
	comparable
	// key is the object's name, and service what it is about.
	key() Name
	service() Name
}

// byService is what is kept of the objects of a kind of which several may be about
// one Service. Mostly it is one, so that there is no list for it.
type byService[S record] struct {
	mu sync.RWMutex // guards what follows
	of map[Name]S
	// more has the others.
	more   map[Name][]S
	byName map[Name]S
}

func newByService[S record]() byService[S] {
	return byService[S]{of: map[Name]S{}, more: map[Name][]S{}, byName: map[Name]S{}}
}

func (g *byService[S]) put(read any) []Name {
	o := read.(S) //nolint:forcetypeassert // by read
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.remove(o.key())
	g.set(o)
	return append(before, o.service())
}

func (g *byService[S]) set(o S) {
	g.byName[o.key()] = o
	if _, another := g.of[o.service()]; another {
		g.more[o.service()] = append(g.more[o.service()], o)
		return
	}
	g.of[o.service()] = o
}

// remove forgets an object and returns about which Service it was.
func (g *byService[S]) remove(name Name) []Name {
	was, known := g.byName[name]
	if !known {
		return nil
	}
	delete(g.byName, name)
	service := was.service()
	left := slices.DeleteFunc(g.list(service), func(o S) bool { return o == was })
	delete(g.of, service)
	delete(g.more, service)
	if len(left) > 0 {
		g.of[service] = left[0]
	}
	if len(left) > 1 {
		g.more[service] = left[1:]
	}
	return []Name{service}
}

func (g *byService[S]) drop(read any) []Name {
	o := read.(S) //nolint:forcetypeassert // by read
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.remove(o.key())
}

func (g *byService[S]) replace(read []any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.of)
	clear(g.more)
	clear(g.byName)
	for _, r := range read {
		g.set(r.(S)) //nolint:forcetypeassert // by read
	}
}

// forService returns what is kept about a Service.
func (g *byService[S]) forService(service Name) []S {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.list(service)
}

func (g *byService[S]) list(service Name) []S {
	first, known := g.of[service]
	if !known {
		return nil
	}
	return append([]S{first}, g.more[service]...)
}

// all returns everything that is kept.
func (g *byService[S]) all() []S {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Collect(maps.Values(g.byName))
}
