package main

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// burstOf creates many routes at once, while clients ask others. HAProxy has a
// processor for itself, and the clients and pods go before the API server and
// all else on the other one: what is measured is how the router's changes keep
// HAProxy from answering.
func (b *bench) burstOf(ctx context.Context) error {
	b.progress("traffic for 10 s, and during a burst of %d routes", b.burst)
	if err := b.pin(); err != nil {
		return err
	}
	defer b.unpin()
	const lasting = 10 * time.Second
	if _, err := b.rig.Measure(ctx, traffic(time.Second)); err != nil {
		return err
	}
	quiet, err := b.rig.Measure(ctx, traffic(lasting))
	if err != nil {
		return err
	}
	busy, result := rig.SpeedResult{}, make(chan error, 1)
	go func() {
		var err error
		busy, err = b.rig.Measure(ctx, traffic(lasting))
		result <- err
	}()
	if err := b.burstRoutes(ctx); err != nil {
		return err
	}
	if err := <-result; err != nil {
		return err
	}
	b.report.figure("traffic: p99 in quiet", milliseconds(quiet.P99), "ms", fmt.Sprintf("p50 %.2f ms, %.0f requests/s", milliseconds(quiet.P50), quiet.PerSecond))
	b.report.figure("traffic: p99 during the burst", milliseconds(busy.P99), "ms", fmt.Sprintf("p50 %.2f ms, %.0f requests/s", milliseconds(busy.P50), busy.PerSecond))
	b.report.require("traffic: p99 in the burst / quiet", float64(busy.P99)/float64(quiet.P99), "", atMost(1.5), fmt.Sprintf("%d requests failed", quiet.Failed+busy.Failed))
	return nil
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
	b.report.figure("burst: created", created.Sub(began).Seconds(), "s", fmt.Sprintf("%d routes", b.burst))
	b.report.require("burst: last routes served", milliseconds(last), "ms", atMost(1000), "after the last answer of the API server")
	m, err := b.router.Metrics()
	if err != nil {
		return err
	}
	b.report.require("reloads", rig.Sum(m, "fairlead_router_reloads_total"), "", atMost(0), "since the router's start")
	b.report.figure("status writes", m["fairlead_router_status_writes_total"], "", "one for each route")
	b.report.figure("status conflicts and errors", m["fairlead_router_status_conflicts_total"]+m["fairlead_router_status_errors_total"], "", "")
	return nil
}
