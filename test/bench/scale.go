package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

func (b *bench) memory(note string) {
	router, haproxy := b.router.Usage()
	limits := b.limits()
	told := func(u rig.Usage) string {
		return fmt.Sprintf("resident, %.4g MB of it anonymous", report.Megabytes(u.Anonymous))
	}
	b.report.Require("router memory"+note, report.Megabytes(router.Memory), "MB", limits.router, told(router))
	b.report.Require("HAProxy memory"+note, report.Megabytes(haproxy.Memory), "MB", limits.haproxy, told(haproxy))
	b.report.Figure("router memory, highest"+note, report.Megabytes(router.Peak), "MB", "resident at any time since the last such line, or the start")
	_ = b.router.ForgetPeak() // without it, the next one tells that of a longer time
}

// limits are promises that depend on the number of routes.
type limits struct {
	// router and haproxy are in MB, start is in seconds.
	router, haproxy, start *report.Bound
}

func (b *bench) limits() limits {
	if b.routes > 20000 {
		return limits{router: report.AtMost(450), haproxy: report.AtMost(1100), start: report.AtMost(12)}
	}
	return limits{router: report.AtMost(120), haproxy: report.AtMost(250), start: report.AtMost(2)}
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

// coldStarts is how often a start is measured. A virtual machine may have to ask
// its host for the memory first, which takes between nothing and a second.
const coldStarts = 3

// restart measures starts from nothing with all routes there.
func (b *bench) restart(ctx context.Context) error {
	m, err := b.router.Metrics()
	if err != nil {
		return err
	}
	routes := m[servedRoutes]
	b.report.Require("reloads before the starts", reloads(m), "", report.AtMost(0), "since the router started")
	b.progress("%d cold starts with %v routes", coldStarts, routes)
	var took, listing, starting []float64
	for i := range coldStarts {
		if err := b.router.Stop(); err != nil {
			return err
		}
		l, s, err := b.rig.Floor(ctx, b.routes)
		if err != nil {
			return err
		}
		listing, starting = append(listing, l.Seconds()), append(starting, s.Seconds())
		err = b.profiled(ctx, fmt.Sprintf("start%d", i+1), 6*time.Second, func() error {
			began := time.Now()
			err := b.startRouter(ctx, fmt.Sprintf("cold%d", i+1))
			took = append(took, time.Since(began).Seconds())
			return err
		})
		if err != nil {
			return err
		}
		if err := b.served(ctx, routes, 0); err != nil {
			return err
		}
	}
	b.report.Require("cold start to ready", median(took), "s", b.limits().start, fmt.Sprintf("%v routes, the median of %.3g s", routes, took))
	b.report.Figure("the same lists without a router", median(listing), "s", "thrown away")
	b.report.Figure("HAProxy's start from a file by hand", median(starting), "s", "with as many backends")
	b.memory(" after a start")
	if err := b.takeHeap(ctx, "start"); err != nil {
		return err
	}
	return b.adopt(ctx, routes)
}

// adopt kills the router, whose HAProxy goes on, and starts another.
func (b *bench) adopt(ctx context.Context, routes float64) error {
	b.router.Kill()
	b.progress("the router's restart beside its HAProxy")
	began := time.Now()
	var err error
	if b.router, err = b.rig.StartRouter(fmt.Sprintf("cold%d", coldStarts)); err != nil {
		return err
	}
	if err := b.router.WaitReady(ctx, 3*time.Minute); err != nil {
		return err
	}
	b.report.Figure("router restart to ready", time.Since(began).Seconds(), "s", "HAProxy serves meanwhile")
	if err := b.served(ctx, routes, 0); err != nil {
		return err
	}
	// A writer that found a difference would write within this time: its
	// Lease is free after 15 s at the latest.
	if err := pause(ctx, 20*time.Second); err != nil {
		return err
	}
	m, err := b.router.Metrics()
	if err != nil {
		return err
	}
	b.report.Require("status writes after restart", m[statusWrites], "", report.AtMost(0), fmt.Sprintf("leading: %v", m["fairlead_router_leader"] == 1))
	b.report.Require("reloads after restart", reloads(m), "", report.AtMost(0), "")
	return nil
}

// idle measures a router to which nothing happens, with its checks for what
// others have changed in HAProxy.
func (b *bench) idle(ctx context.Context) error {
	b.progress("nothing changes for %s", b.idleFor)
	was, err := b.router.Metrics()
	if err != nil {
		return err
	}
	// Leading and the first reports of status come with a start, and garbage with a scrape.
	if err := pause(ctx, 10*time.Second); err != nil {
		return err
	}
	router, _ := b.router.Usage()
	before, err := rig.CPUTime(router.PID)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.profiled(ctx, "idle", b.idleFor, func() error { return pause(ctx, b.idleFor) }); err != nil {
		return err
	}
	after, err := rig.CPUTime(router.PID)
	if err != nil {
		return err
	}
	b.report.Require("CPU of the idle router", (after-before)/time.Since(began).Seconds()*100, "%", report.AtMost(0.5), "of one core, over "+b.idleFor.String())
	is, err := b.router.Metrics()
	if err != nil {
		return err
	}
	const collections, allocated = "go_gc_duration_seconds_count", "go_memstats_alloc_bytes_total"
	b.report.Figure("collections of garbage when idle", is[collections]-was[collections], "", fmt.Sprintf("%.1f MB were allocated", (is[allocated]-was[allocated])/1e6))
	b.memory(" when idle")
	return nil
}

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

// manyCertificates gives half of the routes a certificate of their own and
// starts once more.
func (b *bench) manyCertificates(ctx context.Context) error {
	b.progress("half of the routes get a certificate of their own")
	group, within := errgroup.WithContext(ctx)
	for w := range writers {
		group.Go(func() error {
			for i := 2*w + 1; i < b.routes; i += 2 * writers {
				if b.brings(i) {
					continue
				}
				if err := b.rig.UseCertificate(within, fmt.Sprintf("fill%d", i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := b.router.Stop(); err != nil {
		return err
	}
	began := time.Now()
	if err := b.startRouter(ctx, "certificates"); err != nil {
		return err
	}
	b.report.Figure("cold start, half with certificates", time.Since(began).Seconds(), "s", "")
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	router, haproxy := b.router.Memory()
	b.report.Figure("router memory, half with certificates", report.Megabytes(router), "MB", "resident")
	b.report.Figure("HAProxy memory, half with certificates", report.Megabytes(haproxy), "MB", "resident")
	return nil
}
