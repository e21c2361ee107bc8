// Package engine is the router's control loop: it brings what package pipeline wants
// to HAProxy, and says what became of it.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/statefile"
)

const (
	// removalPause lets requests that are on their way arrive before what
	// they go to is taken away.
	removalPause = time.Second
	// maxRemovalPause bounds the time between tries to remove what long
	// connections still use: each is a millisecond of HAProxy, and there may be hundreds.
	maxRemovalPause = 2 * time.Minute
	// retryPause is the time between looks for a HAProxy that does not answer,
	// which at a start is there soon.
	retryPause = 20 * time.Millisecond
	// goneLimit is how long HAProxy may be gone before the router takes the
	// routes out of the files, because one of them may be the reason. They come back
	// one by one over the runtime socket.
	goneLimit = 15 * time.Second
)

// Engine applies the pipeline's wanted state to HAProxy. One goroutine owns it.
type Engine struct {
	o        Options
	log      *slog.Logger
	pipeline *pipeline.Pipeline
	haproxy  HAProxy
	agent    agentLink

	skeleton *skeletonState

	live *plan.State
	// taken are steps that HAProxy has taken and that are not recorded yet.
	taken []plan.Step
	// driftAt is when live was last compared with HAProxy itself.
	driftAt time.Time
	// digest is HAProxy's as of that time. It is worth something while compared
	// is true: all was read then, was as it should be though it told other facts,
	// and live is as it was.
	digest   uint64
	compared bool
	// repaired are the steps of the last repair, until a look finds nothing to
	// put right. If alone is true, the next steps are taken one by one.
	repaired map[plan.Step]struct{}
	alone    bool
	// appliedAt is when HAProxy was last changed.
	appliedAt time.Time
	// expected is what a HAProxy has that starts from the first files, until one is read back.
	expected *expectation
	// pid is the worker that live describes, seen last at seenAt; 0 if none
	// is known.
	pid    int
	seenAt time.Time
	watch  watch
	// seen counts the processes that were read back.
	seen int
	// turns are changes that are not taken in yet, turn is the one under way.
	turns *turns
	turn  struct {
		routes int
		began  time.Time
	}
	// owners are the pipeline's of now, or nil if nothing asked for them.
	owners plan.Owners
	// pending is what may differ between live and want.
	pending *plan.Scope
	// reports are routes whose status is due once pending is applied.
	reports  model.Objects
	removals *removals
	// policiesNext is when policies may be reported on again.
	policiesNext time.Time
	policies     policyClock
	// retriedAt is when refused routes were last tried again.
	retriedAt time.Time
	// lastGood are the routes that are not served as they are now.
	lastGood lastGood

	// goneSince is when HAProxy stopped answering, or zero.
	goneSince time.Time
	blamedAt  time.Time
	// bare is true if the files have no routes because HAProxy did not start.
	bare      bool
	complaint string

	refresh refresh
	// filesFailing is true while HAProxy's files cannot be written.
	filesFailing bool
	// reloadedAt is when HAProxy was last reloaded.
	reloadedAt time.Time
	old        oldWorkers
	ready      readiness
	reported   atomic.Bool
	startup    startup
	sources    refusedSources
	answers    answers
	census     *census
	changes    liveClock
	errors     errorLooks
}

