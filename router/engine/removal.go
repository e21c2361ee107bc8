package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
)

// removalSlice bounds how long removals keep changes waiting, removalRest how soon
// more of them follow.
const removalSlice, removalRest = 5 * time.Millisecond, 45 * time.Millisecond

// removalBatch is how many removals are tried together: each line that HAProxy gets is a
// connection to it, which costs more than most removals. A backend with its servers has a
// line of its own, so that the slice is kept to.
const removalBatch = 10

// removalRetry is half the time to the second try. The first one often fails
// just because HAProxy closes a server's idle connections a moment later.
const removalRetry = 50 * time.Millisecond

// removals are steps that wait until nothing uses what they take away.
type removals struct {
	due map[plan.Step]*removal
	// order keeps the steps as they were planned: servers before backends
	// before certificates.
	order []plan.Step
	// policies are the entries among them, by the backend whose policy they are of.
	policies map[string][]plan.Entry
}

type removal struct {
	at    time.Time
	pause time.Duration
}

func newRemovals() *removals {
	return &removals{due: map[plan.Step]*removal{}, policies: map[string][]plan.Entry{}}
}

func (r *removals) add(steps []plan.Step, at time.Time) {
	for _, s := range steps {
		if r.due[s] == nil {
			r.due[s] = &removal{at: at, pause: removalRetry}
			r.order = append(r.order, s)
			if del, ok := s.(plan.EntryDel); ok {
				if backend, ok := del.Policy(); ok {
					r.policies[backend] = append(r.policies[backend], del.Entry)
				}
			}
		}
	}
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
		for _, e := range r.policies[backend] {
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
	defer e.record()
	var due []plan.Step
	for _, s := range e.removals.order {
		if wait := e.removals.due[s].at.Sub(began); wait > 0 {
			next = min(next, wait)
		} else {
			due = append(due, s)
		}
	}
	for len(due) > 0 {
		n := batchOf(due)
		batch := due[:n]
		due = due[n:]
		if time.Since(began) > removalSlice {
			next = min(next, removalRest)
			break
		}
		if e.tryRemove(batch, began) {
			next = min(next, removalRest)
		}
	}
	if e.removals.order = slices.DeleteFunc(e.removals.order, func(s plan.Step) bool { return e.removals.due[s] == nil }); len(e.removals.order) == 0 {
		clear(e.removals.policies)
	}
	return next
}

// batchOf returns how many of some removals are tried together.
func batchOf(due []plan.Step) int {
	for n, s := range due[:min(len(due), removalBatch)] {
		if _, backend := s.(plan.BackendDel); backend {
			return max(n, 1)
		}
	}
	return min(len(due), removalBatch)
}

// tryRemove tries a few removals together, which are forgotten when they are done or no
// longer wanted. While connections last HAProxy refuses one, which costs nothing. It
// reports whether HAProxy has not come to all of them.
func (e *Engine) tryRemove(batch []plan.Step, now time.Time) (more bool) {
	var steps []plan.Step
	parts, gone := map[plan.Step][]plan.Step{}, map[plan.Step]func(){}
	for _, s := range batch {
		if e.wanted(s) {
			delete(e.removals.due, s)
			continue
		}
		parts[s], gone[s] = plan.Removal(e.live, s), e.o.Metrics.traffic.countLast(s)
		steps = append(steps, parts[s]...)
	}
	if len(parts) == 0 {
		return false
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
	for s, steps := range parts {
		switch r := e.removals.due[s]; {
		case !slices.ContainsFunc(steps, func(p plan.Step) bool { return !done[p] }):
			gone[s]()
			delete(e.removals.due, s)
		case slices.ContainsFunc(steps, func(p plan.Step) bool { return slices.Contains(failed, p) }):
			r.pause = min(r.pause*2, maxRemovalPause)
			r.at = now.Add(r.pause)
		default:
			more = true // a refusal before it ended the batch
		}
	}
	return more
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
