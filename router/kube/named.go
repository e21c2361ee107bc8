package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// NamedError says why a Secret or ConfigMap that a route names cannot be read. Its text
// is meant for the owner of the route.
type NamedError struct {
	Key model.Object
	// Unread is true until the API server has answered for the first time:
	// it is then not known whether anything is wrong. The key becomes dirty
	// with the answer.
	Unread bool
	// Err is the API server's refusal, or nil if the object does not exist.
	Err error
}

// Error implements error.
func (e *NamedError) Error() string {
	switch {
	case e.Unread:
		return fmt.Sprintf("%s %q has not been read yet", e.what(), e.Key.Name)
	case e.Err == nil:
		return fmt.Sprintf("%s %q does not exist in namespace %q", e.what(), e.Key.Name, e.Key.Namespace)
	default:
		return fmt.Sprintf("the router may not get, list and watch %s %q in namespace %q: %v",
			e.what(), e.Key.Name, e.Key.Namespace, e.Err)
	}
}

func (e *NamedError) what() string {
	if e.Key.Kind == door.KindSecret {
		return "secret"
	}
	return string(e.Key.Kind)
}

// Pending reports whether it is too early to say anything: package door/route asks
// for this method, so that no user gets a finding about an object that is just being read.
func (e *NamedError) Pending() bool { return e.Unread }

// Unwrap returns the API server's refusal.
func (e *NamedError) Unwrap() error { return e.Err }

// maxWatched bounds the objects of a kind and namespace that are watched: each takes
// 40 kB here, and a request that lasts at the API server. The others are read in
// turns.
const maxWatched = 200

// named says how objects of a kind are read.
type named[T any] struct {
	kind     model.Kind
	resource string
	object   func() runtime.Object
	// keep and changed are as in store.
	keep    func(any) (*T, bool)
	changed func(before, after *T) bool
}

func newNamedSet[T any](w *Watcher, n named[T]) *namedSet[T] {
	return &namedSet[T]{
		clients: w.clients, watcher: w, named: n,
		watches: map[model.Object]*namedWatch[T]{}, watched: map[string]int{}, turns: map[string]*namedTurns[T]{},
	}
}

// namedSet holds one watch per object of a kind that a route names, so that the router
// reads no others, and needs no right to. It keeps a T of each.
type namedSet[T any] struct {
	clients *clients
	watcher *Watcher
	named[T]
	// start runs a feed until its context ends, and begin a function; both are
	// nil before the watcher runs.
	start func(*feed) context.CancelFunc
	begin func(func(context.Context))

	mu      sync.Mutex
	watches map[model.Object]*namedWatch[T]
	// watched counts the watches of each namespace, turns has those of it that
	// are not watched.
	watched map[string]int
	turns   map[string]*namedTurns[T]
}

// namedWatch is the state of one object.
type namedWatch[T any] struct {
	key   model.Object
	store *store[*T]
	// watched is false if the object is read in turns, gone true once no object
	// needs it.
	watched, gone bool
	cancel        context.CancelFunc
	// answered is closed when it is known whether the object can be read.
	answered chan struct{}
	once     sync.Once

	mu      sync.Mutex
	refused error
}

// need starts and stops watches so that exactly those objects are watched, or read
// in turns.
func (s *namedSet[T]) need(keys model.Objects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, w := range s.watches {
		if _, needed := keys[key]; !needed {
			s.end(w)
		}
	}
	s.startAll(keys)
}

// add starts watches and stops none.
func (s *namedSet[T]) add(keys model.Objects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startAll(keys)
}

// startAll starts the watches that do not run yet. The caller holds mu.
func (s *namedSet[T]) startAll(keys model.Objects) {
	for key := range keys {
		if key.Name == "" { // the watch would be of all of the namespace
			continue
		}
		w, known := s.watches[key]
		if !known {
			w = s.newWatch(key)
			s.watches[key] = w
		}
		switch {
		case w.watched:
		case s.watched[key.Namespace] < maxWatched: // one that was read in turns, too
			w.watched = true
			s.watched[key.Namespace]++
			s.run(w)
		case !known:
			s.takeTurns(w)
		}
	}
}

