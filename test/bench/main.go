// Command bench measures the router: how long a change takes from the API
// server's answer to the first response that shows it, with no route and with
// 10,000 around it, and what a start, a burst and the memory cost at that size.
// Everything is real; docs/benchmarks.md explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// options are the command line.
type options struct {
	routes, samples, burst int
	haproxy, profile       string
	limit                  time.Duration
	threshold, keep        bool
}

func main() {
	inside, err := rig.Inside()
	code := 0
	switch {
	case err != nil:
	case !inside:
		code, err = rig.Enter()
	default:
		err = measure()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func parseFlags() options {
	var o options
	flag.IntVar(&o.routes, "routes", 10000, "number of routes for the second half")
	flag.IntVar(&o.samples, "samples", 200, "samples for each kind of change")
	flag.IntVar(&o.burst, "burst", 1000, "number of routes that are created at once")
	flag.StringVar(&o.haproxy, "haproxy", "haproxy", "program of the tools folder: haproxy or haproxy-3.0")
	flag.StringVar(&o.profile, "profile", "", "write CPU profiles of the router to files with this prefix")
	flag.DurationVar(&o.limit, "limit", 25*time.Minute, "give up after this time")
	flag.BoolVar(&o.threshold, "require", false, "fail unless p50 is at most 20 ms and p99 at most 100 ms")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder with logs and HAProxy's files")
	flag.Parse()
	return o
}

func measure() error {
	o := parseFlags()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	b := &bench{options: o, began: time.Now(), dir: dir}
	err = b.run(ctx)
	if err != nil {
		return errors.Join(err, fmt.Errorf("logs are in %s", dir))
	}
	if o.keep {
		b.progress("logs are in %s", dir)
	} else if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the folder: %w", err)
	}
	out, err := rig.RunDir()
	if err != nil {
		return err
	}
	if err := b.report.write(filepath.Join(out, "bench.json")); err != nil {
		return err
	}
	b.report.print(os.Stdout)
	if o.threshold {
		return b.report.check()
	}
	return nil
}

// bench is one run.
type bench struct {
	options
	began  time.Time
	dir    string
	rig    *rig.Rig
	router *rig.Router
	report report
}

func (b *bench) progress(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

func (b *bench) run(ctx context.Context) error {
	b.progress("starting etcd and kube-apiserver")
	r, err := rig.Start(ctx, b.dir, b.haproxy)
	if err != nil {
		return err
	}
	b.rig = r
	err = b.phases(ctx)
	return errors.Join(err, r.Stop())
}

func (b *bench) phases(ctx context.Context) error {
	if err := b.startRouter(ctx, "empty"); err != nil {
		return err
	}
	if err := b.latencies(ctx, 0); err != nil {
		return err
	}
	if err := b.fill(ctx); err != nil {
		return err
	}
	err := b.profiled(ctx, "changes", 20*time.Second, func() error { return b.latencies(ctx, b.routes) })
	if err != nil {
		return err
	}
	if err := b.burstOf(ctx); err != nil {
		return err
	}
	return b.restart(ctx)
}

// startRouter starts a router with an empty work directory of that name, and
// waits until it is ready.
func (b *bench) startRouter(ctx context.Context, name string) error {
	var err error
	b.router, err = b.rig.StartRouter(name)
	if err != nil {
		return err
	}
	return b.router.WaitReady(ctx, 3*time.Minute)
}
