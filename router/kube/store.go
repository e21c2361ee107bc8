package kube

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Kinds of objects whose keys do not leave this package.
const (
	kindController model.Kind = "IngressController"
	kindNamespace             = policy.KindNamespace
	kindSlice      model.Kind = "EndpointSlice"
)

// store keeps the newest state of all objects of one kind: of each what keep
// leaves, which is a pointer. A reflector fills it; any goroutine may read it.
// Readers get the stored pointers and must not write through them.
//
// It replaces client-go's indexer and queue: the reflector's goroutine calls
// changed directly, so there is no second copy of the keys and no hand-over
// between goroutines on the way of an event.
type store[T comparable] struct {
	// keep returns what is worth memory of an API object, and false if the
	// object is of another type. It may change the object.
	keep func(any) (T, bool)
	// kind is that of the objects' keys.
	kind model.Kind
	// changed is called after each change with what was kept before and what
	// is now, either of which is nil for an object that appears or disappears.
	// It is not called if the resource version is unchanged.
	changed func(key model.Object, before, after T)
	// index, if set, gives the key under which group finds the object.
	index func(model.Object, T) model.Object
	// replaced, if set, is called after each full list.
	replaced func()

	seed   maphash.Seed
	mu     sync.RWMutex
	items  map[name]item[T]
	groups map[model.Object][]T
	synced chan struct{}
	once   sync.Once
}

// name is an object's name within a store, whose objects are of one kind: with 10,000
// objects in each of four stores, the kind in each key is a megabyte.
type name struct{ namespace, name string }

func nameOf(o model.Object) name { return name{o.Namespace, o.Name} }

// item is what a store keeps of one version of an object.
type item[T comparable] struct {
	value T
	// version distinguishes versions of all objects of a store: it is a hash of
	// UID and resource version.
	version uint64
}

func newStore[T comparable](kind model.Kind, keep func(any) (T, bool), changed func(key model.Object, before, after T)) *store[T] {
	return &store[T]{
		kind:    kind,
		keep:    keep,
		changed: changed,
		seed:    maphash.MakeSeed(),
		items:   map[name]item[T]{},
		groups:  map[model.Object][]T{},
		synced:  make(chan struct{}),
	}
}

// whole keeps objects of a type as they are, after strip has removed what no package
// reads.
func whole[T any](strip func(*T)) func(any) (*T, bool) {
	return func(obj any) (*T, bool) {
		o, ok := obj.(*T)
		if ok {
			strip(o)
		}
		return o, ok
	}
}

// part keeps what read makes of objects of a type.
func part[O, T any](read func(*O) *T) func(any) (*T, bool) {
	return func(obj any) (*T, bool) {
		o, ok := obj.(*O)
		if !ok {
			return nil, false
		}
		return read(o), true
	}
}

func keyOf(kind model.Kind, o metav1.Object) model.Object {
	return model.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// entry is an object on its way into a store, without what is not kept of it.
// It pretends to be an API object for the sake of the reflector.
type entry[T comparable] struct {
	key model.Object
	item[T]
}

// GetObjectKind implements runtime.Object.
func (*entry[T]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. Entries never change.
func (e *entry[T]) DeepCopyObject() runtime.Object { return e }

// entry returns what is kept of an API object.
func (s *store[T]) entry(obj any) (*entry[T], error) {
	if e, ok := obj.(*entry[T]); ok {
		return e, nil
	}
	o, isObject := obj.(metav1.Object)
	if !isObject {
		return nil, fmt.Errorf("store object: unexpected type %T", obj)
	}
	key := keyOf(s.kind, o)
	intern(&key.Namespace)
	type version struct{ uid, resource string }
	v := maphash.Comparable(s.seed, version{string(o.GetUID()), o.GetResourceVersion()})
	value, ok := s.keep(obj)
	if !ok {
		return nil, fmt.Errorf("store object: unexpected type %T", obj)
	}
	return &entry[T]{key, item[T]{value, v}}, nil
}

// get returns the object, or nil.
func (s *store[T]) get(key model.Object) T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[nameOf(key)].value
}

// group returns the objects with that index key. The result is never changed
// later, so it needs no copy.
func (s *store[T]) group(key model.Object) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.groups[key]
}

