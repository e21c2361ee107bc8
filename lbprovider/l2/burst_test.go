package l2

import (
	"testing"
	"time"
)

func TestBurst(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	b := &burst{start: start, refresh: time.Minute}
	var sent []time.Duration
	for range 8 {
		at, ok := b.due()
		if !ok {
			t.Fatal("the burst ended")
		}
		sent = append(sent, at.Sub(start).Round(100*time.Millisecond))
		b.mark(at)
	}
	want := append(offsets(), 65*time.Second, 125*time.Second)
	for i := range want {
		if sent[i] != want[i] {
			t.Fatalf("frames at %v, want %v", sent, want)
		}
	}
	b.restart(start.Add(3 * time.Minute))
	if at, _ := b.due(); !at.Equal(start.Add(3 * time.Minute)) {
		t.Errorf("a new burst is due at %v", at)
	}
	held := &burst{start: start}
	held.mark(start)
	held.hold(start.Add(500 * time.Millisecond))
	if at, _ := held.due(); !at.Equal(start.Add(500 * time.Millisecond)) {
		t.Errorf("a held burst goes on at %v", at)
	}
	held.mark(start.Add(500 * time.Millisecond))
	if at, _ := held.due(); !at.Equal(start.Add(offsets()[2])) {
		t.Errorf("after a pause, the next frame is due at %v", at)
	}
	silent := &burst{start: start, sent: len(offsets())}
	if _, ok := silent.due(); ok {
		t.Error("without a refresh, nothing follows the burst")
	}
}
