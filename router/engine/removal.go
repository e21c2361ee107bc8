package engine

import (
	"cmp"
	"container/heap"
	"errors"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
)

// removalSlice bounds how long removals keep changes waiting, removalRest how soon
// more of them follow.
const removalSlice, removalRest = 5 * time.Millisecond, 45 * time.Millisecond

// removalBatch is how many removals are tried together: each line is a way to
// HAProxy and back, which takes longer than most removals. A backend with its servers has a
// line of its own, so that the slice is kept to.
const removalBatch = 10

// removalRetry is half the time to the second try. The first one often fails
// just because HAProxy closes a server's idle connections a moment later.
const removalRetry = 50 * time.Millisecond

// removals are steps that wait until nothing uses what they take away. There may be
// thousands of them, so that nothing may look at all.
type removals struct {
	waiting map[plan.Step]struct{}
	// first are those that were not tried yet, as they were planned: servers before
	// backends before certificates. again are the others. They take turns: what long
	// connections use keeps nothing else from being removed.
	first, again removalQueue
	turn         bool
	added        int
	// rest is until when none are tried.
	rest time.Time
	// policies are the entries among them, by the backend whose policy they are of.
	policies map[string]map[plan.Entry]struct{}
}

// removal is a step that waits in a queue.
type removal struct {
	step  plan.Step
	at    time.Time
	pause time.Duration
	// number is how many were added before.
	number int
}

// removalQueue has what is due next first, and of what is due at one time what was added
// first (container/heap).
type removalQueue []*removal

func (q removalQueue) Len() int { return len(q) }
func (q removalQueue) Less(i, j int) bool {
	return cmp.Or(q[i].at.Compare(q[j].at), cmp.Compare(q[i].number, q[j].number)) < 0
}
func (q removalQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *removalQueue) Push(r any)   { *q = append(*q, r.(*removal)) }
func (q *removalQueue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	return r
}

// due takes what is due and tried together out of the queue.
func (q *removalQueue) due(now time.Time) (batch []*removal) {
	for len(*q) > 0 && len(batch) < removalBatch && !(*q)[0].at.After(now) {
		_, backend := (*q)[0].step.(plan.BackendDel)
		if backend && len(batch) > 0 {
			return batch
		}
		if batch = append(batch, heap.Pop(q).(*removal)); backend {
			return batch
		}
	}
	return batch
}

func newRemovals() *removals {
	return &removals{waiting: map[plan.Step]struct{}{}, policies: map[string]map[plan.Entry]struct{}{}}
}

func (r *removals) add(steps []plan.Step, at time.Time) {
	for _, s := range steps {
		if _, waits := r.waiting[s]; waits {
			continue
		}
		r.waiting[s] = struct{}{}
		r.added++
		heap.Push(&r.first, &removal{step: s, at: at, pause: removalRetry, number: r.added})
		if del, ok := s.(plan.EntryDel); ok {
			if backend, ok := del.Policy(); ok {
				if r.policies[backend] == nil {
					r.policies[backend] = map[plan.Entry]struct{}{}
				}
				r.policies[backend][del.Entry] = struct{}{}
			}
		}
	}
}

// forget ends the wait of a step that is done, or no longer wanted.
func (r *removals) forget(s plan.Step) {
	delete(r.waiting, s)
	if del, ok := s.(plan.EntryDel); ok {
		if backend, ok := del.Policy(); ok {
			if delete(r.policies[backend], del.Entry); len(r.policies[backend]) == 0 {
				delete(r.policies, backend)
			}
		}
	}
}

// due takes the removals out of the queues that are to be tried together now.
func (r *removals) due(now time.Time) (batch []*removal) {
	for range 2 {
		q := &r.first
		if r.turn {
			q = &r.again
		}
		r.turn = !r.turn
		if batch = q.due(now); len(batch) > 0 {
			return batch
		}
	}
	return nil
}

// retry puts a removal back that is to be tried after a time.
func (r *removals) retry(one *removal, at time.Time) {
	one.at = at
	heap.Push(&r.again, one)
}

