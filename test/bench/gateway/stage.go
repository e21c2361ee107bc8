package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/wait"
)

// theGateway has a listener for all hosts at port 80.
const (
	theGateway = "gw"
	listener   = "http"
)

// stage is an API server and a router that serves a Gateway.
type stage struct {
	*bench
	rig     *rig.Rig
	router  *rig.Router
	haproxy int
	// slot is where HAProxy listens for port 80 of the Gateway.
	slot int
}

// stage measures parts on an API server and a router of their own.
func (b *bench) stage(ctx context.Context, name string, parts []part) error {
	b.progress("starting etcd and kube-apiserver")
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	r, err := rig.Start(ctx, dir, "haproxy")
	if err != nil {
		return err
	}
	s := &stage{bench: b, rig: r}
	if err = s.start(ctx); err == nil {
		err = s.run(ctx, parts)
	}
	return errors.Join(err, r.Stop())
}

// start starts a router that serves the Gateway.
func (s *stage) start(ctx context.Context) error {
	if err := errors.Join(s.rig.UseLightPods(), s.rig.UseGateways(ctx), s.rig.Create(ctx, rig.Settings())); err != nil {
		return err
	}
	slots, err := s.addGateway(ctx, rig.Gateway(theGateway, rig.Listener(listener, 80, "")))
	if err != nil {
		return err
	}
	s.slot = slots[80]
	if s.router, err = s.rig.StartRouter("router"); err != nil {
		return err
	}
	if err := s.router.WaitReady(ctx, 3*time.Minute); err != nil {
		return err
	}
	_, haproxy := s.router.Usage()
	s.haproxy = haproxy.PID
	return nil
}

// addGateway creates a Gateway and gives it slots, also for listeners of ListenerSets.
func (s *stage) addGateway(ctx context.Context, g *gatewayv1.Gateway, further ...gatewayv1.Listener) (map[int32]int, error) {
	if err := s.rig.Create(ctx, g); err != nil {
		return nil, err
	}
	return s.rig.GiveSlots(ctx, g, further...)
}

func (s *stage) run(ctx context.Context, parts []part) error {
	for _, p := range parts {
		before, err := s.router.Metrics()
		if err != nil {
			return err
		}
		if err := p.measure(s, ctx); err != nil {
			return fmt.Errorf("%s: %w\n%s", p.name, err, s.router.LogEnd())
		}
		after, err := s.router.Metrics()
		if err != nil {
			return err
		}
		s.report.Require(p.name+": reloads", reloads(after)-reloads(before), "", report.AtMost(0), "")
		s.report.Require(p.name+": refused or failed status writes", failures(after)-failures(before), "", report.AtMost(0),
			fmt.Sprintf("%.0f written, %.0f conflicts", after[statusWrites]-before[statusWrites], after[statusConflicts]-before[statusConflicts]))
	}
	return nil
}

// Metrics of the router.
const (
	servedRoutes    = `fairlead_router_routes{state="served"}`
	statusWrites    = "fairlead_router_status_writes_total"
	statusConflicts = "fairlead_router_status_conflicts_total"
)

func reloads(m map[string]float64) float64 { return rig.Sum(m, "fairlead_router_reloads_total") }

func failures(m map[string]float64) float64 { return m["fairlead_router_status_errors_total"] }

// until waits until the router's metrics are as they should be.
func (s *stage) until(ctx context.Context, what string, so func(map[string]float64) bool) error {
	return wait.Poll{Limit: wait.NoLimit, Every: 50 * time.Millisecond}.Until(ctx, what, func() error {
		m, err := s.router.Metrics()
		if err == nil {
			err = wait.True(so(m))
		}
		return err
	})
}

// served waits until the router serves so many routes.
func (s *stage) served(ctx context.Context, routes int) error {
	return s.until(ctx, fmt.Sprintf("%d routes served", routes), func(m map[string]float64) bool { return m[servedRoutes] == float64(routes) })
}

// service creates a Service with one pod in a namespace.
func (s *stage) service(ctx context.Context, namespace, name, address string) error {
	svc, slice := rig.Service(name, address)
	svc.Namespace, slice.Namespace = namespace, namespace
	return s.rig.Create(ctx, svc, slice)
}

// attached returns the attachedRoutes of the Gateway's listener as they stand in its status.
func (s *stage) attached(ctx context.Context) (int, error) {
	g := &gatewayv1.Gateway{}
	if err := s.rig.Client.Get(ctx, client.ObjectKey{Namespace: rig.Namespace, Name: theGateway}, g); err != nil {
		return 0, fmt.Errorf("read the Gateway: %w", err)
	}
	return attachedTo(g.Status.Listeners), nil
}

// attachedTo sums up the attachedRoutes of listeners, and returns -1 if no status was written.
func attachedTo(listeners []gatewayv1.ListenerStatus) int {
	if len(listeners) == 0 {
		return -1
	}
	sum := 0
	for _, l := range listeners {
		sum += int(l.AttachedRoutes)
	}
	return sum
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
