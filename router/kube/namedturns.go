package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// turnPause is between two objects of a namespace that are read again.
	turnPause = 100 * time.Millisecond
	// turnLimit bounds how long one of them keeps the others waiting.
	turnLimit = 10 * time.Second
)

// namedTurns are the objects of a kind and namespace that are not watched, because it
// has too many. They are read one after the other, new ones first, so a change of
// one is seen when its turn comes: with a thousand of them after 100 s at most.
// The set's mutex guards it.
type namedTurns[T any] struct {
	set       *namedSet[T]
	namespace string
	// fresh have not been read yet, read are in the order of their turns.
	fresh, read []*namedWatch[T]
}

// takeTurns lets an object be read in turns. The caller holds mu.
func (s *namedSet[T]) takeTurns(w *namedWatch[T]) {
	t := s.turns[w.key.Namespace]
	if t == nil {
		t = &namedTurns[T]{set: s, namespace: w.key.Namespace}
		s.turns[w.key.Namespace] = t
		if s.begin != nil {
			s.begin(t.run)
		}
	}
	t.fresh = append(t.fresh, w)
}

// run reads until no object is left, or ctx ends.
func (t *namedTurns[T]) run(ctx context.Context) {
	for {
		w, pause := t.next()
		if w == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			t.set.read(ctx, w)
		}
	}
}

// next returns the object whose turn it is and how long to wait before, or nil if
// there are none any more.
func (t *namedTurns[T]) next() (*namedWatch[T], time.Duration) {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	for len(t.fresh)+len(t.read) > 0 {
		from, pause := &t.fresh, time.Duration(0)
		if len(t.fresh) == 0 {
			from, pause = &t.read, turnPause
		}
		w := (*from)[0]
		*from = (*from)[1:]
		if w.gone || w.watched {
			continue
		}
		t.read = append(t.read, w)
		return w, pause
	}
	delete(t.set.turns, t.namespace)
	return nil, 0
}

// read asks for an object once.
func (s *namedSet[T]) read(ctx context.Context, w *namedWatch[T]) {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	object := s.object()
	err := s.clients.core.Get().Namespace(w.key.Namespace).Resource(s.resource).Name(w.key.Name).Do(ctx).Into(object)
	var found []any
	version := ""
	switch {
	case err == nil:
		found = []any{object}
		if o, ok := object.(metav1.Object); ok {
			version = o.GetResourceVersion()
		}
	case !apierrors.IsNotFound(err):
		s.failed(w, err)
		return
	}
	if err := w.store.Replace(found, version); err != nil {
		s.watcher.log.Error("cannot keep an object that a route names", "object", w.key, "err", err)
	}
}
