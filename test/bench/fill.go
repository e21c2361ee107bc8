package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/wait"
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

// addOne creates a route with its Service. As many of each hundred as the
// option says bring their own certificate.
func (b *bench) addOne(ctx context.Context, name string, i int) error {
	if err := b.rig.CreateService(ctx, name, rig.Address(i)); err != nil {
		return err
	}
	route := rig.Route(name)
	if b.brings(i) {
		if _, err := b.rig.WithCertificate(route); err != nil {
			return err
		}
	}
	return b.rig.Create(ctx, route)
}

// brings reports whether the i-th route brings its own certificate.
func (b *bench) brings(i int) bool { return i*37%100 < b.certificates }

// deleteMany deletes the routes that addMany created, and waits until the
// router serves so many.
func (b *bench) deleteMany(ctx context.Context, prefix string, n int, left float64) error {
	group, within := errgroup.WithContext(ctx)
	for w := range writers {
		group.Go(func() error {
			for i := w; i < n; i += writers {
				name := fmt.Sprintf("%s%d", prefix, i)
				if err := b.rig.DeleteRoute(within, name); err != nil {
					return err
				}
				if err := b.rig.DeleteService(within, name); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return b.until(ctx, fmt.Sprintf("the end of %d routes", n), func(m map[string]float64) bool {
		return m[servedRoutes] <= left
	})
}

// Metrics of the router: how many routes it serves, and how many times it has
// written a status since it started.
const (
	servedRoutes = `fairlead_router_routes{state="served"}`
	statusWrites = "fairlead_router_status_writes_total"
)

// served waits until the router serves that many routes and has written their
// status.
func (b *bench) served(ctx context.Context, routes, writes float64) error {
	return b.until(ctx, fmt.Sprintf("%v routes", routes), func(m map[string]float64) bool {
		return m[servedRoutes] >= routes && m[statusWrites] >= writes
	})
}

// until waits until the router's metrics are as they should be.
func (b *bench) until(ctx context.Context, what string, so func(map[string]float64) bool) error {
	err := wait.Poll{Limit: wait.NoLimit, Every: 100 * time.Millisecond}.Until(ctx, what, func() error {
		m, err := b.router.Metrics()
		if err == nil {
			err = wait.True(so(m))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, b.router.LogEnd())
	}
	return nil
}

// known returns how many routes the router serves.
func (b *bench) known() (float64, error) {
	m, err := b.router.Metrics()
	return m[servedRoutes], err
}

// fill adds the routes of the second half while the router runs.
func (b *bench) fill(ctx context.Context) error {
	b.progress("creating %d routes, %d %% with their own certificate", b.routes, b.certificates)
	// Whatever else is to be written is written by then.
	if err := pause(ctx, settle); err != nil {
		return err
	}
	before, err := b.router.Metrics()
	if err != nil {
		return err
	}
	routes := before[servedRoutes]
	began := time.Now()
	if err := b.addMany(ctx, "fill", b.routes); err != nil {
		return err
	}
	b.report.Figure("creating the routes", time.Since(began).Seconds(), "s", "the API server's speed; the router follows live")
	if err := b.served(ctx, routes+float64(b.routes), 0); err != nil {
		return err
	}
	b.report.Figure("all served", time.Since(began).Seconds(), "s", "")
	b.progress("served; waiting for every status")
	if err := b.served(ctx, 0, before[statusWrites]+float64(b.routes)); err != nil {
		return err
	}
	b.memory("")
	if err := pause(ctx, settle); err != nil {
		return err
	}
	after, err := b.router.Metrics()
	if err != nil {
		return err
	}
	b.report.Require("status writes for the first status", after[statusWrites]-before[statusWrites], "", report.AtMost(float64(b.routes)), "one for each route")
	return nil
}

// reloads counts those since the router's start, whatever their reason.
func reloads(m map[string]float64) float64 { return rig.Sum(m, "fairlead_router_reloads_total") }

// settle is long enough for status writes that are due, or needless.
const settle = 3 * time.Second

// fillByEtcd puts the routes into etcd while no router runs, and starts one.
// The first one is created as usual, and what the router wrote as its status
// becomes that of all.
func (b *bench) fillByEtcd(ctx context.Context) error {
	b.progress("putting %d routes into etcd, %d %% with their own certificate", b.routes, b.certificates)
	m, err := b.router.Metrics()
	if err != nil {
		return err
	}
	if err := b.addMany(ctx, "fill", 1); err != nil {
		return err
	}
	if err := b.served(ctx, 0, m[statusWrites]+1); err != nil {
		return err
	}
	if err := b.router.Stop(); err != nil {
		return err
	}
	seeder, err := b.rig.NewSeeder(ctx, "fill0")
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	for w := range writers {
		group.Go(func() error {
			for i := 1 + w; i < b.routes; i += writers {
				if err := seeder.Add(within, fmt.Sprintf("fill%d", i), i, b.brings(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	b.progress("starting a router")
	if err := b.startRouter(ctx, "seeded"); err != nil {
		return err
	}
	if err := b.served(ctx, float64(b.routes), 0); err != nil {
		return err
	}
	b.memory("")
	return nil
}
