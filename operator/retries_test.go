package operator

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestRetries: however often a write was refused, a status is at most half a minute
// older than what it speaks of.
func TestRetries(t *testing.T) {
	t.Parallel()
	l, r := retries(), reconcile.Request{}
	first := l.When(r)
	for range 100 {
		if pause := l.When(r); pause > 30*time.Second {
			t.Fatalf("tried again after %v", pause)
		}
	}
	if l.Forget(r); l.When(r) != first {
		t.Error("a success does not start the pauses over")
	}
}
