package controller

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// secretReads is how many Secrets of a namespace are asked for in a second, that
// are not in the cache.
const (
	secretReads     = 10
	secretReadBurst = 50
)

// budgets bound how often something is done for each namespace.
type budgets struct {
	mu       sync.Mutex
	limit    rate.Limit
	burst    int
	limiters map[string]*rate.Limiter
}

// manyBudgets is how many are kept before those that are full again go.
const manyBudgets = 1000

func newBudgets(limit rate.Limit, burst int) *budgets {
	return &budgets{limit: limit, burst: burst, limiters: map[string]*rate.Limiter{}}
}

// wait takes one of the budget of a namespace. If it is used up, wait takes
// nothing, and returns when to come back.
func (b *budgets) wait(namespace string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.limiters[namespace]
	if l == nil {
		for name, old := range b.limiters {
			if len(b.limiters) >= manyBudgets && old.Tokens() >= float64(b.burst) {
				delete(b.limiters, name)
			}
		}
		l = rate.NewLimiter(b.limit, b.burst)
		b.limiters[namespace] = l
	}
	if l.Allow() {
		return 0
	}
	return time.Duration(float64(time.Second) / float64(b.limit))
}
