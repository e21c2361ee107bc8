package engine

import (
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
)

// DefaultDriftCheck is how often HAProxy is read back in full to find what
// another program has changed in it.
const DefaultDriftCheck = 45 * time.Second

// A look at all of HAProxy keeps its thread from traffic as changes do. So it
// waits until nothing has changed for a while, but not for long: both are
// shares of the time between two looks.
const (
	calmShare     = 20
	maxDelayShare = 4
)

// repairDrift compares what HAProxy has with what the engine believes it has,
// and plans to revert each difference. Mostly there is none: then the digests of
// both are the same. Otherwise all of HAProxy's state is read, which takes most of a
// second of the router's time at 10,000 routes.
func (e *Engine) repairDrift() error {
	overdue := time.Since(e.driftAt) - e.o.DriftCheck
	calm := time.Since(e.appliedAt) >= e.o.DriftCheck/calmShare
	if overdue < 0 || !calm && overdue < e.o.DriftCheck/maxDelayShare {
		return nil
	}
	e.driftAt = time.Now()
	digest, err := e.haproxy.Digest(e.live, haproxy.Everything)
	if err != nil {
		return err
	}
	// What was found once is not computed again while nothing changes.
	if e.compared && digest == e.digest || digest == e.haproxy.Expect(e.live, haproxy.Everything) {
		e.digest, e.compared, e.repaired = digest, true, nil
		return nil
	}
	e.o.Metrics.readBacks.Inc()
	found, err := e.haproxy.ReadBack()
	if err != nil {
		return err
	}
	found.Recall(e.live)
	if err := e.haproxy.Inspect(found, e.live); err != nil {
		return err
	}
	p := plan.Diff(found, e.live, plan.FullScope(found, e.live), e.o.Caps)
	e.distrust(p.Steps)
	if p.Empty() {
		e.digest, e.compared = digest, true
		return nil
	}
	e.o.Metrics.drift.Add(float64(max(len(p.Steps)+len(p.Removals), 1)))
	e.log.Error("another program changed HAProxy through its socket; reverting it", "changes", haproxy.Describe(p.Steps, 5), "steps", len(p.Steps), "leftovers", len(p.Removals))
	e.live, e.compared = found, false
	e.removals = newRemovals()
	e.pending = plan.FullScope(found, e.pipeline.Want())
	found.Share(e.pipeline.Want(), e.pending)
	return nil
}

// distrust notes the steps of a repair. If the last repair had one of them, too,
// they went together and did not do what they should. Then each goes alone, so
// that what is wrong with one of them harms no other.
func (e *Engine) distrust(steps []plan.Step) {
	before := e.repaired
	e.repaired = make(map[plan.Step]struct{}, len(steps))
	for _, s := range steps {
		if _, again := before[s]; again {
			e.alone = true
		}
		e.repaired[s] = struct{}{}
	}
}

// expectation is what a process has that starts from the files with a mark.
type expectation struct {
	state *plan.State
	mark  string
}

// expect notes what a process will have that starts from the files as they are. What changes
// from here on is pending.
func (e *Engine) expect() {
	e.expected = &expectation{e.pipeline.Want().Clone(), e.haproxy.Mark()}
	e.pending = plan.NewScope()
}

// readBack learns what the process has. One that has the mark of the first files has what
// these say, and serves at once; the next look reads it all the same. Of another one the
// digest tells whether it has all that is wanted; else everything is read and compared.
func (e *Engine) readBack(pid int) error {
	began := time.Now()
	live, pending, err := e.asExpected()
	marked := live != nil
	if err == nil && !marked {
		live, pending, err = e.asWanted()
	}
	if err != nil {
		return err
	}
	same := live != nil
	if same {
		// Of all names this is the one that does not stand for a content.
		live.Certs[plan.DefaultCertID], pending.Certs[plan.DefaultCertID] = "", struct{}{}
	} else if live, pending, err = e.readAll(); err != nil {
		return err
	}
	e.live, e.pid, e.driftAt, e.compared = live, pid, time.Now(), false
	e.seen++
	if marked {
		e.driftAt = time.Time{}
		e.o.Metrics.traffic.started(pid)
	} else {
		e.readTraffic()
	}
	e.removals, e.pending, e.expected = newRemovals(), pending, nil
	e.log.Info("read HAProxy's state back", "pid", pid, "backends", len(live.Backends), "asWanted", same, "dur", time.Since(began).Round(time.Millisecond))
	return nil
}

// asExpected returns what a process has that started from the first files, and what may have
// changed since, or nil for another one.
func (e *Engine) asExpected() (*plan.State, *plan.Scope, error) {
	if e.expected == nil {
		return nil, nil, nil
	}
	mark, err := e.haproxy.StartedFrom()
	if err != nil || mark == "" || mark != e.expected.mark {
		return nil, nil, err
	}
	return e.expected.state, e.pending, nil
}

// asWanted returns what is wanted if the process has it, and else nil.
func (e *Engine) asWanted() (*plan.State, *plan.Scope, error) {
	want := e.pipeline.Want()
	digest, err := e.haproxy.Digest(want, haproxy.Routes)
	if err != nil || digest != e.haproxy.Expect(want, haproxy.Routes) {
		return nil, nil, err
	}
	return want.Clone(), plan.NewScope(), nil
}

// readAll reads all that the process has, and returns what is to be compared.
func (e *Engine) readAll() (*plan.State, *plan.Scope, error) {
	e.o.Metrics.readBacks.Inc()
	live, err := e.haproxy.ReadBack()
	if err != nil {
		return nil, nil, err
	}
	if e.seen == 0 {
		e.pipeline.AdoptProbes(live)
	}
	want := e.pipeline.Want()
	pending := plan.FullScope(live, want) // in this order its names are those of want
	live.Share(want, pending)
	return live, pending, nil
}
