package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

func routesOf(namespace string, n int) model.Objects {
	keys := model.Objects{}
	for i := range n {
		keys[model.Object{Kind: route.Kind, Namespace: namespace, Name: fmt.Sprint("r", i)}] = struct{}{}
	}
	return keys
}

func count(keys model.Objects, namespace string) (n int) {
	for k := range keys {
		if k.Namespace == namespace {
			n++
		}
	}
	return n
}

// TestTurns: a namespace with thousands of changed routes keeps none waiting that
// has few, and nothing is lost.
func TestTurns(t *testing.T) {
	t.Parallel()
	q := newTurns(plan.Capabilities{DynamicBackends: true})
	q.add(door.Changes{Endpoints: routesOf("busy", 5000)})
	q.add(door.Changes{Objects: routesOf("busy", 10)}) // some changed themselves, too
	seen := model.Objects{}
	for round := 0; waits(q); round++ {
		if round == 3 {
			q.add(door.Changes{Objects: routesOf("calm", 1)})
			q.add(door.Changes{Objects: routesOf("some", 70)})
		}
		ch := q.next(time.Now())
		if n := len(ch.Objects) + len(ch.Endpoints); n > turnSize {
			t.Fatalf("round %d: %d routes at once", round, n)
		}
		if calm, some := count(ch.Objects, "calm"), count(ch.Objects, "some"); round == 3 && (calm != 1 || some != 49) {
			t.Errorf("%d of the namespace with one change, %d of that with 70", calm, some)
		}
		for _, keys := range []model.Objects{ch.Objects, ch.Endpoints} {
			for key := range keys {
				if _, twice := seen[key]; twice {
					t.Errorf("%s twice", key)
				}
				seen[key] = struct{}{}
			}
		}
		if round > 100 {
			t.Fatal("it does not end")
		}
	}
	if len(seen) != 5071 {
		t.Errorf("%d routes taken in", len(seen))
	}
}

// waits reports whether something has not had its turn yet.
func waits(q *turns) bool {
	_, due := q.due(time.Now())
	return due
}

// TestTurnsTime: where routes take long, few have a turn, so that others come soon.
func TestTurnsTime(t *testing.T) {
	t.Parallel()
	q, now := newTurns(plan.Capabilities{DynamicBackends: true}), time.Now()
	q.add(door.Changes{Objects: routesOf("many", 5000)})
	taken := turnSize
	for _, step := range []struct {
		took time.Duration
		want int
	}{
		{0, 100},
		{time.Millisecond, 100},
		{60 * time.Millisecond, 50},
		{time.Second, 25},
		{30 * time.Millisecond, 25},
		{time.Second, 12},
		{2 * time.Second, 10},
		{2 * time.Second, 10},
		{time.Millisecond, 20},
		{0, 40},
		{0, 80},
		{0, 100},
	} {
		q.took(taken, step.took, now)
		if wait, due := q.due(now); !due || wait > 0 {
			t.Errorf("a namespace rests for %v after few turns", wait)
		}
		if taken = len(q.next(now).Objects); taken != step.want {
			t.Errorf("after a turn of %v, %d routes have one, want %d", step.took, taken, step.want)
		}
	}
	q.took(3, time.Second, now)
	if q.size != turnSize {
		t.Errorf("three slow routes changed the size of turns to %d", q.size)
	}
	all := newTurns(plan.Capabilities{})
	all.took(5000, time.Minute, now)
	all.spend("busy", 2*turnBurst, 0, now)
	if all.add(door.Changes{Objects: routesOf("busy", 3000)}); len(all.next(now).Objects) != 3000 {
		t.Error("not all at once, and each turn is a reload")
	}
}