// New prepares the work directory and the first wanted state.
func New(o Options) (*Engine, error) {
	if o.DriftCheck == 0 {
		o.DriftCheck = DefaultDriftCheck
	}
	if o.ReloadPause == 0 {
		o.ReloadPause = defaultReloadPause
	}
	if o.FilesFailed == nil {
		o.FilesFailed = func(*api.Finding) {}
	}
	if o.State == nil {
		o.State = &statefile.Store{Dir: o.Layout.StateDir(), Log: o.Log, Discarded: o.Metrics.StateDiscarded, Failed: o.Metrics.WriteFailed}
	}
	if o.HAProxy == nil {
		p, err := newProcess(o.Layout, o.Caps)
		if err != nil {
			return nil, err
		}
		o.HAProxy = p
		if err := countersOf(o); err != nil {
			return nil, err
		}
	}
	if o.Counters != nil {
		o.Metrics.traffic.start(o.Counters, o.Counters)
	}
	key := podKey(o.State, o.Log)
	given := o.Settings
	o.Settings = func() settings.Settings { return completed(given(), o.Caps, key) }
	first := o.Settings()
	skeleton, err := newSkeleton(first.Render, o.Layout, o.Caps)
	if err != nil {
		return nil, err
	}
	skeleton.refusedSink = o.SettingsRefused
	e := &Engine{
		o: o, log: o.Log, haproxy: o.HAProxy, skeleton: skeleton,
		pipeline: pipeline.New(o.Doors, o.Cluster, first.Ingest, o.Certificate),
		live:     plan.NewState(), turns: newTurns(o.Caps), pending: plan.NewScope(), reports: model.Objects{}, census: newCensus(),
		removals: newRemovals(), lastGood: newLastGood(), retriedAt: time.Now(), startup: startup{since: time.Now()},
	}
	e.recallLastGood()
	return e, nil
}

// Run serves until the context ends. The cluster must have delivered its first
// state before.
func (e *Engine) Run(ctx context.Context) error {
	e.takeFirstState(ctx)
	if err := e.attach(); err != nil {
		return err
	}
	e.startup.end("files")
	for {
		wait := e.sync()
		e.endTurn()
		if !e.waitForWork(ctx, wait) {
			e.finish()
			return nil
		}
		e.beginTurn()
	}
}

