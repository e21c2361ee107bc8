// Package servicecache keeps what a speaker reads of all Services and EndpointSlices
// of a cluster, and of the status objects about Services, and nothing else.
// Every node has a speaker, so what it keeps of each object is kept on every
// node: an informer's cache takes 2 kB for a Service with its endpoints even
// when it holds only the fields that are read, this takes 300 bytes. For a
// status object it takes 1.4 kB, this 200 bytes.
//
//	API server ─ reflector ─▶ what is read of an object ─▶ Cache ─▶ Speaker
//
// Objects are stripped as they come from the stream, one by one, so that there
// is no peak at the start either.
package servicecache

import (
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/lbprovider/service"
)

// Name names a Service.
type Name = types.NamespacedName

// Cache is what is known of Services of type LoadBalancer, and of the endpoints
// of all. All methods may be called concurrently.
type Cache struct {
	watches
	services *services
	slices   *endpointSlices
}

// Options configure what is watched.
type Options struct {
	REST *rest.Config
	HTTP *http.Client
	// Scheme knows the kinds that are watched.
	Scheme *runtime.Scheme
	// Changed is called after a Service, its endpoints, or status objects about
	// it have changed; and Replaced after so much may have that it was not looked for
	// what. Neither may block.
	Changed  func(Name)
	Replaced func()
}

// New returns a Cache that is empty until it runs.
func New(opts Options) (*Cache, error) {
	f := &Cache{services: newServices(), slices: newEndpointSlices()}
	for _, k := range []kind{
		{version: corev1.SchemeGroupVersion, name: "Service", resource: "services", object: &corev1.Service{}, into: f.services},
		{version: discoveryv1.SchemeGroupVersion, name: "EndpointSlice", resource: "endpointslices", object: &discoveryv1.EndpointSlice{}, into: f.slices},
	} {
		if err := f.add(opts, k); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Service returns what is read of a Service of type LoadBalancer, as a Service;
// nil if there is none.
func (f *Cache) Service(name Name) *corev1.Service { return f.services.get(name) }

// Has says whether there is a Service of type LoadBalancer.
func (f *Cache) Has(name Name) bool { return f.services.has(name) }

// Names returns the Services of type LoadBalancer.
func (f *Cache) Names() []Name { return f.services.names() }

// Endpoints returns the endpoints of a Service that can serve.
func (f *Cache) Endpoints(name Name) []service.Endpoint { return f.slices.get(name) }

// internedStrings returns the one copy of a text that is there again and again: the
// names of nodes and namespaces.
type internedStrings map[string]string

func (in internedStrings) intern(text string) string {
	if known, ok := in[text]; ok {
		return known
	}
	// What comes from the stream may be part of a whole message.
	own := strings.Clone(text)
	in[own] = own
	return own
}
