package kube

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/util/workqueue"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// StatusOptions say as whom a StatusWriter writes.
type StatusOptions struct {
	// Watcher gives the newest routes, the router's name and the API server.
	Watcher *Watcher
	// CanonicalHostname is written to the status entry of every route.
	CanonicalHostname string
	// LeaseNamespace holds the Lease that makes one replica the writer. Empty
	// means that there is only one replica, which writes without a Lease.
	LeaseNamespace string
	// Identity names this replica in the Lease; default is the host's name
	// with a random suffix.
	Identity string
	// Log defaults to slog's default logger.
	Log *slog.Logger
}

// Stats are counts since the start of the process.
type Stats struct {
	// Writes are successful writes of a route's status.
	Writes uint64
	// Conflicts are writes that another change overtook; they are repeated.
	Conflicts uint64
	// Errors are writes that failed in another way.
	Errors uint64
	// Events are events that were handed to the API server's client.
	Events uint64
	// Leading reports whether this replica writes.
	Leading bool
	// Queued is the number of routes that wait for a worker.
	Queued int
}

// StatusWriter writes what the router says about routes to their status, and
// only if it differs from what stands there. Of several replicas with the same
// name one writes; the others keep what they would say, ready to take over.
type StatusWriter struct {
	watcher   *Watcher
	canonical string
	namespace string
	identity  string
	lease     leaseTimes
	pace      pace
	log       *limitedLog
	events    *eventWriter
	// term is held while this replica writes, so that two terms never overlap.
	term sync.Mutex

	mu      sync.Mutex
	budget  *eventBudget
	desired map[model.Object]*desired
	ahead   map[model.Object]ahead
	// queue is nil unless this replica writes.
	queue    queue
	settings settingsReport
	policies policyReports
	gateways gatewayReports
	replica  replicaReport
	members  *members
	// heard are what other replicas say, while this one writes.
	heard atomic.Pointer[store[*spoken]]

	writes, conflicts, failures, eventsWritten atomic.Uint64
}

type queue = workqueue.TypedRateLimitingInterface[model.Object]

// desired is what this router says about one route.
type desired struct {
	status verdict
	// urgent is true from a change of status until it has been written.
	urgent bool
	// repaired is when an entry that another program had changed was last put
	// right.
	repaired time.Time
	// paced is what pace counts of its writes.
	paced time.Time
	// judged is true once the findings have been compared with those that
	// events reported, which are in reported.
	judged   bool
	reported []api.Finding
}

// ahead is the answer to a write that the watch has not delivered yet.
type ahead struct {
	// base is the resource version that was overwritten.
	base  string
	route *routev1.Route
}

const (
	statusWorkers = 8
	// repairPause is the shortest time between two repairs of an entry that
	// another program changed; the first one is made at once. It keeps two routers with the same name and different opinions
	// from overwriting each other without end.
	repairPause = time.Minute
)

// NewStatusWriter returns a writer that does nothing until Run is called.
func NewStatusWriter(o StatusOptions) (*StatusWriter, error) {
	if o.Watcher == nil {
		return nil, errors.New("make status writer: no watcher given")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "router"
		}
		o.Identity = host + "_" + string(uuid.NewUUID())
	}
	log := newLimitedLog(o.Log)
	s := &StatusWriter{
		watcher: o.Watcher, canonical: o.CanonicalHostname, namespace: o.LeaseNamespace, identity: o.Identity,
		lease: defaultLeaseTimes, pace: statusPace, log: log, events: newEventWriter(o.Watcher.clients.core, "router-"+o.Watcher.name, log),
		budget:  newEventBudget(),
		desired: map[model.Object]*desired{}, ahead: map[model.Object]ahead{},
		settings: settingsReport{wake: make(chan struct{}, 1)},
		policies: policyReports{desired: map[model.Object]*policyOpinion{}, open: model.Objects{}, lacked: model.Objects{}},
		gateways: newGatewayReports(),
		replica:  replicaReport{wake: make(chan struct{}, 1)},
		members:  newMembers(o.Watcher, o.LeaseNamespace),
	}
	s.policies.ring, s.gateways.ring = s.replica.ring, s.replica.ring
	seen, controllerSeen, policySeen := s.routeSeen, s.settings.ring, s.policies.seen
	o.Watcher.policyEvent.Store(&policySeen)
	gatewaySeen := s.gateways.seen
	o.Watcher.gatewayStatus.Store(&gatewaySeen)
	o.Watcher.routeSeen.Store(&seen)
	o.Watcher.controllerSeen.Store(&controllerSeen)
	return s, nil
}

