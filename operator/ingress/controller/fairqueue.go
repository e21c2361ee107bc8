package controller

import (
	"container/list"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// newQueue returns a queue that is fair between namespaces.
func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	type request = reconcile.Request
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[request]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[request]{
			Name:  name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[request]{Name: name, Queue: newTurns()}),
		}),
	})
}

// turns is the order of waiting Ingresses: namespaces take turns, and within a
// namespace the one that waits longest is next. A namespace with ten thousand of
// them delays one of another namespace by one turn and not by ten thousand.
type turns struct {
	// namespaces are those with waiting Ingresses; the first one is next.
	namespaces *list.List
	waiting    map[string]*list.List
	count      int
}

func newTurns() *turns { return &turns{namespaces: list.New(), waiting: map[string]*list.List{}} }

// Touch implements workqueue.Queue: what waits already stays where it is.
func (t *turns) Touch(reconcile.Request) {}

// Push implements workqueue.Queue.
func (t *turns) Push(r reconcile.Request) {
	if t.waiting[r.Namespace] == nil {
		t.waiting[r.Namespace] = list.New()
		t.namespaces.PushBack(r.Namespace)
	}
	t.waiting[r.Namespace].PushBack(r)
	t.count++
}

// Len implements workqueue.Queue.
func (t *turns) Len() int { return t.count }

// Pop implements workqueue.Queue.
func (t *turns) Pop() reconcile.Request {
	first := t.namespaces.Front()
	namespace, _ := first.Value.(string)
	line := t.waiting[namespace]
	next, _ := line.Remove(line.Front()).(reconcile.Request)
	t.count--
	if line.Len() == 0 {
		delete(t.waiting, namespace)
		t.namespaces.Remove(first)
	} else {
		t.namespaces.MoveToBack(first)
	}
	return next
}

var _ workqueue.Queue[reconcile.Request] = (*turns)(nil)
