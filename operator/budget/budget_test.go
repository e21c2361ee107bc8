package budget

import "testing"

// TestTake: what one namespace does is bounded, and others are not delayed by it.
func TestTake(t *testing.T) {
	t.Parallel()
	b := New(0.001, 3)
	for range 3 {
		if wait := b.Take("loud"); wait != 0 {
			t.Fatalf("within the budget: %v", wait)
		}
	}
	if b.Take("loud") == 0 {
		t.Error("the budget has no end")
	}
	if wait := b.Take("quiet"); wait != 0 {
		t.Errorf("another namespace waits for %v", wait)
	}
}
