package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// refuse lets a route fall back to the last version that HAProxy took. It
// reports false if the route has nothing that could be refused.
func (e *Engine) refuse(key model.Object, message string) bool {
	scope, touched, ok := e.pipeline.Refuse(key, message)
	if !ok {
		return false
	}
	_, served := e.pipeline.Claim(key)
	e.log.Error("HAProxy refuses a route; isolating it", "route", key, "err", message, "lastGoodVersion", served)
	e.take(scope, touched)
	return true
}

// refusalRetry is how often routes that HAProxy refused are tried again: what
// it refused may have been want of something that has passed, such as memory.
const refusalRetry = 10 * time.Minute

// retry lets refused routes try again when it is time.
func (e *Engine) retry() {
	if time.Since(e.retriedAt) < refusalRetry {
		return
	}
	e.retriedAt = time.Now()
	e.take(e.pipeline.Retry())
}

// readEnded has objects read again whose results were for a time that is over.
func (e *Engine) readEnded() {
	if ended := e.pipeline.Ended(time.Now()); len(ended) > 0 {
		e.resolve(door.Changes{Objects: ended})
	}
}

// take notes what may differ from HAProxy, and which routes' status is due.
func (e *Engine) take(scope *plan.Scope, touched model.Objects) {
	e.owners = nil
	e.pending.Add(scope)
	maps.Copy(e.reports, touched)
	if needed, changed := e.pipeline.Needed(); changed {
		e.o.Cluster.Need(needed)
	}
}

// isolate goes on after a refused batch. It reads back what was done, takes
// all steps of routes that are not suspect, and then those of the suspects one
// by one. A route with a step that is refused falls back, and a new plan is made,
// until nothing is refused any more.
func (e *Engine) isolate(refused []plan.Step) error {
	q := quarantine{suspects: model.Objects{}, alone: map[plan.Step]bool{}}
	for inBatch := true; ; {
		if inBatch && !q.suspect(e, refused) {
			q.all = true // no single route is suspect: then all one by one
		}
		live, err := e.haproxy.ReadBack()
		if err != nil {
			return err
		}
		e.live, e.removals = live, newRemovals()
		e.refresh.next = time.Time{} // HAProxy may have taken steps that were not recorded
		e.pending = plan.FullScope(live, e.pipeline.Want())
		p := plan.Diff(live, e.pipeline.Want(), e.pending, e.o.Caps)
		if p.Reload != "" {
			return e.reload(p.Reload)
		}
		e.removals.add(p.Removals, time.Now().Add(removalPause))
		var again bool
		if refused, again, err = e.takeApart(p.Steps, &q); err != nil || !again {
			return err
		}
		inBatch = refused != nil
	}
}

// quarantine is what is known while a refused batch is taken apart.
type quarantine struct {
	// suspects are routes with steps in a batch that was refused.
	suspects model.Objects
	// alone are steps of no single route out of such a batch; true are those
	// that HAProxy refused.
	alone map[plan.Step]bool
	all   bool
}

// suspect notes the steps of a refused batch. It reports false if that is
// nothing new.
func (q *quarantine) suspect(e *Engine, batch []plan.Step) bool {
	before := len(q.suspects) + len(q.alone)
	for _, s := range batch {
		if owner, owned := e.owner(s); owned {
			q.suspects[owner] = struct{}{}
		} else if _, known := q.alone[s]; !known {
			q.alone[s] = false
		}
	}
	return len(q.suspects)+len(q.alone) > before
}

// takeApart takes steps: first all at once that are not suspect, then the
// others one by one. It asks for another turn when a new plan must be made,
// with the steps of the batch that was refused.
func (e *Engine) takeApart(steps []plan.Step, q *quarantine) (refused []plan.Step, again bool, err error) {
	var calm, suspect []plan.Step
	for _, s := range steps {
		owner, _ := e.owner(s)
		_, suspected := q.suspects[owner]
		bad, single := q.alone[s]
		switch {
		case bad:
		case q.all || suspected || single:
			suspect = append(suspect, s)
		default:
			calm = append(calm, s)
		}
	}
	var refusal *haproxy.RefusedError
	if err := e.haproxy.Apply(calm, e.took); errors.As(err, &refusal) {
		return append([]plan.Step{}, refusal.Steps...), true, nil
	} else if err != nil {
		return nil, false, err
	}
	for _, s := range suspect {
		err := e.takeAlone(s, e.took)
		switch {
		case err == nil:
			continue
		case !errors.As(err, &refusal):
			return nil, false, err
		}
		if owner, owned := e.owner(s); owned && e.refuse(owner, refusal.Message) {
			return nil, true, nil
		}
		e.log.Error("HAProxy refused a step of no single route", "step", haproxy.Describe([]plan.Step{s}, 1), "err", err)
		q.alone[s] = true
	}
	return nil, false, nil
}

// takeAlone takes one step. HAProxy may end at any time, so a step without an
// answer counts as refused only if the same process answers before and after it.
func (e *Engine) takeAlone(s plan.Step, done func(plan.Step)) error {
	for again := false; ; again = true {
		err := e.haproxy.Apply([]plan.Step{s}, done)
		refusal, refused := errors.AsType[*haproxy.RefusedError](err)
		if !refused || !refusal.Unanswered || again {
			return err
		}
		info, err := e.haproxy.Info()
		if err != nil {
			return err
		}
		if info.PID != e.pid {
			return fmt.Errorf("%w: process %d has taken the place of %d", haproxy.ErrGone, info.PID, e.pid)
		}
	}
}