// waitForWork waits until something has changed or is due, at most so long, and
// takes it in. It reports false if the context has ended.
func (e *Engine) waitForWork(ctx context.Context, wait time.Duration) bool {
	if next, due := e.turns.due(time.Now()); due && e.pid != 0 {
		wait = min(wait, next)
	}
	for _, of := range []func(time.Time) (time.Duration, bool){e.lookDue, e.agentDue, e.errorsDue, e.policiesDue, e.lastGoodDue} {
		if next, due := of(time.Now()); due {
			wait = min(wait, next)
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-e.watch.ended:
		e.watch.ended, e.seenAt = nil, time.Time{}
	case err := <-e.refresh.running:
		e.refreshed(err)
	case r := <-e.agent.running:
		e.agentAnswered(r)
	case r := <-e.probed():
		e.take(e.pipeline.TakeProbes(r), nil)
	case r := <-e.fetched():
		e.resolve(e.pipeline.TakeFetches(r))
	case <-e.o.Cluster.Wake():
		e.resolve(e.o.Cluster.Take())
	case c := <-e.o.Certificates:
		e.pending.Add(e.pipeline.SetDefaultCertificate(c))
	case <-e.o.SettingsChanged:
		e.update(door.Changes{All: true})
	case <-timer.C:
		// What came meanwhile shares the next turn.
		e.resolve(e.o.Cluster.Take())
	}
	return true
}

// resolve lets the routes that a change concerns wait for their turn.
func (e *Engine) resolve(ch door.Changes) {
	e.policies.seen(ch, time.Now())
	routes := e.pipeline.Resolve(ch)
	e.changes.seen(routes, time.Now())
	e.turns.add(routes)
}

// update takes changes into the wanted state.
func (e *Engine) update(ch door.Changes) {
	if ch.Empty() {
		return
	}
	began := time.Now()
	e.pipeline.SetTime(began)
	if ch.All {
		s := e.o.Settings()
		e.setSettings(s.Render)
		e.pipeline.SetSettings(s.Ingest)
		e.o.Metrics.traffic.setBudget(s.Series)
		e.o.Metrics.traffic.setSample(s.Render.Sample)
	}
	e.pipeline.LackPorts(e.skeleton.lacksPorts())
	e.take(e.pipeline.Update(ch))
	e.o.Metrics.observeUpdate(time.Since(began))
}

// sync makes HAProxy like the wanted state, and returns when to look again.
func (e *Engine) sync() time.Duration {
	if err := e.identify(); err != nil {
		return e.failed(err, retryPause)
	}
	e.retry()
	e.readEnded()
	e.tellAgent()
	e.tellProber()
	e.tellFetcher()
	e.tellMeasures()
	e.countErrors()
	e.removals.overtake(e.pending, e.pipeline.Want())
	p := plan.Diff(e.live, e.pipeline.Want(), e.pending, e.o.Caps)
	if p.Reload != "" {
		if wait := e.reloadWait(); wait > 0 {
			return wait
		}
		if err := e.reload(p.Reload); err != nil {
			return e.failed(err, e.o.ReloadPause)
		}
	} else if err := e.apply(p); err != nil {
		return e.failed(err, 100*time.Millisecond)
	}
	e.live.Share(e.pipeline.Want(), e.pending)
	e.pending = plan.NewScope()
	e.ready.set(true)
	e.started()
	e.goneSince, e.bare, e.complaint = time.Time{}, false, ""
	e.report()
	e.reported.Store(true)
	e.o.Metrics.observeLive(e.changes.live(e.turns.waits, time.Now()))
	e.reportPolicies()
	if e.turns.count() == 0 {
		e.o.Metrics.observePolicies(e.policies.live(time.Now()))
	}
	e.saveLastGood()
	e.lookAtSources()
	e.countAnswers()
	e.refreshFiles()
	return e.remove()
}

// failed returns when to look again after an error. One of files says nothing
// against the process, which serves on.
func (e *Engine) failed(err error, pause time.Duration) time.Duration {
	if isFilesError(err) {
		return filesPause
	}
	e.lost(err)
	return pause
}

// lost forgets what was known about the process.
func (e *Engine) lost(err error) {
	switch {
	case e.complaint == err.Error():
	case errors.Is(err, haproxy.ErrGone) && e.pid == 0 && e.complaint == "":
		e.complaint = err.Error()
		e.log.Info("waiting for HAProxy to start")
	default:
		e.complaint = err.Error()
		e.log.Error("cannot bring HAProxy up to date, trying again", "err", err)
	}
	e.pid = 0
	e.ready.set(false)
	switch {
	case !errors.Is(err, haproxy.ErrGone):
		e.goneSince = time.Time{}
	case e.filesFailing: // which is why, and no route's fault
		e.refreshFiles()
	case e.goneSince.IsZero():
		e.goneSince = time.Now()
	case e.haproxy.Starting(): // which takes its time where there are many routes
	case time.Since(e.goneSince) > goneLimit:
		e.startBare()
	case time.Since(e.goneSince) > blameAfter && !e.bare:
		e.blameFiles()
	}
}

// apply takes the steps of a plan. A refused step does not stop those of
// other routes.
func (e *Engine) apply(p plan.Plan) error {
	if p.Empty() {
		return nil
	}
	defer e.record()
	began := time.Now()
	e.refresh.due, e.compared, e.appliedAt = true, false, began
	e.removals.add(p.Removals, began.Add(removalPause))
	// While routes are missing, they go before running traffic.
	e.haproxy.Pace(e.Ready(), e.skeleton.target.settings.BufferBytes)
	take := e.haproxy.Apply
	if e.alone {
		e.alone, take = false, e.takeEach
		e.log.Error("the last repair of HAProxy did not last; taking the steps one by one", "changes", haproxy.Describe(p.Steps, 5), "steps", len(p.Steps))
	}
	err := take(p.Steps, e.took)
	if refusal, refused := errors.AsType[*haproxy.RefusedError](err); refused {
		e.log.Error("HAProxy refused a change; isolating it", "err", err)
		err = e.isolate(refusal.Steps)
	}
	if err != nil {
		return err
	}
	e.o.Metrics.observeApply(time.Since(began), len(p.Steps))
	return nil
}
