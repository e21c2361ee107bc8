// Package facts keeps what a speaker reads of all Services and EndpointSlices
// of a cluster, and nothing else. Every node has a speaker, so what it keeps of
// each object is kept on every node: an informer's cache takes 2 kB for a
// Service with its endpoints even when it holds only the fields that are read,
// this takes 300 bytes.
//
//	API server ─ reflector ─▶ what is read of an object ─▶ Facts ─▶ Speaker
//
// Objects are stripped as they come from the stream, one by one, so that there
// is no peak at the start either.
package facts

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead/fairlead/lbprovider/service"
)

// Name names a Service.
type Name = types.NamespacedName

// Facts is what is known of Services of type LoadBalancer, and of the endpoints
// of all. All methods may be called concurrently.
type Facts struct {
	changed  func(Name)
	replaced func()
	services *services
	slices   *endpointSlices
	watched  []*watched
}

// Options configure Facts.
type Options struct {
	REST *rest.Config
	HTTP *http.Client
	// Scheme knows Services and EndpointSlices.
	Scheme *runtime.Scheme
	// Changed is called after a Service, or its endpoints, have changed; and
	// Replaced after so much may have that nobody looked for what. Neither may
	// block.
	Changed  func(Name)
	Replaced func()
}

// watched is a kind and where its objects go.
type watched struct {
	reflector *cache.Reflector
	synced    chan struct{}
}

// New returns Facts that know nothing until they run.
func New(opts Options) (*Facts, error) {
	f := &Facts{changed: opts.Changed, replaced: opts.Replaced, services: newServices(), slices: newEndpointSlices()}
	codecs := serializer.NewCodecFactory(opts.Scheme)
	for _, kind := range []struct {
		version  schema.GroupVersion
		kind     string
		resource string
		object   runtime.Object
		into     content
	}{
		{corev1.SchemeGroupVersion, "Service", "services", &corev1.Service{}, f.services},
		{discoveryv1.SchemeGroupVersion, "EndpointSlice", "endpointslices", &discoveryv1.EndpointSlice{}, f.slices},
	} {
		c, err := apiutil.RESTClientForGVK(kind.version.WithKind(kind.kind), false, false, opts.REST, codecs, opts.HTTP)
		if err != nil {
			return nil, fmt.Errorf("make a client for %s: %w", kind.resource, err)
		}
		w := &watched{synced: make(chan struct{})}
		w.reflector = cache.NewReflectorWithOptions(
			cache.NewFilteredListWatchFromClient(c, kind.resource, "", func(*metav1.ListOptions) {}), kind.object,
			&store{facts: f, content: kind.into, synced: sync.OnceFunc(func() { close(w.synced) })},
			cache.ReflectorOptions{Name: "facts/" + kind.resource})
		f.watched = append(f.watched, w)
	}
	return f, nil
}

// Run keeps the facts true until ctx ends.
func (f *Facts) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, w := range f.watched {
		wg.Go(func() { w.reflector.RunWithContext(ctx) })
	}
	wg.Wait()
}

// Wait waits until everything has been read once.
func (f *Facts) Wait(ctx context.Context) error {
	for _, w := range f.watched {
		select {
		case <-w.synced:
		case <-ctx.Done():
			return fmt.Errorf("read Services and their endpoints: %w", ctx.Err())
		}
	}
	return nil
}

// Service returns what is read of a Service of type LoadBalancer, as a Service;
// nil if there is none.
func (f *Facts) Service(name Name) *corev1.Service { return f.services.get(name) }

// Has says whether there is a Service of type LoadBalancer.
func (f *Facts) Has(name Name) bool { return f.services.has(name) }

// Names returns the Services of type LoadBalancer.
func (f *Facts) Names() []Name { return f.services.names() }

// Endpoints returns the endpoints of a Service that can serve.
func (f *Facts) Endpoints(name Name) []service.Endpoint { return f.slices.get(name) }

// content is what is kept of the objects of one kind.
type content interface {
	// read returns what is kept of an object.
	read(object any) (any, error)
	// put takes what was read, and drop forgets it. They return the Services
	// that it is about.
	put(read any) []Name
	drop(read any) []Name
	// replace forgets everything else.
	replace(read []any)
}

// store is what a reflector fills.
type store struct {
	facts   *Facts
	content content
	synced  func()
}

// Add implements cache.ReflectorStore.
func (s *store) Add(object any) error {
	read, err := s.content.read(object)
	if err != nil {
		return err
	}
	s.tell(s.content.put(read))
	return nil
}

// Update implements cache.ReflectorStore.
func (s *store) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s *store) Delete(object any) error {
	read, err := s.content.read(object)
	if err != nil {
		return err
	}
	s.tell(s.content.drop(read))
	return nil
}

func (s *store) tell(names []Name) {
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			s.facts.changed(name)
		}
	}
}

// Replace implements cache.ReflectorStore.
func (s *store) Replace(objects []any, _ string) error {
	for i := range objects {
		var err error
		if objects[i], err = s.content.read(objects[i]); err != nil {
			return err
		}
	}
	s.content.replace(objects)
	s.synced()
	s.facts.replaced()
	return nil
}

// Resync implements cache.ReflectorStore.
func (*store) Resync() error { return nil }

// Transformer implements cache.TransformingStore: a reflector that gets the
// first objects as a stream keeps them until it has all.
func (s *store) Transformer() cache.TransformFunc { return s.content.read }

// interned returns the one copy of a text that is there again and again: the
// names of nodes and namespaces.
type interned map[string]string

func (in interned) of(text string) string {
	if known, ok := in[text]; ok {
		return known
	}
	// What comes from the stream may be part of a whole message.
	own := strings.Clone(text)
	in[own] = own
	return own
}
