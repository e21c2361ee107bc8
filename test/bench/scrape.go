package main

import (
	"context"
	"fmt"
	"time"

	counted "github.com/fairlead/fairlead/router/traffic"
	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// scrapes is how often the pages of metrics are read, at times when the router has to ask HAProxy.
const scrapes = 11

// scrape measures what Prometheus gets from one router, and how long that takes.
func (b *bench) scrape(ctx context.Context) error {
	b.progress("%d scrapes of both pages", scrapes)
	var took []float64
	var page rig.Scrape
	router, haproxy := b.router.Usage()
	before, err := cpuTimes(router.PID, haproxy.PID)
	if err != nil {
		return err
	}
	for range scrapes {
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
		var err error
		if page, err = b.router.Scrape(); err != nil {
			return err
		}
		took = append(took, page.Took.Seconds()*1000)
	}
	after, err := cpuTimes(router.PID, haproxy.PID)
	if err != nil {
		return err
	}
	b.report.Require("series of a router", float64(page.Series), "", report.AtMost(counted.Series), fmt.Sprintf("%d routes", b.routes))
	b.report.Require("size of a scrape", report.Megabytes(int64(page.Bytes)), "MB", report.AtMost(3), "both pages, not compressed")
	// The clock also measures what else runs on the machine.
	each := func(i int) float64 { return (after[i] - before[i]) / scrapes * 1000 }
	b.report.Require("time of a scrape", each(0)+each(1), "ms", report.AtMost(150), fmt.Sprintf("of processors, for both pages; by the clock, the median of %.3g ms", took))
	b.report.Figure("the same, HAProxy's part", each(1), "ms", "while it serves no client")
	b.report.Figure("the same, by the clock", median(took), "ms", "")
	b.memory(" after scrapes")
	return nil
}

// cpuTimes returns what processes have used of processors, in seconds.
func cpuTimes(pids ...int) (all []float64, err error) {
	for _, pid := range pids {
		t, err := rig.CPUTime(pid)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
