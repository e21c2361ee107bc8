package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// SecretError says why a Secret that a route names cannot be read. Its text is
// meant for the owner of the route.
type SecretError struct {
	Key model.Object
	// Unread is true until the API server has answered for the first time:
	// it is then not known whether anything is wrong. The key becomes dirty
	// with the answer.
	Unread bool
	// Err is the API server's refusal, or nil if the Secret does not exist.
	Err error
}

// Error implements error.
func (e *SecretError) Error() string {
	switch {
	case e.Unread:
		return fmt.Sprintf("secret %q has not been read yet", e.Key.Name)
	case e.Err == nil:
		return fmt.Sprintf("secret %q does not exist in namespace %q", e.Key.Name, e.Key.Namespace)
	default:
		return fmt.Sprintf("the router may not get, list and watch secret %q in namespace %q: %v",
			e.Key.Name, e.Key.Namespace, e.Err)
	}
}

// Pending reports whether it is too early to say anything: package door/route asks
// for this method, so that no user gets a finding about a Secret that is just being read.
func (e *SecretError) Pending() bool { return e.Unread }

// Unwrap returns the API server's refusal.
func (e *SecretError) Unwrap() error { return e.Err }

// maxWatched bounds the Secrets of one namespace that are watched: each takes
// 40 kB here, and a request that lasts at the API server. The others are read in
// turns.
const maxWatched = 200

// secretSet holds one watch per Secret that a route names, so that the router
// needs no right to read the others.
type secretSet struct {
	clients *clients
	watcher *Watcher
	// start runs a feed until its context ends, and begin a function; both are
	// nil before the watcher runs.
	start func(*feed) context.CancelFunc
	begin func(func(context.Context))

	mu      sync.Mutex
	watches map[model.Object]*secretWatch
	// watched counts the watches of each namespace, turns has its Secrets that
	// are not watched.
	watched map[string]int
	turns   map[string]*secretTurns
}

// secretWatch is the state of one Secret.
type secretWatch struct {
	key   model.Object
	store *store[*corev1.Secret]
	// watched is false if the Secret is read in turns, gone true once nobody
	// needs it.
	watched, gone bool
	cancel        context.CancelFunc
	// answered is closed when it is known whether the Secret can be read.
	answered chan struct{}
	once     sync.Once

	mu      sync.Mutex
	refused error
}

// need starts and stops watches so that exactly those Secrets are watched, or read
// in turns.
func (s *secretSet) need(keys model.Objects) {
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
func (s *secretSet) add(keys model.Objects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startAll(keys)
}

// startAll starts the watches that do not run yet. The caller holds mu.
func (s *secretSet) startAll(keys model.Objects) {
	for key := range keys {
		if key.Name == "" { // the watch would be of all Secrets of the namespace
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

// end forgets a Secret. The caller holds mu.
func (s *secretSet) end(w *secretWatch) {
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
func (s *secretSet) open(start func(*feed) context.CancelFunc, begin func(func(context.Context))) {
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
func (s *secretSet) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = func(*feed) context.CancelFunc { return func() {} }
	s.begin = func(func(context.Context)) {}
}

func (s *secretSet) newWatch(key model.Object) *secretWatch {
	w := &secretWatch{key: key, answered: make(chan struct{})}
	w.store = newStore(door.KindSecret, whole(stripSecret), func(key model.Object, before, after *corev1.Secret) {
		if secretChanged(before, after) {
			s.watcher.dirty.mark(key)
		}
	})
	w.store.replaced = func() {
		if w.answer(nil) {
			s.watcher.dirty.mark(key)
		}
	}
	return w
}

// run starts the watch. The caller holds mu.
func (s *secretSet) run(w *secretWatch) {
	if s.start == nil {
		return
	}
	f := clientFeed(s.clients.core, "secrets", w.key.Namespace, w.key.Name, &corev1.Secret{})
	f.name = "secret " + w.key.String()
	f.store = w.store
	f.slowest = 20 * time.Second
	f.failed = func(err error) { s.failed(w, err) }
	w.cancel = s.start(f)
}

// failed takes in why a Secret cannot be read. Other errors than a refusal say
// nothing about it; the last state stays.
func (s *secretSet) failed(w *secretWatch, err error) {
	if apierrors.IsForbidden(err) && w.answer(err) {
		s.watcher.dirty.mark(w.key)
	}
}

// answer notes what the API server said and reports whether that is news.
func (w *secretWatch) answer(refused error) bool {
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

// get returns the Secret or a *SecretError.
func (s *secretSet) get(key model.Object) (*corev1.Secret, error) {
	s.mu.Lock()
	w := s.watches[key]
	s.mu.Unlock()
	if w == nil {
		return nil, &SecretError{Key: key, Unread: true}
	}
	select {
	case <-w.answered:
	default:
		return nil, &SecretError{Key: key, Unread: true}
	}
	w.mu.Lock()
	refused := w.refused
	w.mu.Unlock()
	if refused != nil {
		return nil, &SecretError{Key: key, Err: refused}
	}
	if secret := w.store.get(key); secret != nil {
		return secret, nil
	}
	return nil, &SecretError{Key: key}
}

// wait returns when all needed Secrets are answered for, or ctx ends.
func (s *secretSet) wait(ctx context.Context) bool {
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
