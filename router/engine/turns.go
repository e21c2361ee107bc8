package engine

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

const (
	// turnSize is how many routes are taken in and brought to HAProxy at once, at
	// most, and leastTurn how many at least.
	turnSize, leastTurn = 100, 10
	// turnTime is how long that may take, so that a route that changes meanwhile waits
	// not for long. A hundred routes take some milliseconds, but where the router has
	// to fight for its processor they took a second.
	turnTime = 50 * time.Millisecond
	// restShare is how many times as long as a turn with routes of busy namespaces
	// these rest after it where the router has one processor, which HAProxy may need;
	// with two it is half as long. They have leastTurn routes in each: a request that
	// meets a long turn waits for the processor several times on its way.
	restShare = 9
	// A namespace is busy when turns with its routes took longer than turnBurst
	// together, less one in turnShare of the time that passes: more than when a node
	// fails, and all pods of 10,000 routes go elsewhere. It is time and not a number of
	// routes, because what others feel is the time.
	turnBurst, turnShare = 10 * time.Second, 20
	// It is also busy when turns of routes that had firstTurns in the last firstFor
	// took longer than againBurst, which those of a node that fails do not.
	againBurst, firstTurns, firstFor = 2 * time.Second, 3, time.Minute
	// turnDebt is how long a namespace that has been busy is calm until it is not.
	turnDebt = 20 * time.Second
)

// turns are the changed routes that are not taken in yet. Namespaces share each
// turn: one whose routes change without end, or thousands at a time, waits for
// itself and keeps no other waiting. A route that changes again before its turn
// still has one.
type turns struct {
	// size is how many routes have one turn. It follows the time that they take,
	// unless they are all to have one.
	size int
	// share is how many times as long as a turn a rest is.
	share int
	// rest is until when busy namespaces wait, busy whether the last turn had routes
	// of one, had how many routes of each namespace, and how many of them once more,
	// and spent how long its turns took.
	rest  time.Time
	busy  bool
	had   map[string]moved
	spent map[string]spending
	// waiting are routes by namespace; true are those that changed themselves or
	// by a Secret, false those whose Services did.
	waiting map[string]map[model.Object]bool
	all     bool
}

func newTurns(caps plan.Capabilities) *turns {
	t := &turns{size: turnSize, share: max(restShare/runtime.GOMAXPROCS(0), 1), had: map[string]moved{}, spent: map[string]spending{}, waiting: map[string]map[model.Object]bool{}}
	if !caps.DynamicBackends {
		t.size = math.MaxInt // one reload is for all of them
	}
	return t
}

// due returns in how long something has its turn, and false if nothing waits.
func (t *turns) due(now time.Time) (time.Duration, bool) {
	if t.all {
		return 0, true
	}
	for name := range t.waiting {
		if !t.rests(name, now) {
			return 0, true
		}
	}
	return max(t.rest.Sub(now), 0), len(t.waiting) > 0
}

// moved is how many routes have a turn, and how many of them had firstTurns before.
type moved struct{ all, again int }

// spending is how long the turns of a namespace took, and those of routes that had more
// than firstTurns since a time.
type spending struct {
	all, again time.Duration
	at, since  time.Time
	turns      map[model.Object]int
}

// spend counts a further turn of a namespace, and reports whether it has spent too much.
func (t *turns) spend(namespace string, all, again time.Duration, now time.Time) bool {
	s := t.spent[namespace]
	back := now.Sub(s.at) / turnShare
	s.all = min(max(0, s.all-back)+all, turnBurst+turnDebt/turnShare)
	s.again = min(max(0, s.again-back)+again, againBurst+turnDebt/turnShare)
	if s.at = now; s.all > 0 || now.Sub(s.since) < firstFor {
		t.spent[namespace] = s
	} else {
		delete(t.spent, namespace)
	}
	return s.all > turnBurst || s.again > againBurst
}

// note counts a turn of a route, and reports whether it had firstTurns before.
func (t *turns) note(key model.Object, now time.Time) (again bool) {
	s := t.spent[key.Namespace]
	if s.turns == nil || now.Sub(s.since) > firstFor {
		s.since, s.turns = now, map[model.Object]int{}
	}
	s.turns[key]++
	t.spent[key.Namespace] = s
	return s.turns[key] > firstTurns
}

// isBusy reports whether a namespace has small turns and rests after them. Where
// each turn is a reload none has.
func (t *turns) isBusy(namespace string, now time.Time) bool {
	return t.size < math.MaxInt && len(t.waiting[namespace]) > leastTurn && t.spend(namespace, 0, 0, now)
}

