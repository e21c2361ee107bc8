package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/plan"
)

// TestRemovalsTogether: what a route leaves behind goes in one call, of which one that
// is refused keeps none of the others.
func TestRemovalsTogether(t *testing.T) {
	inBubble(t, func(b *bench) {
		const routes = 100
		for i := range routes {
			b.put(fmt.Sprint("web", i), fmt.Sprintf("web%d.test", i), fmt.Sprint("web", i))
		}
		b.haproxy.refuse = func(s plan.Step) string {
			if del, ok := s.(plan.ServerDel); ok && strings.Contains(del.Backend, ":web7:") {
				return "it is in use"
			}
			return ""
		}
		for i := range routes {
			b.remove(fmt.Sprint("web", i))
		}
		before := b.haproxy.calls
		b.pass(4 * removalPause)
		if left := b.haproxy.state.Backends; len(left) != 1 {
			t.Errorf("%d backends are left, want the one in use", len(left))
		}
		if calls := b.haproxy.calls - before; calls > routes*3/2 {
			t.Errorf("%d calls for the removal of %d routes", calls, routes)
		}
		b.haproxy.refuse = nil
		b.pass(2 * maxRemovalPause)
		if left := b.haproxy.state.Backends; len(left) != 0 {
			t.Errorf("%d backends are left", len(left))
		}
	})
}

// TestRemovalsTakeTurns: hundreds of backends that long connections use keep no other from being removed, and are removed
// themselves when those end, also while HAProxy has so much to do that each call takes longer than a slice.
func TestRemovalsTakeTurns(t *testing.T) {
	inBubble(t, func(b *bench) {
		const held = 1000
		for i := range held {
			b.put(fmt.Sprint("held", i), fmt.Sprintf("held%d.test", i), fmt.Sprint("held", i))
		}
		b.haproxy.takes = 2 * removalSlice
		used := true
		b.haproxy.refuse = func(s plan.Step) string {
			if del, ok := s.(plan.ServerDel); ok && used && strings.Contains(del.Backend, ":held") {
				return "it has connections"
			}
			return ""
		}
		for i := range held {
			b.remove(fmt.Sprint("held", i))
		}
		b.pass(10 * time.Minute)
		if n := len(b.haproxy.state.Backends); n != held {
			t.Fatalf("%d backends are left, want %d", n, held)
		}
		for i := range 20 {
			b.put("web", "web.test", fmt.Sprint("pods", i))
			b.remove("web")
			b.pass(2 * removalPause)
			if n := len(b.haproxy.state.Backends); n != held {
				t.Fatalf("removal %d has to wait for those in use: %d backends are left, want %d", i, n, held)
			}
		}
		tries := b.haproxy.calls
		b.pass(maxRemovalPause)
		if tries = b.haproxy.calls - tries; tries > 2*held {
			t.Errorf("%d backends that are in use were tried %d times in %v", held, tries, maxRemovalPause)
		}
		used = false
		b.pass(2 * maxRemovalPause)
		if n := len(b.haproxy.state.Backends); n != 0 {
			t.Errorf("%d backends are left after the last connection", n)
		}
	})
}

// TestRemovalsRest: endpoints that go one by one share their removals: what changes next waits for few of them.
func TestRemovalsRest(t *testing.T) {
	inBubble(t, func(b *bench) {
		const changes, every = 200, 3 * time.Millisecond
		b.put("web", "web.test", "web")
		used := true
		tries := map[time.Time]int{}
		b.haproxy.refuse = func(s plan.Step) string {
			if _, ok := s.(plan.ServerDel); ok {
				tries[time.Now()]++
				if used {
					return "it has connections"
				}
			}
			return ""
		}
		for i := range changes {
			b.put("web", "web.test", fmt.Sprint("pods", i))
			b.pass(every)
		}
		b.pass(4 * removalPause)
		took := changes*every + 4*removalPause
		if most := int(took/removalRest) + 1; len(tries) > most || len(tries) < 5 {
			t.Errorf("removals were tried at %d times in %v, want 5 to %d", len(tries), took, most)
		}
		used = false
		b.pass(2 * maxRemovalPause)
		for name, backend := range b.haproxy.state.Backends {
			if n := len(backend.Servers); n != 1 {
				t.Errorf("%s has %d servers, want the last one", name, n)
			}
		}
	})
}

// BenchmarkWaitingRemovals: what a look at the removals costs each change, while so many wait.
func BenchmarkWaitingRemovals(b *testing.B) {
	for _, waiting := range []int{10, 10_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			e := &Engine{removals: newRemovals()}
			var steps []plan.Step
			for i := range waiting {
				steps = append(steps, plan.ServerDel{Backend: fmt.Sprint("be_http:shop:web", i), Name: "pod"})
			}
			e.removals.add(steps, time.Now().Add(time.Hour))
			for b.Loop() {
				e.remove()
			}
		})
	}
}
