package kube

import (
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead/fairlead/router/model"
)

// object is what a store holds: a pointer to an API type.
type object interface {
	comparable
	metav1.Object
}

// store keeps the newest state of all objects of one kind. A reflector fills
// it; any goroutine may read it. Readers get the stored pointers and must not
// write through them.
//
// It replaces client-go's indexer and queue: the reflector's goroutine calls
// changed directly, so there is no second copy of the keys and no hand-over
// between goroutines on the way of an event.
type store[T object] struct {
	// strip removes what nobody reads, to save memory. It is called before the
	// object is visible to readers.
	strip func(T)
	// changed is called after each change with the object before and after,
	// either of which is nil for an object that appears or disappears. It is
	// not called if the resource version is unchanged.
	changed func(before, after T)
	// index, if set, gives the key under which group finds the object.
	index func(T) model.Key
	// replaced, if set, is called after each full list.
	replaced func()

	mu     sync.RWMutex
	items  map[model.Key]T
	groups map[model.Key][]T
	synced chan struct{}
	once   sync.Once
}

func newStore[T object](strip func(T), changed func(before, after T)) *store[T] {
	return &store[T]{
		strip:   strip,
		changed: changed,
		items:   map[model.Key]T{},
		groups:  map[model.Key][]T{},
		synced:  make(chan struct{}),
	}
}

func keyOf(o metav1.Object) model.Key {
	return model.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// get returns the object, or nil.
func (s *store[T]) get(key model.Key) T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[key]
}

// group returns the objects with that index key. The result is never changed
// later, so it needs no copy.
func (s *store[T]) group(key model.Key) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.groups[key]
}

// each calls f for all objects, in any order, until f returns false.
func (s *store[T]) each(f func(model.Key, T) bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for key, o := range s.items {
		if !f(key, o) {
			return
		}
	}
}

// isSynced reports whether the store has been filled once.
func (s *store[T]) isSynced() bool {
	select {
	case <-s.synced:
		return true
	default:
		return false
	}
}

// Add implements cache.ReflectorStore.
func (s *store[T]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store[T]) Update(obj any) error {
	after, ok := obj.(T)
	if !ok {
		return fmt.Errorf("store object: unexpected type %T", obj)
	}
	s.strip(after)
	key := keyOf(after)
	s.mu.Lock()
	before := s.items[key]
	if sameVersion(before, after) {
		s.mu.Unlock()
		return nil
	}
	s.items[key] = after
	s.regroup(before, after)
	s.mu.Unlock()
	s.changed(before, after)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store[T]) Delete(obj any) error {
	gone, ok := obj.(T)
	if !ok {
		return fmt.Errorf("delete stored object: unexpected type %T", obj)
	}
	var none T
	key := keyOf(gone)
	s.mu.Lock()
	before, known := s.items[key]
	delete(s.items, key)
	s.regroup(before, none)
	s.mu.Unlock()
	if known {
		s.changed(before, none)
	}
	return nil
}

// Replace implements cache.ReflectorStore: the reflector calls it with a full
// list, at first and after an interruption that a watch cannot bridge. Only
// real differences are reported.
func (s *store[T]) Replace(list []any, _ string) error {
	type change struct{ before, after T }
	var changes []change
	items := make(map[model.Key]T, len(list))
	s.mu.Lock()
	for _, obj := range list {
		after, ok := obj.(T)
		if !ok {
			s.mu.Unlock()
			return fmt.Errorf("replace stored objects: unexpected type %T", obj)
		}
		key := keyOf(after)
		before := s.items[key]
		if sameVersion(before, after) {
			items[key] = before
			continue
		}
		s.strip(after)
		items[key] = after
		s.regroup(before, after)
		changes = append(changes, change{before, after})
	}
	var none T
	for key, before := range s.items {
		if _, kept := items[key]; !kept {
			s.regroup(before, none)
			changes = append(changes, change{before, none})
		}
	}
	s.items = items
	s.mu.Unlock()
	for _, c := range changes {
		s.changed(c.before, c.after)
	}
	s.once.Do(func() { close(s.synced) })
	if s.replaced != nil {
		s.replaced()
	}
	return nil
}

// Resync implements cache.ReflectorStore. There is nothing to do: readers are
// level-based.
func (s *store[T]) Resync() error { return nil }

// Transformer implements cache.TransformingStore, so that the first list is
// stripped while it streams in and not only when it is complete.
func (s *store[T]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(T); ok {
			s.strip(o)
		}
		return obj, nil
	}
}

// regroup moves an object between index groups. Groups are copied on change,
// because readers hold them without a lock. The caller holds mu.
func (s *store[T]) regroup(before, after T) {
	if s.index == nil {
		return
	}
	var none T
	if before != none {
		key := s.index(before)
		rest := slices.DeleteFunc(slices.Clone(s.groups[key]), func(o T) bool { return o == before })
		if len(rest) == 0 {
			delete(s.groups, key)
		} else {
			s.groups[key] = rest
		}
	}
	if after != none {
		key := s.index(after)
		s.groups[key] = append(slices.Clip(slices.Clone(s.groups[key])), after)
	}
}

func sameVersion[T object](a, b T) bool {
	var none T
	return a != none && b != none &&
		a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}