// waits reports whether a route waits for its turn.
func (t *turns) waits(key model.Object) bool {
	_, is := t.waiting[key.Namespace][key]
	return is || t.all
}

// objects returns those that wait, or nil for none.
func (t *turns) objects() model.Objects {
	if len(t.waiting) == 0 {
		return nil
	}
	all := model.Objects{}
	for _, routes := range t.waiting {
		for key := range routes {
			all[key] = struct{}{}
		}
	}
	return all
}

// count returns how many routes wait.
func (t *turns) count() int {
	n := 0
	for _, routes := range t.waiting {
		n += len(routes)
	}
	return n
}

// rests reports whether a namespace has to wait for the end of the rest.
func (t *turns) rests(namespace string, now time.Time) bool {
	return now.Before(t.rest) && t.isBusy(namespace, now)
}

// add takes the changes of routes (pipeline.Resolve).
func (t *turns) add(ch door.Changes) {
	if ch.All {
		t.all = true
		clear(t.waiting)
		return
	}
	for key := range ch.Endpoints {
		t.wait(key, false)
	}
	for key := range ch.Objects {
		t.wait(key, true)
	}
}

func (t *turns) wait(key model.Object, object bool) {
	routes := t.waiting[key.Namespace]
	if routes == nil {
		routes = map[model.Object]bool{}
		t.waiting[key.Namespace] = routes
	}
	routes[key] = routes[key] || object
}

// next returns what to take in now. Each namespace gets an equal share; what one
// does not need is for the others.
func (t *turns) next(now time.Time) door.Changes {
	t.busy = false
	clear(t.had)
	if t.all {
		t.all = false
		return door.Changes{All: true}
	}
	ch := door.Changes{Objects: model.Objects{}, Endpoints: model.Objects{}}
	if len(t.waiting) == 0 {
		for name := range t.spent {
			t.spend(name, 0, 0, now) // forgets what is long ago
		}
		return ch
	}
	names := make([]string, 0, len(t.waiting))
	for name := range t.waiting { // in no order, so that none is always last
		if !t.rests(name, now) {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(t.waiting[a]), len(t.waiting[b])) })
	room := t.size
	for i, name := range names {
		share := max(room/(len(names)-i), 1)
		if t.isBusy(name, now) {
			t.busy, share = true, min(share, leastTurn)
		}
		if room == 0 {
			break
		}
		t.had[name] = t.move(name, share, ch, now)
		room -= t.had[name].all
	}
	return ch
}

// took notes when a turn ended that so many routes had, and how long it took.
func (t *turns) took(routes int, d time.Duration, now time.Time) {
	if t.size == math.MaxInt {
		return
	}
	for name, had := range t.had {
		each := d / time.Duration(max(routes, 1))
		t.spend(name, each*time.Duration(had.all), each*time.Duration(had.again), now)
	}
	if t.busy {
		t.rest = now.Add(time.Duration(t.share) * d)
	}
	switch {
	case d > turnTime && routes > leastTurn:
		t.size = max(t.size/2, leastTurn)
	case d < turnTime/2 && routes >= t.size:
		t.size = min(t.size*2, turnSize)
	}
}

// move takes so many routes of a namespace, or all, and returns how many.
func (t *turns) move(namespace string, most int, into door.Changes, now time.Time) (had moved) {
	routes := t.waiting[namespace]
	for key, object := range routes {
		if had.all == most {
			return had
		}
		if object {
			into.Objects[key] = struct{}{}
		} else {
			into.Endpoints[key] = struct{}{}
		}
		delete(routes, key)
		if had.all++; t.note(key, now) {
			had.again++
		}
	}
	delete(t.waiting, namespace)
	return had
}

// beginTurn takes the routes in whose turn it is, and endTurn notes how long it took
// until HAProxy served them.
func (e *Engine) beginTurn() {
	now := time.Now()
	turn := e.turns.next(now)
	e.turn.routes, e.turn.began = len(turn.Objects)+len(turn.Endpoints), now
	e.o.Metrics.setWaiting(e.turn.routes + e.turns.count())
	e.update(turn)
}

func (e *Engine) endTurn() {
	if e.turn.routes > 0 {
		e.turns.took(e.turn.routes, time.Since(e.turn.began), time.Now())
	}
	e.o.Metrics.setWaiting(e.turns.count())
}