// Publish takes the newest opinion about some routes. It never blocks.
func (s *StatusWriter) Publish(statuses []model.RouteStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, status := range statuses {
		if isGatewayKind(status.Object.Kind) {
			s.gateways.publish(status)
			continue
		}
		d := s.desired[status.Object]
		v := verdictOf(&status)
		if d == nil || d.status.UID != v.UID {
			d = &desired{}
			s.desired[status.Object] = d
		} else if d.status.equal(&v) {
			continue
		}
		v.Findings = slices.Clone(v.Findings)
		d.status, d.urgent = v, true
		s.enqueue(status.Object)
	}
}

// Forget drops the opinion about routes that were deleted or that no longer
// belong to this router. If such a route still exists, the router's entry is
// removed from its status. It never blocks.
func (s *StatusWriter) Forget(keys []model.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if isGatewayKind(key.Kind) {
			s.gateways.forget(key)
			continue
		}
		delete(s.desired, key)
		s.enqueue(key)
	}
}

// Stats returns the counters. It may be called at any time.
func (s *StatusWriter) Stats() Stats {
	stats := Stats{
		Writes: s.writes.Load(), Conflicts: s.conflicts.Load(), Errors: s.failures.Load(), Events: s.eventsWritten.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue != nil {
		stats.Leading, stats.Queued = true, s.queue.Len()
	}
	return stats
}

// routeSeen looks again at a route whose object changed, in case another program
// overwrote the entry.
func (s *StatusWriter) routeSeen(key model.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.ahead[key]; ok && !a.holds(s.watcher.routes.get(key)) {
		delete(s.ahead, key)
	}
	if s.desired[key] != nil {
		s.enqueue(key)
	}
}

// enqueue asks a worker to look at a route. The caller holds mu.
func (s *StatusWriter) enqueue(key model.Object) {
	if s.queue != nil {
		s.queue.Add(key)
	}
}

// write makes this replica the writer until ctx ends.
func (s *StatusWriter) write(ctx context.Context) {
	s.term.Lock()
	defer s.term.Unlock()
	if ctx.Err() != nil {
		return
	}
	q := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[model.Object](10*time.Millisecond, 15*time.Second))
	s.begin(q)
	var workers sync.WaitGroup
	workers.Go(func() { s.writeSettings(ctx) })
	workers.Go(func() { s.writePolicies(ctx) })
	workers.Go(func() { s.writeGateways(ctx) })
	workers.Go(func() { s.listen(ctx) })
	for range statusWorkers {
		workers.Go(func() {
			for {
				key, end := q.Get()
				if end {
					return
				}
				s.process(ctx, q, key)
				q.Done(key)
			}
		})
	}
	<-ctx.Done()
	s.mu.Lock()
	s.queue = nil
	s.mu.Unlock()
	q.ShutDown()
	workers.Wait()
}

// begin queues the routes of which something is new, and those that carry an entry
// although they do not belong to this router. A queue of all would keep its room for them.
func (s *StatusWriter) begin(q queue) {
	sel := s.watcher.selection.Load()
	var left []model.Object
	s.watcher.routes.each(func(key model.Object, r *routev1.Route) bool {
		if _, has := withoutEntry(r.Status.Ingress, s.watcher.name); has && sel.excludes(r) {
			left = append(left, key)
		}
		return true
	})
	s.mu.Lock()
	s.queue = q
	keys := slices.Collect(maps.Keys(s.desired))
	for _, d := range s.desired {
		d.judged = false
	}
	s.mu.Unlock()
	for _, key := range keys {
		if w, due := s.plan(key); due && (w.differs || w.opinion == nil || len(grave(w.status.Findings)) > 0) {
			q.Add(key)
		}
	}
	for _, key := range left {
		q.Add(key)
	}
}

// verdict is what is said of a Route. There are very many, so it lacks what only objects
// of the Gateway API have.
type verdict struct {
	UID, Host, WildcardPolicy, Message string
	Reason                             api.Reason
	Findings                           []api.Finding
	Admitted                           bool
}

func verdictOf(s *model.RouteStatus) verdict {
	return verdict{
		UID: s.UID, Host: s.Host, WildcardPolicy: s.WildcardPolicy, Message: s.Message,
		Reason: s.Reason, Findings: s.Findings, Admitted: s.Admitted,
	}
}

func (v *verdict) equal(w *verdict) bool {
	return v.UID == w.UID && v.Host == w.Host && v.WildcardPolicy == w.WildcardPolicy && v.Message == w.Message &&
		v.Reason == w.Reason && slices.Equal(v.Findings, w.Findings) && v.Admitted == w.Admitted
}
