package main

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead/fairlead/test/witness"
)

// handover is one planned handover: what was lost around it, the longest time
// without an answer in milliseconds, and how many requests per second there
// really were.
type handover struct {
	Lost    int     `json:"lost"`
	Silence float64 `json:"silence"`
	Rate    float64 `json:"rate"`
}

// leastRate is when requests count as 1,000 per second.
const leastRate = 980

const (
	// before and after bound the time around a handover that counts as its own.
	before = 200 * time.Millisecond
	after  = 2 * time.Second
)

// handOver drains the owner and takes that back, again and again, at 1,000
// requests per second.
func (b *bench) handOver(ctx context.Context) error {
	w, err := b.watch(ctx, b.every)
	if err != nil {
		return err
	}
	wait(ctx, time.Second)
	var moves []time.Time
	for len(moves) < b.handovers {
		owner, err := b.owner(ctx, anyone)
		if err != nil {
			return err
		}
		for _, note := range []string{"=bench", "-"} {
			moves = append(moves, time.Now())
			if _, err := b.Kubectl(ctx, "annotate", "node", owner, "lb.fairlead.dev/drain"+note); err != nil {
				return err
			}
			if _, err := b.owner(ctx, func(now string) bool { return (now == owner) == (note == "-") }); err != nil {
				return err
			}
			wait(ctx, after)
		}
		b.progress("%d handovers", len(moves))
	}
	r, err := w.Stop()
	if err != nil {
		return err
	}
	lost := r.Harmed()
	for _, q := range lost[:min(5, len(lost))] {
		b.progress("lost at %s: %s", q.At.Format(time.StampMilli), q.Error)
	}
	for i, at := range moves {
		b.progress("handover %d began at %s", i+1, at.Format(time.StampMilli))
	}
	for _, at := range moves {
		b.results.Handovers = append(b.results.Handovers, around(r, at))
	}
	return nil
}

// around returns what belongs to the handover that began at a time.
func around(r *witness.Report, at time.Time) handover {
	own := witness.Report{}
	for _, q := range r.Requests {
		if q.At.After(at.Add(-before)) && q.At.Before(at.Add(after)) {
			own.Requests = append(own.Requests, q)
		}
	}
	silence, _ := own.Silence()
	return handover{Lost: len(own.Harmed()), Silence: milliseconds(silence), Rate: float64(len(own.Requests)) / (before + after).Seconds()}
}

// handovers is what several come to.
type handovers struct {
	times, lost, worst int
	p50, p95           float64
	slowest            float64 // requests per second
}

func sum(all []handover) handovers {
	out := handovers{times: len(all)}
	var silences []float64
	for i, h := range all {
		silences = append(silences, h.Silence)
		out.lost, out.worst = out.lost+h.Lost, max(out.worst, h.Lost)
		if i == 0 || h.Rate < out.slowest {
			out.slowest = h.Rate
		}
	}
	out.p50, out.p95, _ = spread(silences)
	return out
}

// takeOver lets the owner die again and again.
func (b *bench) takeOver(ctx context.Context) error {
	for i := range b.takeovers {
		silence, err := b.die(ctx)
		if err != nil {
			return err
		}
		b.results.Takeovers = append(b.results.Takeovers, milliseconds(silence))
		b.progress("takeover %d: %v", i+1, silence.Round(time.Millisecond))
	}
	return nil
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
	at := time.Now()
	if err := b.Cluster.StopNode(ctx, owner); err != nil {
		return 0, err
	}
	wait(ctx, 3500*time.Millisecond)
	r, err := w.Stop()
	if err != nil {
		return 0, err
	}
	if err := b.revive(ctx, owner); err != nil {
		return 0, err
	}
	silence, from := r.Silence()
	if from.Before(at.Add(-time.Second)) {
		return 0, errors.New("the longest silence was not after the death")
	}
	if _, answered := r.FirstAnswerAfter(from.Add(silence / 2)); !answered {
		return 0, errors.New("nobody answered any more")
	}
	return silence, nil
}

// revive gives a node its power back, and waits until all is as it was.
func (b *bench) revive(ctx context.Context, node string) error {
	if err := b.Cluster.StartNode(ctx, node); err != nil {
		return err
	}
	for _, d := range [][2]string{{"metallb-system", "speaker"}, {"default", "echo"}} {
		if _, err := b.Kubectl(ctx, "-n", d[0], "rollout", "status", "daemonset/"+d[1], "--timeout=90s"); err != nil {
			return err
		}
	}
	wait(ctx, 3*time.Second)
	return nil
}
