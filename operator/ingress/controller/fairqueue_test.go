package controller

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func ask(namespace string, n int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}}
}

// TestQueueIsFair: ten thousand Ingresses of one namespace wait, and are changed
// again while they are worked on. One of another namespace is next but one.
func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	q := newQueue("test", workqueue.DefaultTypedItemBasedRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	for n := range 10_000 {
		q.Add(ask("loud", n))
	}
	for range 100 {
		r, _ := q.Get()
		q.Add(r) // it changes while it is worked on
		q.Done(r)
	}
	q.Add(ask("quiet", 1))
	q.Add(ask("quiet", 2))
	q.Add(ask("quiet", 1)) // once more is no second time
	served := map[string]int{}
	for range 4 {
		r, _ := q.Get()
		served[r.String()]++
		served[r.Namespace]++
		q.Done(r)
	}
	if served["quiet/1"] != 1 || served["quiet/2"] != 1 || served["loud"] != 2 {
		t.Errorf("after four turns: %v", served)
	}
	if q.Len() != 10_000-2 {
		t.Errorf("%d wait", q.Len())
	}
}

// TestTurnsWithinANamespace: the one that waits longest is next, and nothing is
// lost.
func TestTurnsWithinANamespace(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	for n := range 3 {
		for _, namespace := range []string{"a", "b"} {
			turns.Push(ask(namespace, n))
		}
	}
	var got []string
	for turns.Len() > 0 {
		got = append(got, turns.Pop().String())
	}
	if want := "[a/0 b/0 a/1 b/1 a/2 b/2]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if len(turns.waiting) > 0 || turns.namespaces.Len() > 0 {
		t.Error("namespaces without waiting Ingresses are kept")
	}
}