// TestTurnsBusy: a namespace whose routes change without end has small turns and
// rests after them, until it was calm for a while. Others do not.
func TestTurnsBusy(t *testing.T) {
	t.Parallel()
	q, now := newTurns(plan.Capabilities{DynamicBackends: true}), time.Now()
	q.add(door.Changes{Objects: routesOf("busy", 5000)})
	q.spend("busy", 2*turnBurst, 0, now)
	for range 3 {
		if taken := len(q.next(now).Objects); taken != leastTurn {
			t.Errorf("a turn of %d routes", taken)
		}
		q.took(leastTurn, 2*time.Millisecond, now)
		wait, due := q.due(now)
		if !due || wait != time.Duration(q.share)*2*time.Millisecond {
			t.Errorf("a rest of %v", wait)
		}
		now = now.Add(wait)
	}
	q.next(now)
	q.took(leastTurn, time.Second, now)
	q.add(door.Changes{Objects: routesOf("calm", 200)})
	if wait, due := q.due(now); !due || wait > 0 {
		t.Errorf("another namespace waits for %v", wait)
	}
	if ch := q.next(now); len(ch.Objects) != turnSize || count(ch.Objects, "calm") != turnSize {
		t.Errorf("%d routes have a turn in the rest", len(ch.Objects))
	}
	q.took(turnSize, time.Millisecond, now)
	if now = now.Add(turnDebt - time.Second); count(q.next(now).Objects, "busy") != leastTurn {
		t.Error("its turns are not small any more, though it was calm for a moment only")
	}
	q.next(now) // the last ones of the other namespace
	if now = now.Add(2 * time.Second); count(q.next(now).Objects, "busy") != turnSize {
		t.Error("after the calm its turns are still small")
	}
}

// TestTurnsAgain: a namespace whose few routes change again and again is busy sooner than
// one whose many routes change once or twice, and for its own routes only.
func TestTurnsAgain(t *testing.T) {
	t.Parallel()
	q, now := newTurns(plan.Capabilities{DynamicBackends: true}), time.Now()
	pass := func() {
		for waits(q) {
			ch := q.next(now)
			n := len(ch.Endpoints)
			now = now.Add(time.Duration(n) * time.Millisecond)
			q.took(n, time.Duration(n)*time.Millisecond, now)
			if wait, due := q.due(now); due {
				now = now.Add(wait)
			}
		}
	}
	busy := func(namespace string) bool { return q.spend(namespace, 0, 0, now) }
	for range 2 {
		q.add(door.Changes{Endpoints: routesOf("many", 4000)})
		pass()
	}
	if busy("many") {
		t.Error("a namespace with many routes is busy that changed twice")
	}
	for turn := range 40 {
		q.add(door.Changes{Endpoints: routesOf("few", 90)})
		q.add(door.Changes{Endpoints: routesOf("little", 10)})
		pass()
		if turn == 20 && busy("few") {
			t.Error("a namespace with few routes is busy at once")
		}
	}
	if !busy("few") || busy("little") {
		t.Errorf("few %t, little %t: %v", busy("few"), busy("little"), q.spent["few"].again)
	}
}

// TestTurnsReasons: what a route is taken in for decides whether HAProxy is asked
// again for what it refused, and a change of everything is for all.
func TestTurnsReasons(t *testing.T) {
	t.Parallel()
	key := func(name string) model.Object { return model.Object{Kind: route.Kind, Namespace: "a", Name: name} }
	q := newTurns(plan.Capabilities{DynamicBackends: true})
	q.add(door.Changes{Objects: model.Objects{key("byBoth"): {}, key("bySecret"): {}}})
	q.add(door.Changes{Endpoints: model.Objects{key("byService"): {}, key("byBoth"): {}}})
	ch := q.next(time.Now())
	for _, name := range []string{"bySecret", "byBoth"} {
		if _, ok := ch.Objects[key(name)]; !ok {
			t.Errorf("%s is no change of the route: %v", name, ch)
		}
	}
	if _, ok := ch.Endpoints[key("byService")]; !ok || len(ch.Endpoints) != 1 || len(ch.Objects) != 2 {
		t.Errorf("%v", ch)
	}
	q.add(door.Changes{Objects: routesOf("a", 3)})
	q.add(door.Changes{All: true})
	if ch := q.next(time.Now()); !ch.All || waits(q) {
		t.Errorf("everything changed: %v, %t", ch, !waits(q))
	}
	if q = newTurns(plan.Capabilities{}); !waits(q) {
		q.add(door.Changes{Objects: routesOf("a", 3000)})
	}
	if ch := q.next(time.Now()); len(ch.Objects) != 3000 {
		t.Errorf("%d at once, and each turn is a reload", len(ch.Objects))
	}
}
