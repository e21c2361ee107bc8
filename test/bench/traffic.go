package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// Where the parts run while traffic is measured. HAProxy has one thread.
const (
	proxyProcessor  = 0
	othersProcessor = 1
)

// traffic is a load that leaves HAProxy time for changes: about 8,000 requests
// a second to routes whose connections are open.
func traffic(lasting time.Duration) rig.Speed {
	return rig.Speed{
		Port: rig.HTTPPort, Prefix: "fill", Hosts: warmHosts, Connections: 32, For: lasting,
		Pause: 4 * time.Millisecond, Processor: othersProcessor, Urgent: true,
	}
}

// trafficFor is how long traffic is measured each time.
const trafficFor = 10 * time.Second

// burstOf creates many routes at once, while clients ask others. HAProxy has a
// processor for itself, and the clients and pods go before the API server and
// all else on the other one: what is measured is how the router's changes keep
// HAProxy from answering. The same burst while the router is stopped tells what
// of it comes from the API server next to the clients.
func (b *bench) burstOf(ctx context.Context) error {
	routes, err := b.known()
	if err != nil {
		return err
	}
	if err := b.pin(); err != nil {
		return err
	}
	defer b.unpin()
	if _, err := b.rig.Measure(ctx, traffic(time.Second)); err != nil {
		return err
	}
	b.progress("traffic for %s", trafficFor)
	quiet, err := b.rig.Measure(ctx, traffic(trafficFor))
	if err != nil {
		return err
	}
	b.progress("traffic while %d routes are created and the router is stopped", b.burst)
	stopped, err := b.trafficDuring(ctx, b.burstUnseen)
	if err != nil {
		return err
	}
	if err := b.served(ctx, routes+float64(b.burst), 0); err != nil {
		return err
	}
	if err := b.deleteMany(ctx, "unseen", b.burst, routes); err != nil {
		return err
	}
	// The router takes deleted backends out of HAProxy a moment later.
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	b.progress("traffic during a burst of %d routes", b.burst)
	busy, err := b.trafficDuring(ctx, b.burstRoutes)
	if err != nil {
		return err
	}
	b.reportTraffic(quiet, stopped, busy)
	b.memory(" after the burst")
	if err := b.takeHeap(ctx, "burst"); err != nil {
		return err
	}
	return b.deleteMany(ctx, "burst", b.burst, routes)
}

func (b *bench) reportTraffic(quiet, stopped, busy rig.SpeedResult) {
	for _, row := range []struct {
		name string
		seen rig.SpeedResult
	}{{"in quiet", quiet}, {"while the API server takes a burst, router stopped", stopped}, {"during the burst", busy}} {
		b.report.Figure("traffic: p99 "+row.name, report.Milliseconds(row.seen.P99), "ms",
			fmt.Sprintf("p50 %.2f ms, %.0f requests/s, %d failed", report.Milliseconds(row.seen.P50), row.seen.PerSecond, row.seen.Failed))
	}
	ratio := func(a, b rig.SpeedResult) float64 { return float64(a.P99) / float64(b.P99) }
	b.report.Require("traffic: p99 in the burst / quiet", ratio(busy, quiet), "", report.AtMost(1.5), "")
	b.report.Figure("traffic: p99 in the burst / with the router stopped", ratio(busy, stopped), "", "what the router and HAProxy add")
	b.report.Require("traffic: failed requests", float64(quiet.Failed+stopped.Failed+busy.Failed), "", report.AtMost(0), "")
}

// trafficDuring measures traffic from the beginning of what is done meanwhile.
func (b *bench) trafficDuring(ctx context.Context, do func(context.Context) error) (rig.SpeedResult, error) {
	seen, result := rig.SpeedResult{}, make(chan error, 1)
	go func() {
		var err error
		seen, err = b.rig.Measure(ctx, traffic(trafficFor))
		result <- err
	}()
	err := errors.Join(do(ctx), <-result)
	return seen, err
}

// burstUnseen creates routes while the router is stopped.
func (b *bench) burstUnseen(ctx context.Context) error {
	if err := b.router.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop the router: %w", err)
	}
	err := b.addMany(ctx, "unseen", b.burst)
	if goOn := b.router.Signal(syscall.SIGCONT); goOn != nil {
		return errors.Join(err, fmt.Errorf("let the router go on: %w", goOn))
	}
	return err
}

// unpin takes back what pin did, which was possible before.
func (b *bench) unpin() {
	_ = rig.Urgent(b.haproxyPID, false)
	_ = rig.Urgent(b.rig.LightPods(), false)
	_ = rig.PinAll(proxyProcessor, othersProcessor)
}

// pin gives HAProxy a processor for itself, and lets it and the pods go before
// everything else.
func (b *bench) pin() error {
	if err := rig.PinAll(othersProcessor); err != nil {
		return err
	}
	if err := rig.Pin(b.haproxyPID, proxyProcessor); err != nil {
		return err
	}
	return errors.Join(rig.Urgent(b.haproxyPID, true), rig.Urgent(b.rig.LightPods(), true))
}

func (b *bench) burstRoutes(ctx context.Context) error {
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
	b.report.Figure("burst: created", created.Sub(began).Seconds(), "s", fmt.Sprintf("%d routes", b.burst))
	b.report.Require("burst: last routes served", report.Milliseconds(last), "ms", report.AtMost(1000), "after the last answer of the API server")
	m, err := b.router.Metrics()
	if err != nil {
		return err
	}
	b.report.Require("reloads", reloads(m), "", report.AtMost(0), "since the router's start")
	b.report.Figure("status conflicts and errors", m["fairlead_router_status_conflicts_total"]+m["fairlead_router_status_errors_total"], "", "")
	return nil
}