// in returns in how long removals are tried next, at most so long.
func (r *removals) in(now time.Time, most time.Duration) time.Duration {
	for _, q := range []removalQueue{r.first, r.again} {
		if len(q) > 0 {
			most = min(most, max(q[0].at.Sub(now), r.rest.Sub(now), 0))
		}
	}
	return most
}

// overtake puts what is left of a former policy into the scope of a change by which its
// backend comes back, so that it goes with the change: else clients of before would be
// admitted until the removal is due.
func (r *removals) overtake(scope *plan.Scope, want *plan.State) {
	if len(r.policies) == 0 {
		return
	}
	for backend := range scope.Backends {
		if want.Backends[backend] == nil {
			continue
		}
		for e := range r.policies[backend] {
			scope.Entries[e] = struct{}{}
		}
	}
}

// remove tries the removals that are due and returns when to look again.
func (e *Engine) remove() time.Duration {
	began, next := time.Now(), watchedCheck
	if wait, due := e.refresh.in(began); due {
		next = min(next, wait)
	}
	if e.removals.rest.After(began) {
		return e.removals.in(began, next)
	}
	defer e.record()
	// Two batches at least, one of each queue, however long HAProxy takes for one.
	for n := 0; n < 2 || time.Since(began) < removalSlice; n++ {
		batch := e.removals.due(began)
		if len(batch) == 0 {
			break
		}
		e.tryRemove(batch, began)
		e.removals.rest = time.Now().Add(removalRest)
	}
	return e.removals.in(time.Now(), next)
}

// tryRemove tries a few removals together, which are forgotten when they are done or no
// longer wanted. While connections last HAProxy refuses one, which costs nothing.
func (e *Engine) tryRemove(batch []*removal, now time.Time) {
	var steps []plan.Step
	parts, gone := map[*removal][]plan.Step{}, map[*removal]func(){}
	for _, r := range batch {
		if e.wanted(r.step) {
			e.removals.forget(r.step)
			continue
		}
		parts[r], gone[r] = plan.Removal(e.live, r.step), e.o.Metrics.traffic.countLast(r.step)
		steps = append(steps, parts[r]...)
	}
	if len(parts) == 0 {
		return
	}
	e.refresh.due, e.compared = true, false
	done := map[plan.Step]bool{}
	err := e.haproxy.Apply(steps, func(s plan.Step) { done[s] = true; e.took(s) })
	failed := steps
	if refusal, refused := errors.AsType[*haproxy.RefusedError](err); refused {
		failed = refusal.Steps
		for _, s := range failed {
			if del, ok := s.(plan.ServerDel); ok {
				e.live.Apply(plan.ServerDrain(del)) // it is in maintenance by now
			}
		}
	} else if err != nil {
		e.log.Error("cannot remove from HAProxy, trying again", "err", err)
	}
	for r, steps := range parts {
		switch {
		case !slices.ContainsFunc(steps, func(p plan.Step) bool { return !done[p] }):
			gone[r]()
			e.removals.forget(r.step)
		case slices.ContainsFunc(steps, func(p plan.Step) bool { return slices.Contains(failed, p) }):
			r.pause = min(r.pause*2, maxRemovalPause)
			e.removals.retry(r, now.Add(r.pause))
		default: // a refusal before it ended the batch
			e.removals.retry(r, now)
		}
	}
}

// wanted reports whether what a step would remove is wanted again, or gone
// with something larger.
func (e *Engine) wanted(s plan.Step) bool {
	want := e.pipeline.Want()
	switch s := s.(type) {
	case plan.BackendDel:
		return want.Backends[s.Name] != nil
	case plan.ServerDel:
		if b := want.Backends[s.Backend]; b != nil {
			return b.Servers.Get(s.Name) != nil
		}
		return e.live.Backends[s.Backend] == nil
	case plan.CertDel:
		_, ok := want.Certs[s.ID]
		return ok
	case plan.CADel:
		_, ok := want.CAs[s.ID]
		return ok
	case plan.EntryDel:
		_, ok := want.Entries[s.Entry]
		return ok
	}
	return false
}
