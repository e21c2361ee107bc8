package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead/fairlead/test/witness"
)

// row is a line of the table.
type row struct{ what, seen, wanted string }

func show(rows []row) error {
	fmt.Println("| what | seen | wanted |\n|---|---|---|")
	for _, r := range rows {
		fmt.Printf("| %s | %s | %s |\n", r.what, r.seen, r.wanted)
	}
	return nil
}

const (
	// before and after bound the time around a handover that counts as its own.
	before = 200 * time.Millisecond
	after  = 2 * time.Second
)

// handOver drains the owner and takes that back, again and again, at 1,000
// requests per second.
func (b *bench) handOver(ctx context.Context) ([]row, error) {
	if b.handovers == 0 {
		return nil, nil
	}
	w, err := b.watch(ctx, b.every)
	if err != nil {
		return nil, err
	}
	wait(ctx, time.Second)
	var moves []time.Time
	for len(moves) < b.handovers {
		owner, err := b.owner(ctx, anyone)
		if err != nil {
			return nil, err
		}
		for _, note := range []string{"=bench", "-"} {
			moves = append(moves, time.Now())
			if _, err := b.Kubectl(ctx, "annotate", "node", owner, "lb.fairlead.dev/drain"+note); err != nil {
				return nil, err
			}
			if _, err := b.owner(ctx, func(now string) bool { return (now == owner) == (note == "-") }); err != nil {
				return nil, err
			}
			wait(ctx, after)
		}
		b.progress("%d handovers", len(moves))
	}
	r, err := w.Stop()
	if err != nil {
		return nil, err
	}
	lost := r.Lost()
	for _, q := range lost[:min(5, len(lost))] {
		b.progress("lost at %s: %s", q.At.Format(time.StampMilli), q.Error)
	}
	for i, at := range moves {
		b.progress("handover %d began at %s", i+1, at.Format(time.StampMilli))
	}
	return handOverRows(r, moves), nil
}

func handOverRows(r *witness.Report, moves []time.Time) []row {
	var silences []time.Duration
	worst, total := 0, 0
	for _, at := range moves {
		own := witness.Report{}
		for _, q := range r.Requests {
			if q.At.After(at.Add(-before)) && q.At.Before(at.Add(after)) {
				own.Requests = append(own.Requests, q)
			}
		}
		silence, _ := own.Silence()
		silences = append(silences, silence)
		lost := len(own.Lost())
		worst, total = max(worst, lost), total+lost
	}
	all := sorted(silences)
	span := r.Requests[len(r.Requests)-1].At.Sub(r.Requests[0].At).Seconds()
	return []row{
		{
			fmt.Sprintf("planned handover, %d times at %.0f requests/s: longest time without an answer", len(moves), float64(len(r.Requests))/span),
			fmt.Sprintf("p50 %v, p95 %v", ms(percentile(all, 0.5)), ms(percentile(all, 0.95))), "p95 ≤ 300 ms",
		},
		{"requests lost in a handover", fmt.Sprintf("%d at most, %d in all %d", worst, total, len(moves)), "≤ 1"},
	}
}

// takeOver lets the owner die again and again.
func (b *bench) takeOver(ctx context.Context) ([]row, error) {
	var silences []time.Duration
	for i := range b.takeovers {
		silence, err := b.die(ctx)
		if err != nil {
			return nil, err
		}
		silences = append(silences, silence)
		b.progress("takeover %d: %v", i+1, ms(silence))
	}
	if len(silences) == 0 {
		return nil, nil
	}
	all := sorted(silences)
	how := "power of the owner off"
	if b.cut {
		how = "cable of the owner cut"
	}
	return []row{{
		fmt.Sprintf("%s, %d times: until the first answered request", how, len(all)),
		fmt.Sprintf("p50 %v, p95 %v, max %v", ms(percentile(all, 0.5)), ms(percentile(all, 0.95)), ms(all[len(all)-1])), "p50 ≤ 1.5 s, p95 ≤ 2 s",
	}}, nil
}

// die takes the owner away, waits for an answer, and brings it back.
func (b *bench) die(ctx context.Context) (time.Duration, error) {
	owner, err := b.owner(ctx, anyone)
	if err != nil {
		return 0, err
	}
	w, err := b.watch(ctx, 10*time.Millisecond)
	if err != nil {
		return 0, err
	}
	wait(ctx, 500*time.Millisecond)
	kill, revive := b.Cluster.StopNode, b.Cluster.StartNode
	if b.cut {
		kill, revive = b.Cluster.Cut, b.Cluster.Heal
	}
	at := time.Now()
	if err := kill(ctx, owner); err != nil {
		return 0, err
	}
	wait(ctx, 3500*time.Millisecond)
	r, err := w.Stop()
	if err != nil {
		return 0, err
	}
	if err := revive(ctx, owner); err != nil {
		return 0, err
	}
	if err := b.Cluster.WaitNodes(ctx); err != nil {
		return 0, err
	}
	for _, d := range []string{"metallb-system daemonset/speaker", "default daemonset/echo"} {
		var namespace, name string
		if _, err := fmt.Sscan(d, &namespace, &name); err != nil {
			return 0, fmt.Errorf("name of a DaemonSet: %w", err)
		}
		if _, err := b.Kubectl(ctx, "-n", namespace, "rollout", "status", name, "--timeout=90s"); err != nil {
			return 0, err
		}
	}
	wait(ctx, 3*time.Second)
	silence, from := r.Silence()
	if from.Before(at.Add(-time.Second)) {
		return 0, errors.New("the longest silence was not after the death")
	}
	if _, answered := r.FirstAnswerAfter(from.Add(silence / 2)); !answered {
		return 0, errors.New("nobody answered any more")
	}
	return silence, nil
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
