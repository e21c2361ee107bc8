package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	counted "github.com/fairlead/fairlead/router/traffic"
	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// scrapes is how often the pages of metrics are read, at times when the router has to ask HAProxy. HAProxy's gauges are
// read with at least one of them, and not with most (traffic.GaugesAge).
const (
	scrapes     = 11
	scrapePause = 6 * time.Second
)

// scrape measures what Prometheus gets from one router, and how long that takes.
func (b *bench) scrape(ctx context.Context) error {
	b.progress("%d scrapes of both pages", scrapes)
	var took, routers, haproxies, sums []float64
	var page rig.Scrape
	router, haproxy := b.router.Usage()
	for range scrapes {
		if err := pause(ctx, scrapePause); err != nil {
			return err
		}
		before, err := cpuTimes(router.PID, haproxy.PID)
		if err != nil {
			return err
		}
		if page, err = b.router.Scrape(); err != nil {
			return err
		}
		after, err := cpuTimes(router.PID, haproxy.PID)
		if err != nil {
			return err
		}
		took = append(took, page.Took.Seconds()*1000)
		routers, haproxies = append(routers, (after[0]-before[0])*1000), append(haproxies, (after[1]-before[1])*1000)
		sums = append(sums, routers[len(routers)-1]+haproxies[len(haproxies)-1])
	}
	b.report.Require("series of a router", float64(page.Series), "", report.AtMost(counted.Series), fmt.Sprintf("%d routes", b.routes))
	b.report.Require("size of a scrape", report.Megabytes(int64(page.Bytes)), "MB", report.AtMost(3), "both pages, not compressed")
	// The clock also measures what else runs on the machine.
	b.report.Require("time of a scrape", (median(sums)+slices.Max(sums))/2, "ms", report.AtMost(150), fmt.Sprintf("of processors, for both pages, every 30 s: every second one reads gauges; %.3g ms", sums))
	b.report.Figure("the same without gauges", median(sums), "ms", fmt.Sprintf("HAProxy's part %.3g ms", median(haproxies)))
	b.report.Figure("the same with gauges", slices.Max(sums), "ms", fmt.Sprintf("HAProxy's part %.3g ms", slices.Max(haproxies)))
	b.report.Figure("the same, by the clock", median(took), "ms", fmt.Sprintf("of %.3g ms", took))
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
