package kube

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

const (
	gatewayWorkers = 4
	// gatewayWritePause is the shortest time between two writes of one Gateway: how many
	// routes are attached changes with each of them.
	gatewayWritePause = 500 * time.Millisecond
)

// gatewayReports are what this router says about objects of the Gateway API.
type gatewayReports struct {
	mu      sync.Mutex
	desired map[model.Object]*gatewayOpinion
	// attached counts the routes of each listener, and sets the ListenerSets of each Gateway.
	attached map[listenerName]int32
	sets     map[model.Object]int32
	// routesOf are the routes to the Services of each BackendTLSPolicy.
	routesOf map[model.Object]model.Objects
	// queue is nil unless this replica writes, and began is when it began to.
	queue queue
	began time.Time
	// open are Gateways and ListenerSets whose status may not say yet what this replica has to
	// say of it, lacked those of which some replica lacked a listener when they were last
	// looked at.
	open, lacked model.Objects
	// ring has this replica look at what is open.
	ring func()
}

// listenerName is a listener of a Gateway or ListenerSet.
type listenerName struct {
	owner model.Object
	name  string
}

type gatewayOpinion struct {
	status model.RouteStatus
	// listeners are those that a route is attached to, each once.
	listeners []listenerName
	// urgent is true from a change of the opinion, or of what uses the object, until it has been
	// written, and changes counts these.
	urgent  bool
	changes int
	written time.Time
	// since is when the opinion was made.
	since time.Time
	// paced is what StatusWriter.pace counts of its writes.
	paced time.Time
	// judged is true once the findings have been compared with what the status says, and
	// reported are those of which there was an event.
	judged   bool
	reported []api.Finding
}

func newGatewayReports() gatewayReports {
	return gatewayReports{desired: map[model.Object]*gatewayOpinion{}, attached: map[listenerName]int32{}, sets: map[model.Object]int32{}, routesOf: map[model.Object]model.Objects{}, open: model.Objects{}, lacked: model.Objects{}}
}

// isGatewayKind reports whether an object is one of the Gateway API.
func isGatewayKind(k model.Kind) bool {
	_, is := gatewayResources[k]
	return is
}

// publish takes the newest opinion about an object.
func (g *gatewayReports) publish(status model.RouteStatus) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.desired[status.Object]
	switch {
	case o == nil:
		o = &gatewayOpinion{}
		g.desired[status.Object] = o
	case o.status.UID != status.UID:
		g.count(o, nil)
		g.countSet(&o.status, &model.RouteStatus{})
		g.useTLSPolicies(status.Object, &o.status, &model.RouteStatus{})
		*o = gatewayOpinion{changes: o.changes}
	case sameGatewayStatus(&o.status, &status):
		return
	}
	status.Findings = slices.Clone(status.Findings)
	g.countSet(&o.status, &status)
	g.useTLSPolicies(status.Object, &o.status, &status)
	o.status, o.since = status, time.Now()
	o.changed()
	g.count(o, status.Parents)
	g.enqueue(status.Object)
	g.reopen(status.Object)
}

// changed notes that there is something to write.
func (o *gatewayOpinion) changed() { o.urgent, o.changes = true, o.changes+1 }

// wrote notes that all is written as of so many changes.
func (o *gatewayOpinion) wrote(changes int) {
	if o.changes == changes {
		o.urgent = false
	}
}

func sameGatewayStatus(a, b *model.RouteStatus) bool {
	return a.Generation == b.Generation && a.AttachedTo == b.AttachedTo && slices.Equal(a.TLSPolicies, b.TLSPolicies) && slices.Equal(a.Conditions, b.Conditions) && slices.Equal(a.Findings, b.Findings) &&
		slices.EqualFunc(a.Parents, b.Parents, func(x, y model.ParentStatus) bool { return x.Equal(&y) }) &&
		slices.EqualFunc(a.Listeners, b.Listeners, func(x, y model.ListenerStatus) bool { return x.Equal(&y) })
}

// count replaces the listeners that a route is attached to. The caller holds mu.
func (g *gatewayReports) count(o *gatewayOpinion, parents []model.ParentStatus) {
	var now []listenerName
	for _, p := range parents {
		for _, l := range p.Listeners {
			if name := (listenerName{p.Parent, l}); !slices.Contains(now, name) {
				now = append(now, name)
			}
		}
	}
	for _, l := range o.listeners {
		if g.attached[l]--; g.attached[l] == 0 {
			delete(g.attached, l)
		}
		if !slices.Contains(now, l) {
			g.enqueue(l.owner)
		}
	}
	for _, l := range now {
		g.attached[l]++
		if !slices.Contains(o.listeners, l) {
			g.enqueue(l.owner)
		}
	}
	o.listeners = now
}

// countSet counts a ListenerSet for the Gateway that has accepted it, not for the one before.
// The caller holds mu.
func (g *gatewayReports) countSet(before, now *model.RouteStatus) {
	if before.AttachedTo == now.AttachedTo {
		return
	}
	for of, n := range map[model.Object]int32{before.AttachedTo: -1, now.AttachedTo: 1} {
		if of == (model.Object{}) {
			continue
		}
		if g.sets[of] += n; g.sets[of] == 0 {
			delete(g.sets, of)
		}
		g.enqueue(of)
	}
}

// forget drops the opinion about an object that was deleted or is not the router's any
// more.
func (g *gatewayReports) forget(key model.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.desired[key]; o != nil {
		g.count(o, nil)
		g.countSet(&o.status, &model.RouteStatus{})
		g.useTLSPolicies(key, &o.status, &model.RouteStatus{})
		delete(g.desired, key)
	}
	g.enqueue(key)
}

// seen looks again at an object that changed.
func (g *gatewayReports) seen(key model.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enqueue(key)
	g.reopen(key)
}

// enqueue asks a worker to look at an object. The caller holds mu.
func (g *gatewayReports) enqueue(key model.Object) {
	if g.queue != nil {
		g.queue.Add(key)
	}
}

// writeGateways keeps the statuses until ctx ends.
func (s *StatusWriter) writeGateways(ctx context.Context) {
	q := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[model.Object](10*time.Millisecond, 15*time.Second))
	g := &s.gateways
	g.mu.Lock()
	g.queue, g.began = q, time.Now()
	for key, o := range g.desired {
		o.judged = false
		q.Add(key)
	}
	g.mu.Unlock()
	var workers sync.WaitGroup
	for range gatewayWorkers {
		workers.Go(func() {
			for {
				key, end := q.Get()
				if end {
					return
				}
				s.processGateway(ctx, q, key)
				q.Done(key)
			}
		})
	}
	<-ctx.Done()
	g.mu.Lock()
	g.queue = nil
	g.mu.Unlock()
	q.ShutDown()
	workers.Wait()
}
