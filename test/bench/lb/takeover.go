package main

import (
	"context"
	"errors"
	"time"
)

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
	pause(ctx, 500*time.Millisecond)
	at := time.Now()
	if err := b.Cluster.StopNode(ctx, owner); err != nil {
		return 0, err
	}
	pause(ctx, 3500*time.Millisecond)
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
	pause(ctx, 3*time.Second)
	return nil
}
