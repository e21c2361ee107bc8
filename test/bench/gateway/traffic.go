package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// Where the parts run while two proxies are compared. HAProxy has one thread.
const (
	proxyProcessor  = 0
	othersProcessor = 1
)

// handPort is that of a HAProxy with a file by hand, handConnections the most that it takes:
// more than it gets, and less than needs more open files than processes may have.
const (
	handPort        = 8083
	handConnections = 1000
)

// traffic compares the requests that a second of HAProxy's processor time serves, at one route
// for all hosts and by a file by hand with one backend, in turns of a second.
func (s *stage) traffic(ctx context.Context) error {
	s.progress("traffic: one route against a file by hand")
	if err := s.service(ctx, rig.Namespace, "traffic", rig.Address(0)); err != nil {
		return err
	}
	route := rig.HTTPRoute(rig.Namespace, "traffic", theGateway, "", rig.PathRule("/", "traffic"))
	route.Spec.Hostnames = nil
	if err := s.rig.Create(ctx, route); err != nil {
		return err
	}
	if err := s.served(ctx, 1); err != nil {
		return err
	}
	hand, err := s.rig.StartHandwritten(handPort, "traffic", 1, handConnections)
	if err != nil {
		return err
	}
	defer hand.Stop()
	if err := rig.PinAll(othersProcessor); err != nil {
		return err
	}
	defer func() { _ = rig.PinAll(proxyProcessor, othersProcessor) }() // it was possible before
	sides := []*side{{port: s.slot, pid: s.haproxy}, {port: hand.Port, pid: hand.PID}}
	for _, o := range sides {
		if err := rig.Pin(o.pid, proxyProcessor); err != nil {
			return err
		}
	}
	failed := 0
	for range int(s.speed / time.Second) {
		for _, o := range sides {
			n, err := s.ask(ctx, o)
			if err != nil {
				return err
			}
			failed += n
		}
	}
	ours, byHand := sides[0], sides[1]
	s.report.Require("traffic: requests for each second of HAProxy, against a file by hand", median(byHand.costs)/median(ours.costs), "", report.AtLeast(0.7),
		fmt.Sprintf("%.0f against %.0f; by the clock %.0f/s and %.0f/s, p50 %.2f and %.2f ms, p99 %.2f and %.2f ms, 32 connections", 1e6/median(ours.costs), 1e6/median(byHand.costs),
			median(ours.rates), median(byHand.rates), median(ours.p50), median(byHand.p50), median(ours.p99), median(byHand.p99)))
	s.report.Require("traffic: failed requests", float64(failed), "", report.AtMost(0), "")
	return s.removeRoutes(ctx)
}

// side is one of the two that are compared. Costs are microseconds of processor time for each
// request, p50 and p99 milliseconds.
type side struct {
	port, pid              int
	rates, costs, p50, p99 []float64
}

// ask asks a side for a second and returns how many requests failed.
func (s *stage) ask(ctx context.Context, o *side) (failed int, err error) {
	before, err := rig.CPUTime(o.pid)
	if err != nil {
		return 0, err
	}
	r, err := s.rig.Measure(ctx, rig.Speed{Port: o.port, Prefix: "traffic", Hosts: 1, Connections: 32, For: time.Second, Processor: othersProcessor})
	if err != nil {
		return 0, err
	}
	after, err := rig.CPUTime(o.pid)
	if err != nil {
		return 0, err
	}
	o.rates = append(o.rates, r.PerSecond)
	o.costs = append(o.costs, (after-before)/r.PerSecond*1e6)
	o.p50 = append(o.p50, report.Milliseconds(r.P50))
	o.p99 = append(o.p99, report.Milliseconds(r.P99))
	return r.Failed, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}