// each calls f for all objects, in any order, until f returns false. Meanwhile the store takes no
// changes. So f may look at other stores only in one order, or two such calls and two writers
// wait for each other for ever: routes of Gateways and BackendTLSPolicies, ListenerSets, Gateways, classes,
// namespaces.
func (s *store[T]) each(f func(model.Object, T) bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for n, i := range s.items {
		if !f(s.key(n), i.value) {
			return
		}
	}
}

func (s *store[T]) key(n name) model.Object {
	return model.Object{Kind: s.kind, Namespace: n.namespace, Name: n.name}
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
	after, err := s.entry(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, known := s.items[nameOf(after.key)]
	if known && before.version == after.version {
		s.mu.Unlock()
		return nil
	}
	s.items[nameOf(after.key)] = after.item
	s.regroup(after.key, before.value, after.value)
	s.mu.Unlock()
	s.changed(after.key, before.value, after.value)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store[T]) Delete(obj any) error {
	gone, err := s.entry(obj)
	if err != nil {
		return err
	}
	var none T
	s.mu.Lock()
	before, known := s.items[nameOf(gone.key)]
	delete(s.items, nameOf(gone.key))
	s.regroup(gone.key, before.value, none)
	s.mu.Unlock()
	if known {
		s.changed(gone.key, before.value, none)
	}
	return nil
}

// Replace implements cache.ReflectorStore: the reflector calls it with a full
// list, at first and after an interruption that a watch cannot bridge. Only
// real differences are reported.
func (s *store[T]) Replace(list []any, _ string) error {
	type change struct {
		key           model.Object
		before, after T
	}
	var changes []change
	entries := make([]*entry[T], len(list))
	for i, obj := range list {
		var err error
		if entries[i], err = s.entry(obj); err != nil {
			return err
		}
	}
	var none T
	items := make(map[name]item[T], len(list))
	s.mu.Lock()
	for _, e := range entries {
		before, known := s.items[nameOf(e.key)]
		if known && before.version == e.version {
			items[nameOf(e.key)] = before
			continue
		}
		items[nameOf(e.key)] = e.item
		s.regroup(e.key, before.value, e.value)
		changes = append(changes, change{e.key, before.value, e.value})
	}
	for n, before := range s.items {
		if _, kept := items[n]; !kept {
			key := s.key(n)
			s.regroup(key, before.value, none)
			changes = append(changes, change{key, before.value, none})
		}
	}
	s.items = items
	s.mu.Unlock()
	for _, c := range changes {
		s.changed(c.key, c.before, c.after)
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

// Transformer implements cache.TransformingStore, so that a first list that
// comes as a stream of objects is stripped while it comes, where what is kept
// is the object itself.
func (s *store[T]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if kept, ok := s.keep(obj); ok {
			if o, same := any(kept).(metav1.Object); same {
				return o, nil
			}
		}
		return obj, nil
	}
}

// regroup moves an object between index groups. Groups are copied on change,
// because readers hold them without a lock. The caller holds mu.
func (s *store[T]) regroup(key model.Object, before, after T) {
	if s.index == nil {
		return
	}
	var none T
	if before != none {
		group := s.index(key, before)
		rest := slices.DeleteFunc(slices.Clone(s.groups[group]), func(o T) bool { return o == before })
		if len(rest) == 0 {
			delete(s.groups, group)
		} else {
			s.groups[group] = rest
		}
	}
	if after != none {
		group := s.index(key, after)
		s.groups[group] = append(slices.Clip(slices.Clone(s.groups[group])), after)
	}
}
