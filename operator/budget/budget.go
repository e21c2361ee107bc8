// Package budget bounds how often something is done for each namespace, so that
// one tenant cannot use up what all share.
package budget

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Budgets are equal ones, one for each namespace.
type Budgets struct {
	mu       sync.Mutex
	limit    rate.Limit
	burst    int
	limiters map[string]*rate.Limiter
}

// many is how many budgets are kept before those that are full again go.
const many = 1000

// New returns budgets of so many times a second, and so many at once.
func New(perSecond rate.Limit, burst int) *Budgets {
	return &Budgets{limit: perSecond, burst: burst, limiters: map[string]*rate.Limiter{}}
}

// Take takes one of the budget of a namespace. If it is used up, Take takes
// nothing, and returns when to come back.
func (b *Budgets) Take(namespace string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.limiters[namespace]
	if l == nil {
		for name, old := range b.limiters {
			if len(b.limiters) >= many && old.Tokens() >= float64(b.burst) {
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