// takeEach takes steps one by one, past those that are refused.
func (e *Engine) takeEach(steps []plan.Step, done func(plan.Step)) error {
	var first *haproxy.RefusedError
	for _, s := range steps {
		err := e.takeAlone(s, done)
		refusal, refused := errors.AsType[*haproxy.RefusedError](err)
		switch {
		case err != nil && !refused:
			return err
		case refused && first == nil:
			first = refusal
		case refused:
			first.Steps = append(first.Steps, refusal.Steps...)
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// owner returns the route that a step is for.
func (e *Engine) owner(s plan.Step) (model.Object, bool) {
	if e.owners == nil {
		e.owners = e.pipeline.Owners()
	}
	return e.owners.Of(e.live, s)
}

// blameAfter is how long HAProxy may take to start before it is asked why not.
const blameAfter = 2 * time.Second

// blame reverts each route named in HAProxy's start-up alerts to its last good
// version. It reports whether there was one.
func (e *Engine) blame(messages string) bool {
	found, seen := false, model.Objects{}
	for _, b := range haproxy.Blame(e.o.Layout, messages) {
		owner, owned := e.owner(b.Step)
		if _, again := seen[owner]; owned && !again && e.refuse(owner, b.Message) {
			found = true
		}
		seen[owner] = struct{}{}
	}
	return found
}

// bisect finds the route that keeps HAProxy from starting if its messages do
// not: of the routes that it has not taken yet, the oldest one with which, and
// with all older ones, it does not start. So of several routes that only
// together are refused, the youngest falls back.
func (e *Engine) bisect() bool {
	claims := e.pipeline.Unaccepted()
	if e.o.Binary == "" || len(claims) == 0 {
		return false
	}
	slices.SortFunc(claims, model.ByAge)
	t, err := newTrial(e)
	if err != nil {
		e.log.Error("cannot look for the route that HAProxy refuses", "err", err)
		return false
	}
	defer t.close()
	culprit := -1
	if t.refused(nil) && !t.refused(claims) { // else it is no route's fault
		culprit = sort.Search(len(claims)-1, func(n int) bool { return t.refused(claims[n+1:]) })
	}
	if t.err != nil {
		e.log.Error("cannot look for the route that HAProxy refuses", "err", t.err)
	}
	if t.err != nil || culprit < 0 {
		return false
	}
	return e.refuse(claims[culprit].Owner, t.messages[culprit])
}

// trial asks HAProxy about files in a directory of their own.
type trial struct {
	engine *Engine
	layout render.Layout
	base   render.Base
	files  *haproxy.Files
	total  int
	// messages are HAProxy's words by the number of the youngest claim tried.
	messages map[int]string
	err      error
}

func newTrial(e *Engine) (*trial, error) {
	t := &trial{engine: e, layout: render.Layout{Dir: filepath.Join(e.o.Layout.Dir, "trial")}, messages: map[int]string{}}
	var err error
	if t.base, err = render.Skeleton(e.skeleton.target.settings, t.layout, e.o.Caps); err != nil {
		return nil, err
	}
	t.files, err = haproxy.NewFiles(t.layout, e.o.Caps)
	t.total = len(e.pipeline.Unaccepted())
	return t, err
}

func (t *trial) close() {
	if err := t.files.Remove(); err != nil {
		t.engine.log.Error("cannot clean up", "err", err)
	}
}

// refused reports whether HAProxy refuses the wanted state without some claims.
func (t *trial) refused(without []*model.Claim) bool {
	if t.err != nil {
		return false
	}
	if t.err = t.files.Write(t.base, t.engine.pipeline.Without(without)); t.err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), goneLimit)
	defer cancel()
	messages, err := haproxy.Check(ctx, t.engine.o.Binary, t.layout)
	t.err = err
	t.messages[t.total-len(without)-1] = haproxy.FirstAlert(messages)
	return messages != ""
}

// blameFiles finds out why HAProxy does not start, and writes files without
// what keeps it from starting.
func (e *Engine) blameFiles() {
	if e.o.Binary == "" || time.Since(e.blamedAt) < blameAfter {
		return
	}
	e.blamedAt = time.Now()
	for range maxBlames {
		ctx, cancel := context.WithTimeout(context.Background(), goneLimit)
		messages, err := haproxy.Check(ctx, e.o.Binary, e.o.Layout)
		cancel()
		if err != nil {
			e.log.Error("cannot ask HAProxy why it does not start", "err", err)
			return
		}
		if messages == "" {
			return
		}
		fallen := e.blame(messages) || e.bisect()
		if !fallen {
			e.log.Error("HAProxy refuses its files for no route's sake; taking the router-wide settings out until they are changed", "fields", e.skeleton.reason())
			if err := e.fallBack(""); err != nil {
				e.log.Error("cannot render the plain settings", "err", err)
				return
			}
		}
		if err := e.writeFiles(); err != nil {
			e.log.Error("cannot write HAProxy's files", "err", err)
			return
		}
		e.noteLastGood()
		e.saveLastGood()
		e.goneSince = time.Now()
		if !fallen {
			return
		}
	}
}
