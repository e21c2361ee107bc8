package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// turn is how long each side runs at a time: short, because others on the
// machine come and go, and the two are to meet the same.
const turn = time.Second

// warmHosts is the number of routes that are asked where connections to pods
// shall be open already.
const warmHosts = 16

// Ports of the HAProxy files that were written by hand.
const (
	portMap = 8082
	portOne = 8083
)

// rival is a hand-written file that the router is compared with.
type rival struct {
	name  string
	port  int
	hosts int
	bound float64
}

// throughput compares the router's HAProxy with hand-written files: the same
// program with one thread on a processor of its own, in turn, asked by the
// same clients for the same pods, which share the other processor.
func (b *bench) throughput(ctx context.Context) error {
	connections, err := b.maxConnections()
	if err != nil {
		return err
	}
	for _, c := range []rival{
		// Before the random hosts, after which HAProxy closes thousands of
		// connections to pods, half of them every five seconds.
		{"requests/s, 16 warm hosts, against one backend by hand", portOne, warmHosts, 0.7},
		{"requests/s, random hosts, against a map by hand", portMap, b.routes, 0.85},
	} {
		routes := b.routes
		if c.port == portOne {
			routes = 1
		}
		hand, err := b.rig.StartHandwritten(c.port, "fill", routes, connections)
		if err != nil {
			return err
		}
		err = b.compare(ctx, c, hand)
		hand.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// throughputWithPolicies compares once more, with every policy in use on every
// tenth route.
func (b *bench) throughputWithPolicies(ctx context.Context) error {
	b.progress("changing every tenth route to use all policies")
	if err := b.usePolicies(ctx); err != nil {
		return err
	}
	connections, err := b.maxConnections()
	if err != nil {
		return err
	}
	hand, err := b.rig.StartHandwritten(portMap, "fill", b.routes, connections)
	if err != nil {
		return err
	}
	defer hand.Stop()
	return b.compare(ctx, rival{"requests/s, all policies on every tenth route", portMap, b.routes, 0.75}, hand)
}

func (b *bench) usePolicies(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for w := range writers {
		group.Go(func() error {
			for i := 10 * w; i < b.routes; i += 10 * writers {
				if err := b.rig.UsePolicies(ctx, fmt.Sprintf("fill%d", i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// Each is looked at: changes are taken in no order.
	probe := rig.NewProbe(false)
	defer probe.Close()
	for i := 0; i < b.routes; i += 10 {
		host := rig.Host(fmt.Sprintf("fill%d", i))
		err := rig.Until(sampleLimit, "policies of "+host, func() (bool, error) {
			a, err := probe.Get(host, "/")
			return strings.HasPrefix(a.Header.Get("Set-Cookie"), rig.PolicyCookie+"="), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxConnections is the limit of the router's HAProxy, which the hand-written files take over.
func (b *bench) maxConnections() (int, error) {
	info, err := b.router.HAProxy("show info")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(info, "\nMaxconn: ")
	number, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("read HAProxy's connection limit: %w", err)
	}
	return n, nil
}

// side is one of the two that are compared.
type side struct {
	port, pid int
	// router is that of the side, or nil, and start how long it took to be ready.
	router *rig.Router
	start  time.Duration
	// memory and proxyMemory are those of the router and of its HAProxy after their start, in
	// MB, if they were asked for.
	memory, proxyMemory float64
	rates               []float64
	// costs are microseconds of processor time for each request.
	costs []float64
}

// compare takes turns. What counts is the requests that a second of HAProxy's
// own processor time serves: it equals requests per second where HAProxy fills
// its processor, and does not change where something else keeps it waiting.
func (b *bench) compare(ctx context.Context, c rival, hand *rig.Handwritten) error {
	return b.compareSides(ctx, c, &side{port: rig.HTTPPort, pid: b.haproxyPID}, &side{port: hand.Port, pid: hand.PID})
}

// compareSides requires what one side does as a share of what another does.
func (b *bench) compareSides(ctx context.Context, c rival, sides ...*side) error {
	share, text, err := b.shareOf(ctx, c, sides...)
	if err != nil {
		return err
	}
	b.report.Require(c.name, share, "", report.AtLeast(c.bound), text)
	return nil
}

// shareOf measures two sides in turns. It returns what the first one does as a share of what the
// second one does, and the figures.
func (b *bench) shareOf(ctx context.Context, c rival, sides ...*side) (float64, string, error) {
	fail := func(err error) (float64, string, error) { return 0, "", err }
	if err := rig.PinAll(othersProcessor); err != nil {
		return fail(err)
	}
	defer func() { _ = rig.PinAll(proxyProcessor, othersProcessor) }() // it was possible before
	failed, busy := 0, 0.0
	for _, s := range sides {
		if err := rig.Pin(s.pid, proxyProcessor); err != nil {
			return fail(err)
		}
		if _, _, err := b.ask(ctx, s, c.hosts, 2*time.Second); err != nil {
			return fail(err)
		}
		s.rates, s.costs = nil, nil
	}
	for range b.rounds {
		for _, s := range sides {
			n, share, err := b.ask(ctx, s, c.hosts, turn)
			if err != nil {
				return fail(err)
			}
			failed, busy = failed+n, busy+share
		}
	}
	ratios, seen := make([]float64, b.rounds), make([]float64, b.rounds)
	for i := range ratios {
		ratios[i] = sides[1].costs[i] / sides[0].costs[i]
		seen[i] = sides[0].rates[i] / sides[1].rates[i]
	}
	return median(ratios), fmt.Sprintf(
		"%.0f/s against %.0f/s for each processor; seen %.0f/s and %.0f/s, ratio %.2f, with HAProxy's processor %.0f %% busy; %d failed",
		1e6/median(sides[0].costs), 1e6/median(sides[1].costs), median(sides[0].rates), median(sides[1].rates), median(seen), busy/float64(2*b.rounds)*100, failed), nil
}

// ask measures a side once. It returns how many requests failed and HAProxy's
// share of its processor.
func (b *bench) ask(ctx context.Context, s *side, hosts int, lasting time.Duration) (failed int, share float64, err error) {
	before, err := rig.CPUTime(s.pid)
	if err != nil {
		return 0, 0, err
	}
	r, err := b.rig.Measure(ctx, rig.Speed{
		Port: s.port, Prefix: "fill", Hosts: hosts, Connections: 32, For: lasting, Processor: othersProcessor,
	})
	if err != nil {
		return 0, 0, err
	}
	after, err := rig.CPUTime(s.pid)
	if err != nil {
		return 0, 0, err
	}
	s.rates = append(s.rates, r.PerSecond)
	s.costs = append(s.costs, (after-before)/(r.PerSecond*lasting.Seconds())*1e6)
	return r.Failed, (after - before) / lasting.Seconds(), nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}