// end forgets an object. The caller holds mu.
func (s *namedSet[T]) end(w *namedWatch[T]) {
	w.gone = true
	delete(s.watches, w.key)
	if !w.watched {
		return
	}
	if w.cancel != nil {
		w.cancel()
	}
	if s.watched[w.key.Namespace]--; s.watched[w.key.Namespace] == 0 {
		delete(s.watched, w.key.Namespace)
	}
}

// open starts what was needed before the watcher ran.
func (s *namedSet[T]) open(start func(*feed) context.CancelFunc, begin func(func(context.Context))) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.begin = start, begin
	for _, w := range s.watches {
		if w.watched {
			s.run(w)
		}
	}
	for _, t := range s.turns {
		s.begin(t.run)
	}
}

// close keeps anything from starting.
func (s *namedSet[T]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = func(*feed) context.CancelFunc { return func() {} }
	s.begin = func(func(context.Context)) {}
}

func (s *namedSet[T]) newWatch(key model.Object) *namedWatch[T] {
	w := &namedWatch[T]{key: key, answered: make(chan struct{})}
	w.store = newStore(s.kind, s.keep, func(key model.Object, before, after *T) {
		if s.changed(before, after) {
			s.watcher.dirty.Mark(key)
		}
	})
	w.store.replaced = func() {
		if w.answer(nil) {
			s.watcher.dirty.Mark(key)
		}
	}
	return w
}

// run starts the watch. The caller holds mu.
func (s *namedSet[T]) run(w *namedWatch[T]) {
	if s.start == nil {
		return
	}
	f := clientFeed(s.clients.core, s.resource, w.key.Namespace, w.key.Name, s.object())
	f.name = string(s.kind) + " " + w.key.String()
	f.store = w.store
	f.slowest = 20 * time.Second
	f.failed = func(err error) { s.failed(w, err) }
	w.cancel = s.start(f)
}

// failed takes in why an object cannot be read. Other errors than a refusal say
// nothing about it; the last state stays.
func (s *namedSet[T]) failed(w *namedWatch[T], err error) {
	if apierrors.IsForbidden(err) && w.answer(err) {
		s.watcher.dirty.Mark(w.key)
	}
}

// answer notes what the API server said and reports whether that is news.
func (w *namedWatch[T]) answer(refused error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	news := (w.refused == nil) != (refused == nil)
	w.refused = refused
	w.once.Do(func() {
		close(w.answered)
		news = true
	})
	return news
}

// get returns what is kept of an object or a *NamedError.
func (s *namedSet[T]) get(key model.Object) (*T, error) {
	s.mu.Lock()
	w := s.watches[key]
	s.mu.Unlock()
	if w == nil {
		return nil, &NamedError{Key: key, Unread: true}
	}
	select {
	case <-w.answered:
	default:
		return nil, &NamedError{Key: key, Unread: true}
	}
	w.mu.Lock()
	refused := w.refused
	w.mu.Unlock()
	if refused != nil {
		return nil, &NamedError{Key: key, Err: refused}
	}
	if kept := w.store.get(key); kept != nil {
		return kept, nil
	}
	return nil, &NamedError{Key: key}
}

// wait returns when all needed objects are answered for, or ctx ends.
func (s *namedSet[T]) wait(ctx context.Context) bool {
	s.mu.Lock()
	pending := make([]<-chan struct{}, 0, len(s.watches))
	for _, w := range s.watches {
		pending = append(pending, w.answered)
	}
	s.mu.Unlock()
	for _, answered := range pending {
		select {
		case <-answered:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

var _ cache.ReflectorStore = (*store[*corev1.Secret])(nil)
