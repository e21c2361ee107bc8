package kube

import (
	"fmt"
	"testing"
	"time"
)

// TestEventBudget: the routes of one namespace do not use up what others need,
// and namespaces that were heard of once take no memory for ever.
func TestEventBudget(t *testing.T) {
	t.Parallel()
	b, now := newEventBudget(), time.Now()
	b.now = func() time.Time { return now }
	taken := 0
	for range 1000 {
		if b.take("flood") {
			taken++
		}
	}
	if taken < namespaceEventBurst || taken > namespaceEventBurst+5 {
		t.Errorf("%d events of one namespace, want %d", taken, namespaceEventBurst)
	}
	for range namespaceEventBurst {
		if !b.take("other") {
			t.Fatal("another namespace has to wait")
		}
	}
	for i := range 10 * manyBudgets {
		now = now.Add(time.Second)
		b.take(fmt.Sprint(i))
	}
	if n := len(b.namespaces); n > manyBudgets {
		t.Errorf("%d budgets are remembered", n)
	}
}
