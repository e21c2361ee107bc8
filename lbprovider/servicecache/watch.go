package servicecache

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// kind says which objects are watched, and where they go.
type kind struct {
	version  schema.GroupVersion
	name     string
	resource string
	// namespace is empty for all; labels select among its objects.
	namespace, labels string
	object            runtime.Object
	into              records
}

// watches keeps what it watches true.
type watches struct{ kinds []*watchedKind }

// watchedKind is one kind.
type watchedKind struct {
	reflector *cache.Reflector
	synced    chan struct{}
}

func (f *watches) add(opts Options, k kind) error {
	c, err := apiutil.RESTClientForGVK(k.version.WithKind(k.name), false, false, opts.REST, serializer.NewCodecFactory(opts.Scheme), opts.HTTP)
	if err != nil {
		return fmt.Errorf("make a client for %s: %w", k.resource, err)
	}
	w := &watchedKind{synced: make(chan struct{})}
	w.reflector = cache.NewReflectorWithOptions(
		cache.NewFilteredListWatchFromClient(c, k.resource, k.namespace, func(o *metav1.ListOptions) { o.LabelSelector = k.labels }), k.object,
		&reflectorStore{records: k.into, changed: opts.Changed, replaced: opts.Replaced, synced: sync.OnceFunc(func() { close(w.synced) })},
		cache.ReflectorOptions{Name: "servicecache/" + k.resource})
	f.kinds = append(f.kinds, w)
	return nil
}

// Run keeps the cache up to date until ctx ends.
func (f *watches) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, w := range f.kinds {
		wg.Go(func() { w.reflector.RunWithContext(ctx) })
	}
	wg.Wait()
}

// Wait waits until everything has been read once.
func (f *watches) Wait(ctx context.Context) error {
	for _, w := range f.kinds {
		select {
		case <-w.synced:
		case <-ctx.Done():
			return fmt.Errorf("read what is watched: %w", ctx.Err())
		}
	}
	return nil
}

// records is what is kept of the objects of one kind.
type records interface {
	// read returns what is kept of an object.
	read(object any) (any, error)
	// put takes what was read, and drop forgets it. They return the Services
	// that it is about.
	put(read any) []Name
	drop(read any) []Name
	// replace forgets everything else.
	replace(read []any)
}

// reflectorStore is what a reflector fills.
type reflectorStore struct {
	records  records
	changed  func(Name)
	replaced func()
	synced   func()
}

// Add implements cache.ReflectorStore.
func (s *reflectorStore) Add(object any) error {
	read, err := s.records.read(object)
	if err != nil {
		return err
	}
	s.notify(s.records.put(read))
	return nil
}

// Update implements cache.ReflectorStore.
func (s *reflectorStore) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s *reflectorStore) Delete(object any) error {
	read, err := s.records.read(object)
	if err != nil {
		return err
	}
	s.notify(s.records.drop(read))
	return nil
}

func (s *reflectorStore) notify(names []Name) {
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			s.changed(name)
		}
	}
}

// Replace implements cache.ReflectorStore.
func (s *reflectorStore) Replace(objects []any, _ string) error {
	for i := range objects {
		var err error
		if objects[i], err = s.records.read(objects[i]); err != nil {
			return err
		}
	}
	s.records.replace(objects)
	s.synced()
	s.replaced()
	return nil
}

// Resync implements cache.ReflectorStore.
func (*reflectorStore) Resync() error { return nil }

// Transformer implements cache.TransformingStore: a reflector that gets the
// first objects as a stream keeps them until it has all.
func (s *reflectorStore) Transformer() cache.TransformFunc { return s.records.read }
