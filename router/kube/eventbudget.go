package kube

import (
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// eventBudget bounds the events of all namespaces together, and those of each,
// so that no tenant's routes keep those of others waiting. Its caller sees to it
// that only one goroutine uses it.
type eventBudget struct {
	all        flowcontrol.RateLimiter
	namespaces map[string]*namespaceBudget
	now        func() time.Time
}

type namespaceBudget struct {
	rate flowcontrol.RateLimiter
	used time.Time
}

const (
	eventsPerSecond, eventBurst                   = 5, 50
	namespaceEventsPerSecond, namespaceEventBurst = 0.5, 10
	// budgetFull is when a namespace's budget is full again, and need not be
	// remembered; manyBudgets is from when on that is looked at.
	budgetFull  = time.Duration(namespaceEventBurst/namespaceEventsPerSecond) * time.Second
	manyBudgets = 256
)

func newEventBudget() *eventBudget {
	return &eventBudget{
		all:        flowcontrol.NewTokenBucketRateLimiter(eventsPerSecond, eventBurst),
		namespaces: map[string]*namespaceBudget{}, now: time.Now,
	}
}

// take reports whether an event may be made in a namespace now.
func (b *eventBudget) take(namespace string) bool {
	n := b.namespaces[namespace]
	if n == nil {
		b.forget()
		n = &namespaceBudget{rate: flowcontrol.NewTokenBucketRateLimiter(namespaceEventsPerSecond, namespaceEventBurst)}
		b.namespaces[namespace] = n
	}
	n.used = b.now()
	return n.rate.TryAccept() && b.all.TryAccept()
}

// forget drops budgets that are full again.
func (b *eventBudget) forget() {
	if len(b.namespaces) < manyBudgets {
		return
	}
	for name, n := range b.namespaces {
		if b.now().Sub(n.used) > budgetFull {
			delete(b.namespaces, name)
		}
	}
}
