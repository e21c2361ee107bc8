package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// writers is the number of concurrent writers to the API server.
const writers = 8

// addMany creates routes with their Services.
func (b *bench) addMany(ctx context.Context, prefix string, n int) error {
	var made atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for w := range writers {
		group.Go(func() error {
			for i := w; i < n; i += writers {
				if err := b.addOne(ctx, fmt.Sprintf("%s%d", prefix, i), i); err != nil {
					return err
				}
				if done := made.Add(1); done%1000 == 0 {
					b.progress("%d of %d routes created", done, n)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// addOne creates a route with its Service; every second one brings its own
// certificate.
func (b *bench) addOne(ctx context.Context, name string, i int) error {
	if err := b.rig.CreateService(ctx, name, rig.Address(i)); err != nil {
		return err
	}
	route := rig.Route(name)
	if i%2 == 1 {
		if _, err := b.rig.WithCertificate(route); err != nil {
			return err
		}
	}
	return b.rig.Create(ctx, route)
}

// served waits until the router serves that many routes and has written their
// status.
func (b *bench) served(ctx context.Context, routes, writes float64) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		m, err := b.router.Metrics()
		if err == nil && m[`fairlead_router_routes{state="served"}`] >= routes && m["fairlead_router_status_writes_total"] >= writes {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %v routes: %w\n%s", routes, ctx.Err(), b.router.LogEnd())
		case <-tick.C:
		}
	}
}

// known returns how many routes the router serves.
func (b *bench) known() (float64, error) {
	m, err := b.router.Metrics()
	return m[`fairlead_router_routes{state="served"}`], err
}

// fill adds the routes of the second half while the router runs.
func (b *bench) fill(ctx context.Context) error {
	b.progress("creating %d routes, half with their own certificate", b.routes)
	routes, err := b.known()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.addMany(ctx, "fill", b.routes); err != nil {
		return err
	}
	b.report.figure("creating the routes", time.Since(began).Seconds(), "s", "the API server's speed; the router follows live")
	if err := b.served(ctx, routes+float64(b.routes), 0); err != nil {
		return err
	}
	b.report.figure("all served", time.Since(began).Seconds(), "s", "")
	b.progress("served; waiting for every status")
	// The samples' routes have a status, too, less those deleted before.
	if err := b.served(ctx, 0, float64(b.routes)); err != nil {
		return err
	}
	b.memory("")
	return nil
}

func (b *bench) memory(note string) {
	router, haproxy := b.router.Memory()
	b.report.figure("router memory"+note, float64(router)/(1<<20), "MiB", "resident")
	b.report.figure("HAProxy memory"+note, float64(haproxy)/(1<<20), "MiB", "resident")
}

// burstOf creates many routes at once.
func (b *bench) burstOf(ctx context.Context) error {
	b.progress("burst of %d routes", b.burst)
	routes, err := b.known()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.addMany(ctx, "burst", b.burst); err != nil {
		return err
	}
	created := time.Now()
	// Each writer's last route, and then, untimed, all of them.
	if err := b.answered("burst", b.burst-writers, b.burst); err != nil {
		return err
	}
	last := time.Since(created)
	if err := b.answered("burst", 0, b.burst); err != nil {
		return err
	}
	if err := b.served(ctx, routes+float64(b.burst), 0); err != nil {
		return err
	}
	b.report.figure("burst: created", created.Sub(began).Seconds(), "s", fmt.Sprintf("%d routes", b.burst))
	b.report.figure("burst: last routes served", milliseconds(last), "ms", "after the last answer of the API server")
	m, err := b.router.Metrics()
	if err != nil {
		return err
	}
	b.report.figure("reloads", rig.Sum(m, "fairlead_router_reloads_total"), "", "since the router's start")
	b.report.figure("status writes", m["fairlead_router_status_writes_total"], "", "one for each route")
	b.report.figure("status conflicts and errors", m["fairlead_router_status_conflicts_total"]+m["fairlead_router_status_errors_total"], "", "")
	return nil
}

// answered waits until the routes from first up to the limit answer.
func (b *bench) answered(prefix string, first, limit int) error {
	probe := rig.NewProbe(false)
	defer probe.Close()
	for i := max(first, 0); i < limit; i++ {
		host := rig.Host(fmt.Sprintf("%s%d", prefix, i))
		err := rig.Until(sampleLimit, host, func() (bool, error) {
			a, err := probe.Get(host, "/")
			return a.Status == 200 && a.Body == rig.Address(i), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restart measures a start from nothing with all routes there.
func (b *bench) restart(ctx context.Context) error {
	routes, err := b.known()
	if err != nil {
		return err
	}
	if err := b.router.Stop(); err != nil {
		return err
	}
	b.progress("cold start with %v routes", routes)
	err = b.profiled(ctx, "start", 6*time.Second, func() error {
		began := time.Now()
		err := b.startRouter(ctx, "cold")
		b.report.figure("cold start to ready", time.Since(began).Seconds(), "s", fmt.Sprintf("%v routes", routes))
		return err
	})
	if err != nil {
		return err
	}
	if err := b.served(ctx, routes, 0); err != nil {
		return err
	}
	b.memory(" after a start")
	return b.adopt(ctx, routes)
}

// adopt kills the router, whose HAProxy goes on, and starts another.
func (b *bench) adopt(ctx context.Context, routes float64) error {
	b.router.Kill()
	b.progress("the router's restart beside its HAProxy")
	began := time.Now()
	var err error
	if b.router, err = b.rig.StartRouter("cold"); err != nil {
		return err
	}
	if err := b.router.WaitReady(ctx, 3*time.Minute); err != nil {
		return err
	}
	b.report.figure("router restart to ready", time.Since(began).Seconds(), "s", "HAProxy serves meanwhile")
	if err := b.served(ctx, routes, 0); err != nil {
		return err
	}
	// A writer that found a difference would write within this time: its
	// Lease is free after 15 s at the latest.
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	m, err := b.router.Metrics()
	if err != nil {
		return err
	}
	b.report.figure("status writes after restart", m["fairlead_router_status_writes_total"], "", fmt.Sprintf("leading: %v", m["fairlead_router_status_leading"] == 1))
	b.report.figure("reloads after restart", rig.Sum(m, "fairlead_router_reloads_total"), "", "")
	return nil
}
