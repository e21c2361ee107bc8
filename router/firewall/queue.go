package firewall

import (
	"context"
	"errors"
	"sync"
)

// Bounds of questions that wait. A verdict costs a millisecond of a processor, and one with
// a long body a hundred.
const (
	mostWaiting = 128
	// mostOfNamespace is how many of them may be of one namespace.
	mostOfNamespace = 32
)

var errBusy = errors.New("too many requests wait to be judged")

// queue lets as many questions be answered at a time as there are processors. The
// namespaces that have some have their turns one after the other, so that one that sends
// costly requests delays another by one verdict at most for each processor.
type queue struct {
	mu      sync.Mutex
	free    int
	waiting int
	of      map[string][]chan struct{}
	// turns are the namespaces that wait, in order.
	turns []string
}

func newQueue(slots int) *queue { return &queue{free: slots, of: map[string][]chan struct{}{}} }

// take waits for a turn, until ctx ends. give ends it.
func (q *queue) take(ctx context.Context, namespace string) error {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return nil
	}
	if q.waiting >= mostWaiting || len(q.of[namespace]) >= mostOfNamespace {
		q.mu.Unlock()
		return errBusy
	}
	turn := make(chan struct{})
	if len(q.of[namespace]) == 0 {
		q.turns = append(q.turns, namespace)
	}
	q.of[namespace] = append(q.of[namespace], turn)
	q.waiting++
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if q.leave(namespace, turn) {
		return errBusy
	}
	return nil // its turn came at the same moment
}

// give lets the next one have its turn.
func (q *queue) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		q.free++
		return
	}
	namespace := q.turns[0]
	q.turns = q.turns[1:]
	list := q.of[namespace]
	close(list[0])
	q.waiting--
	if list = list[1:]; len(list) == 0 {
		delete(q.of, namespace)
		return
	}
	q.of[namespace] = list
	q.turns = append(q.turns, namespace)
}

// leave takes one out that waits no more. It reports false if its turn has come.
func (q *queue) leave(namespace string, turn chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.of[namespace]
	for i := range list {
		if list[i] != turn {
			continue
		}
		q.waiting--
		list = append(list[:i:i], list[i+1:]...)
		if q.of[namespace] = list; len(list) > 0 {
			return true
		}
		delete(q.of, namespace)
		for i := range q.turns {
			if q.turns[i] == namespace {
				q.turns = append(q.turns[:i:i], q.turns[i+1:]...)
				break
			}
		}
		return true
	}
	return false
}
