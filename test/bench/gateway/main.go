// Command gateway measures how routers follow objects of the Gateway API: the
// tests of the public gateway-api-bench, by the same definitions as far as one
// machine without nodes allows. Everything is real but for the operator, whose
// slots the rig gives; docs/benchmarks.md explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// options are the command line. The defaults of the sizes are those of the public bench.
type options struct {
	probes, together, changes, samples int
	load, sets                         crowd
	churn, failing, speed              time.Duration
	only, profile                      string
	limit                              time.Duration
	required, keep                     bool
}

func main() {
	rig.ServePods()
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
	o := options{load: crowd{name: "load", routes: 1}, sets: crowd{name: "sets", sets: true}}
	flag.IntVar(&o.probes, "probes", 3000, "part probe: number of routes that are added one after the other")
	flag.IntVar(&o.together, "attached", 1000, "part attached: number of routes that come and go at once")
	flag.IntVar(&o.changes, "changes", 200, "part change: number of changes of one route")
	flag.IntVar(&o.samples, "samples", 100, "parts load and sets: number of routes that are added one after the other meanwhile")
	flag.IntVar(&o.load.namespaces, "namespaces", 50, "part load: number of namespaces")
	flag.IntVar(&o.load.apps, "routes", 100, "part load: number of routes of each namespace, each with a Service of its own")
	flag.IntVar(&o.sets.namespaces, "set-namespaces", 50, "part sets: number of namespaces")
	flag.IntVar(&o.sets.apps, "sets", 50, "part sets: number of ListenerSets of each namespace, each with a Service of its own")
	flag.IntVar(&o.sets.routes, "set-routes", 16, "part sets: number of routes of each ListenerSet")
	flag.DurationVar(&o.churn, "churn", 30*time.Second, "parts load and sets: how long a route changes each second and a pod every other one; twice, once without clients")
	flag.DurationVar(&o.failing, "failing", 5*time.Second, "part failover: how long the pod fails, and then works, five times")
	flag.DurationVar(&o.speed, "speed", 20*time.Second, "part traffic: how long each of the two compared is asked, in turns of a second")
	flag.StringVar(&o.only, "only", "", "measure only some of "+strings.Join(partNames(), ","))
	flag.StringVar(&o.profile, "profile", "", "write profiles of the router to files with this prefix")
	flag.DurationVar(&o.limit, "limit", 25*time.Minute, "give up after this time")
	flag.BoolVar(&o.required, "require", false, "fail unless every figure is as required")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder with logs")
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
	if err = b.run(ctx); err != nil {
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
	if err := b.report.Write(filepath.Join(out, "bench-gateway.json")); err != nil {
		return err
	}
	b.report.Print(os.Stdout)
	if o.required {
		return b.report.Check()
	}
	return nil
}

// bench is one run.
type bench struct {
	options
	began  time.Time
	dir    string
	report report.Report
}

func (b *bench) progress(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// part is one of the things that can be measured alone.
type part struct {
	name    string
	measure func(*stage, context.Context) error
}

// stages returns the parts in groups that share an API server and a router, and begin
// without any route.
func stages() [][]part {
	return [][]part{
		{
			{"probe", (*stage).probe},
			{"attached", (*stage).attachedRoutes},
			{"change", (*stage).change},
			{"failover", (*stage).failover},
			{"traffic", (*stage).traffic},
		},
		{{"load", func(s *stage, ctx context.Context) error { return s.gather(ctx, s.load) }}},
		{{"sets", func(s *stage, ctx context.Context) error { return s.gather(ctx, s.sets) }}},
	}
}

func partNames() (names []string) {
	for _, parts := range stages() {
		for _, p := range parts {
			names = append(names, p.name)
		}
	}
	return names
}

func (b *bench) wants(p part) bool {
	return b.only == "" || slices.Contains(strings.Split(b.only, ","), p.name)
}

func (b *bench) run(ctx context.Context) error {
	for i, parts := range stages() {
		parts = slices.DeleteFunc(parts, func(p part) bool { return !b.wants(p) })
		if len(parts) == 0 {
			continue
		}
		if err := b.stage(ctx, fmt.Sprintf("stage%d", i), parts); err != nil {
			return err
		}
	}
	return nil
}
