package servicecache

import (
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead/fairlead/lbprovider/service"
)

// sliceRecord is what is read of an EndpointSlice.
type sliceRecord struct {
	name, of  Name
	endpoints []service.Endpoint
}

func (p *sliceRecord) key() Name     { return p.name }
func (p *sliceRecord) service() Name { return p.of }

// endpointSlices is what is kept of EndpointSlices.
type endpointSlices struct {
	byService[*sliceRecord]
	texts internedStrings
}

func newEndpointSlices() *endpointSlices {
	return &endpointSlices{byService: newByService[*sliceRecord](), texts: internedStrings{}}
}

func (s *endpointSlices) read(object any) (any, error) {
	if read, done := object.(*sliceRecord); done {
		return read, nil
	}
	o, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return nil, fmt.Errorf("read an EndpointSlice: it is a %T", object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace := s.texts.intern(o.Namespace)
	p := &sliceRecord{
		name: Name{Namespace: namespace, Name: o.Name}, of: Name{Namespace: namespace, Name: o.Labels[discoveryv1.LabelServiceName]},
		endpoints: service.ReadEndpoints(o),
	}
	for i := range p.endpoints {
		p.endpoints[i].Node = s.texts.intern(p.endpoints[i].Node)
	}
	return p, nil
}

func (s *endpointSlices) get(name Name) []service.Endpoint {
	parts := s.forService(name)
	if len(parts) == 1 {
		return parts[0].endpoints
	}
	var out []service.Endpoint
	for i := range parts {
		out = append(out, parts[i].endpoints...)
	}
	return slices.Clip(out)
}
