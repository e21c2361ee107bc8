package engine

import (
	"errors"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
)

// removalSlice bounds how long removals keep changes waiting, removalRest how soon
// more of them follow.
const removalSlice, removalRest = 5 * time.Millisecond, restShare * 5 * time.Millisecond

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
	began, next := time.Now(), processCheck
	if wait, due := e.refresh.in(began); due {
		next = min(next, wait)
	}
	defer e.record()
	kept := e.removals.order[:0]
	for _, s := range e.removals.order {
		r := e.removals.due[s]
		wait := r.at.Sub(began)
		switch {
		case wait > 0:
			next = min(next, wait)
		case time.Since(began) > removalSlice:
			next = min(next, removalRest)
		case e.tryRemove(s):
			delete(e.removals.due, s)
			continue
		default:
			r.pause = min(r.pause*2, maxRemovalPause)
			r.at = began.Add(r.pause)
		}
		kept = append(kept, s)
	}
	clear(e.removals.order[len(kept):])
	e.removals.order = kept
	if len(kept) == 0 {
		clear(e.removals.policies)
	}
	return next
}

// tryRemove reports whether a removal is done or no longer wanted. While
// connections last HAProxy refuses it, which costs nothing.
func (e *Engine) tryRemove(s plan.Step) bool {
	if e.wanted(s) {
		return true
	}
	e.refresh.due, e.compared = true, false
	gone := e.o.Metrics.traffic.countLast(s)
	for _, step := range plan.Removal(e.live, s) {
		err := e.haproxy.Apply([]plan.Step{step}, e.took)
		if err == nil {
			continue
		}
		if del, ok := step.(plan.ServerDel); ok {
			e.live.Apply(plan.ServerDrain(del)) // it is in maintenance by now
		}
		if _, refused := errors.AsType[*haproxy.RefusedError](err); !refused {
			e.log.Error("cannot remove from HAProxy, trying again", "err", err)
		}
		return false
	}
	gone()
	return true
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
			_, ok := b.Servers[s.Name]
			return ok
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
