package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// turnPause is between two Secrets of a namespace that are read again.
	turnPause = 100 * time.Millisecond
	// turnLimit bounds how long one of them keeps the others waiting.
	turnLimit = 10 * time.Second
)

// secretTurns are the Secrets of one namespace that are not watched, because it
// has too many. They are read one after the other, new ones first, so a change of
// one is seen when its turn comes: with a thousand of them after 100 s at most.
// The set's mutex guards it.
type secretTurns struct {
	set       *secretSet
	namespace string
	// fresh have not been read yet, read are in the order of their turns.
	fresh, read []*secretWatch
}

// takeTurns lets a Secret be read in turns. The caller holds mu.
func (s *secretSet) takeTurns(w *secretWatch) {
	t := s.turns[w.key.Namespace]
	if t == nil {
		t = &secretTurns{set: s, namespace: w.key.Namespace}
		s.turns[w.key.Namespace] = t
		if s.begin != nil {
			s.begin(t.run)
		}
	}
	t.fresh = append(t.fresh, w)
}

// run reads until no Secret is left, or ctx ends.
func (t *secretTurns) run(ctx context.Context) {
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

// next returns the Secret whose turn it is and how long to wait before, or nil if
// there are none any more.
func (t *secretTurns) next() (*secretWatch, time.Duration) {
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

// read asks for a Secret once.
func (s *secretSet) read(ctx context.Context, w *secretWatch) {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	secret := &corev1.Secret{}
	err := s.clients.core.Get().Namespace(w.key.Namespace).Resource("secrets").Name(w.key.Name).Do(ctx).Into(secret)
	var found []any
	switch {
	case err == nil:
		found = []any{secret}
	case !apierrors.IsNotFound(err):
		s.failed(w, err)
		return
	}
	if err := w.store.Replace(found, secret.ResourceVersion); err != nil {
		s.watcher.log.Error("cannot keep a secret", "secret", w.key, "err", err)
	}
}
