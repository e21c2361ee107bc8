package facts

import (
	"fmt"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead/fairlead/lbprovider/service"
)

// part is what is read of an EndpointSlice.
type part struct {
	name, of  Name
	endpoints []service.Endpoint
}

// endpointSlices is what is kept of EndpointSlices.
type endpointSlices struct {
	mu     sync.RWMutex // guards what follows
	of     map[Name][]*part
	byName map[Name]*part
	texts  interned
}

func newEndpointSlices() *endpointSlices {
	return &endpointSlices{of: map[Name][]*part{}, byName: map[Name]*part{}, texts: interned{}}
}

func (s *endpointSlices) read(object any) (any, error) {
	if read, done := object.(*part); done {
		return read, nil
	}
	o, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return nil, fmt.Errorf("read an EndpointSlice: it is a %T", object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace := s.texts.of(o.Namespace)
	p := &part{
		name: Name{Namespace: namespace, Name: o.Name}, of: Name{Namespace: namespace, Name: o.Labels[discoveryv1.LabelServiceName]},
		endpoints: service.ReadEndpoints(o),
	}
	for i := range p.endpoints {
		p.endpoints[i].Node = s.texts.of(p.endpoints[i].Node)
	}
	return p, nil
}

func (s *endpointSlices) put(read any) []Name {
	p := read.(*part) //nolint:forcetypeassert // by read
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.remove(p.name)
	s.set(p)
	return append(before, p.of)
}

func (s *endpointSlices) set(p *part) {
	s.byName[p.name] = p
	s.of[p.of] = append(s.of[p.of], p)
}

// remove forgets a slice and returns to which other Service it belonged.
func (s *endpointSlices) remove(name Name) []Name {
	was := s.byName[name]
	if was == nil {
		return nil
	}
	delete(s.byName, name)
	if s.of[was.of] = slices.DeleteFunc(s.of[was.of], func(o *part) bool { return o == was }); len(s.of[was.of]) == 0 {
		delete(s.of, was.of)
	}
	return []Name{was.of}
}

func (s *endpointSlices) drop(read any) []Name {
	p := read.(*part) //nolint:forcetypeassert // by read
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(p.name)
}

func (s *endpointSlices) replace(read []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.of)
	clear(s.byName)
	for _, r := range read {
		s.set(r.(*part)) //nolint:forcetypeassert // by read
	}
}

func (s *endpointSlices) get(name Name) []service.Endpoint {
	s.mu.RLock()
	defer s.mu.RUnlock()
	parts := s.of[name]
	if len(parts) == 1 {
		return parts[0].endpoints
	}
	var out []service.Endpoint
	for i := range parts {
		out = append(out, parts[i].endpoints...)
	}
	return slices.Clip(out)
}
