package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/wait"
)

// writers is the number of concurrent writers to the API server.
const writers = 8

// attachment watches what the status of the Gateway says about attachedRoutes.
type attachment struct {
	mu sync.Mutex
	// now is what it says, written counts how often that changed, and changed is when it
	// last did.
	now, written int
	changed      time.Time
	// wrong are values that cannot be: bounds returns the least and the most of the moment.
	wrong  []string
	bounds func() (least, most int)
}

// watchAttached follows the Gateway until the context ends.
func (s *stage) watchAttached(ctx context.Context) (*attachment, error) {
	w, err := s.rig.Client.Watch(ctx, &gatewayv1.GatewayList{}, client.InNamespace(rig.Namespace))
	if err != nil {
		return nil, fmt.Errorf("watch the Gateway: %w", err)
	}
	a := &attachment{now: -1, bounds: func() (int, int) { return 0, 0 }}
	go func() {
		defer w.Stop()
		for e := range w.ResultChan() {
			if g, ok := e.Object.(*gatewayv1.Gateway); ok && e.Type != watch.Deleted {
				a.see(attachedTo(g.Status.Listeners))
			}
		}
	}()
	return a, nil
}

func (a *attachment) see(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n == a.now {
		return
	}
	if least, most := a.bounds(); n < least || n > most {
		a.wrong = append(a.wrong, fmt.Sprintf("%d, with %d to %d routes", n, least, most))
	}
	a.now, a.changed = n, time.Now()
	a.written++
}

// reaches waits until the status says a number, and returns when it came to.
func (a *attachment) reaches(ctx context.Context, n int) (at time.Time, err error) {
	err = wait.Poll{Limit: sampleLimit}.Until(ctx, fmt.Sprintf("attachedRoutes: %d", n), func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		at = a.changed
		return wait.True(a.now == n)
	})
	if err != nil {
		err = fmt.Errorf("%w; it is %d", err, a.now)
	}
	return at, err
}

// within sets the bounds from here on.
func (a *attachment) within(bounds func() (least, most int)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bounds, a.written = bounds, 0
}

// attachedRoutes lets many routes come and go at once. At each look attachedRoutes is no more
// than there are routes whose creation has begun, and no less than those whose deletion has
// not; it only grows, and then only falls.
func (s *stage) attachedRoutes(ctx context.Context) error {
	s.progress("attached: %d routes come and go", s.together)
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := s.watchAttached(within)
	if err != nil {
		return err
	}
	if _, err := a.reaches(ctx, 0); err != nil {
		return err
	}
	var begun atomic.Int64
	highest := 0
	a.within(func() (int, int) { highest = max(highest, a.now); return highest, int(begun.Load()) })
	setup, err := s.attachedIn(ctx, a, s.together, func(ctx context.Context, i int) error {
		begun.Add(1)
		name := fmt.Sprintf("attached%d", i)
		return s.rig.Create(ctx, rig.HTTPRoute(rig.Namespace, name, theGateway, rig.Host(name), rig.PathRule("/", noService)))
	})
	if err != nil {
		return err
	}
	s.report.Require("attached: after the last route came", setup.after.Seconds(), "s", report.AtMost(1), setup.note())
	begun.Store(0)
	lowest := s.together
	a.within(func() (int, int) { lowest = min(lowest, a.now); return s.together - int(begun.Load()), lowest })
	teardown, err := s.attachedIn(ctx, a, 0, func(ctx context.Context, i int) error {
		begun.Add(1)
		return s.rig.Delete(ctx, rig.HTTPRoute(rig.Namespace, fmt.Sprintf("attached%d", i), theGateway, ""))
	})
	if err != nil {
		return err
	}
	s.report.Require("attached: after the last route went", teardown.after.Seconds(), "s", report.AtMost(1), teardown.note())
	s.report.Require("attached: writes of the Gateway's status a second", max(setup.perSecond(), teardown.perSecond()), "", report.AtMost(2), "")
	s.report.Require("attached: wrong looks at attachedRoutes", float64(len(a.wrong)), "", report.AtMost(0), fmt.Sprintf("%q", a.wrong))
	return nil
}

// settled is how the status followed many changes.
type settled struct {
	// lasted is how long the changes took, after how long the status then took.
	lasted, after time.Duration
	writes        int
}

func (t *settled) note() string {
	return fmt.Sprintf("in %.1f s; %d writes", t.lasted.Seconds(), t.writes)
}

// perSecond is less the first write, which nothing has to wait for.
func (t *settled) perSecond() float64 {
	return float64(max(t.writes-1, 0)) / (t.lasted + t.after).Seconds()
}

// attachedIn makes a change for each route, and waits until the status says a number.
func (s *stage) attachedIn(ctx context.Context, a *attachment, n int, change func(context.Context, int) error) (*settled, error) {
	began := time.Now()
	if err := parallel(ctx, s.together, change); err != nil {
		return nil, err
	}
	done := time.Now()
	at, err := a.reaches(ctx, n)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return &settled{lasted: done.Sub(began), after: max(0, at.Sub(done)), writes: a.written}, nil
}

// parallel does something n times, by several writers.
func parallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for w := range writers {
		group.Go(func() error {
			for i := w; i < n; i += writers {
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
