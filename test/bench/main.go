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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// defaultRoutes is the size that most figures are promised for.
const defaultRoutes = 10000

// options are the command line.
type options struct {
	routes, samples, burst int
	// certificates is the share of routes that bring one, in percent.
	certificates int
	// rounds is how often two that are compared take turns.
	rounds                 int
	haproxy, profile, only string
	// against is another router program, and starts how often both are started.
	against         string
	starts          int
	limit, idleFor  time.Duration
	threshold, keep bool
	// seed puts the routes into etcd instead of creating them.
	seed bool
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
	var o options
	flag.IntVar(&o.routes, "routes", defaultRoutes, "number of routes for the second half")
	flag.IntVar(&o.samples, "samples", 200, "samples for each kind of change")
	flag.IntVar(&o.burst, "burst", 1000, "number of routes that are created at once")
	flag.IntVar(&o.certificates, "certificates", 10, "percentage of the routes that bring their own certificate")
	flag.IntVar(&o.rounds, "rounds", 20, "how often two that are compared take turns")
	flag.IntVar(&o.starts, "starts", 4, "how often -only against starts both routers, each of them first every second time: an even number")
	flag.StringVar(&o.only, "only", "", "measure only some of "+strings.Join(partNames(), ",")+"; default is everything but agent, people, against, changes-against and threads")
	flag.StringVar(&o.against, "against", "", "program of another router, which -only against compares with this one in turns")
	flag.StringVar(&o.haproxy, "haproxy", "haproxy", "program of the tools folder: haproxy or haproxy-3.0")
	flag.StringVar(&o.profile, "profile", "", "write CPU profiles of the router to files with this prefix")
	flag.DurationVar(&o.idleFor, "idle", 90*time.Second, "how long to watch the router while nothing changes")
	flag.DurationVar(&o.limit, "limit", 25*time.Minute, "give up after this time")
	flag.BoolVar(&o.seed, "seed", false, "put the routes straight into etcd instead of creating them, in seconds instead of minutes")
	flag.BoolVar(&o.threshold, "require", false, "fail unless every figure is as required")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder with logs and HAProxy's files")
	flag.Parse()
	return o
}

// result is the name of the file with the results.
func (o options) result() string {
	if o.routes == defaultRoutes {
		return "bench.json"
	}
	return fmt.Sprintf("bench-%d.json", o.routes)
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
	if err := b.report.Write(filepath.Join(out, o.result())); err != nil {
		return err
	}
	b.report.Print(os.Stdout)
	if o.threshold {
		return b.report.Check()
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
	// haproxyPID is the router's HAProxy.
	haproxyPID int
	report     report.Report
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
	if err = errors.Join(r.UseLightPods(), r.Create(ctx, rig.Settings())); err == nil {
		err = b.phases(ctx)
	}
	return errors.Join(err, r.Stop())
}

// part is one of the things that can be measured alone, once the routes are
// there.
type part struct {
	name    string
	measure func(*bench, context.Context) error
	// asked parts are measured only if -only names them.
	asked bool
}

// parts returns them in order: what changes the routes comes late.
func parts() []part {
	return []part{
		{name: "throughput", measure: (*bench).throughput},
		{name: "start", measure: (*bench).restart},
		{name: "idle", measure: (*bench).idle},
		{name: "scrape", measure: (*bench).scrape},
		{name: "latency", measure: (*bench).latenciesAmong},
		{name: "burst", measure: (*bench).burstOf},
		{name: "policies", measure: (*bench).throughputWithPolicies},
		{name: "certificates", measure: (*bench).manyCertificates},
		{name: "agent", measure: (*bench).withAgent, asked: true},
		{name: "people", measure: (*bench).people, asked: true},
		{name: "against", measure: (*bench).againstProgram, asked: true},
		{name: "changes-against", measure: (*bench).changesAgainst, asked: true},
		{name: "threads", measure: (*bench).threads, asked: true},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

func (b *bench) wants(part string) bool {
	return b.only == "" || slices.Contains(strings.Split(b.only, ","), part)
}

func (b *bench) asksFor(p part) bool { return b.wants(p.name) && (b.only != "" || !p.asked) }

func (b *bench) phases(ctx context.Context) error {
	if err := b.startRouter(ctx, "empty"); err != nil {
		return err
	}
	if b.wants("latency") {
		if err := b.latencies(ctx, 0); err != nil {
			return err
		}
	}
	fill := b.fill
	if b.seed {
		fill = b.fillByEtcd
	}
	if err := fill(ctx); err != nil {
		return err
	}
	for _, p := range parts() {
		if !b.asksFor(p) {
			continue
		}
		if err := p.measure(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (b *bench) latenciesAmong(ctx context.Context) error {
	if err := b.profiled(ctx, "changes", 20*time.Second, func() error { return b.latencies(ctx, b.routes) }); err != nil {
		return err
	}
	b.memory(" after changes")
	return b.takeHeap(ctx, "changes")
}

// startRouter starts a router with an empty work directory of that name, and
// waits until it is ready.
func (b *bench) startRouter(ctx context.Context, name string, args ...string) error {
	var err error
	b.router, err = b.rig.StartRouter(name, args...)
	if err != nil {
		return err
	}
	if err := b.router.WaitReady(ctx, 3*time.Minute); err != nil {
		return err
	}
	_, haproxy := b.router.Usage()
	b.haproxyPID = haproxy.PID
	return nil
}
