package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// measure returns the whole table.
func measure(ctx context.Context) ([]Row, error) {
	b, end, err := newBed(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var rows []Row
	for _, part := range []func() ([]Row, error){
		func() ([]Row, error) { return b.life(hook.KindNetwork, "network") },
		func() ([]Row, error) { return b.life(hook.KindApplication, "application") },
		b.targets, b.hundred,
	} {
		more, err := part()
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// windows of ten minutes make six hours.
const windows = 36

// life is that of one load balancer, alone.
func (b *bed) life(kind hook.Kind, name string) ([]Row, error) {
	spec := router(0, kind, 0, 4)
	comes, _, err := b.cost(func() error { return b.ensure(spec) })
	if err != nil {
		return nil, err
	}
	most, changed, all := 0, 0, 0
	for range windows {
		b.ahead += 10 * time.Minute
		changes, reads, err := b.cost(func() error { _, err := b.hook.Ensure(b.ctx, spec); return err })
		if err != nil {
			return nil, err
		}
		most, changed, all = max(most, len(reads)), changed+len(changes), all+len(reads)
	}
	spec.SourceRanges = []string{"198.18.0.0/16"}
	ranges, _, rangesErr := b.cost(func() error { return b.ensure(spec) })
	goes, _, goesErr := b.cost(func() error { return b.remove(spec) })
	return []Row{
		{
			"nothing, for ten minutes of heartbeats (" + name + ")", "0 changes, 2 reads", fmt.Sprintf("%d changes, at most %d reads", changed, most),
			changed == 0 && most <= 2 && all > 0, // without any read drift would never be found
		},
		{"a load balancer comes (" + name + ")", "", fmt.Sprintf("%d changes", len(comes)), true},
		{"its source ranges change (" + name + ")", "2 changes", fmt.Sprintf("%d changes", len(ranges)), len(ranges) <= 2},
		{"it goes (" + name + ")", "", fmt.Sprintf("%d changes", len(goes)), true},
	}, errors.Join(rangesErr, goesErr)
}

// targets counts the calls of nodes that come and go, for two ports.
func (b *bed) targets() ([]Row, error) {
	if err := b.ensure(router(0, hook.KindNetwork, 0, 4)); err != nil {
		return nil, err
	}
	update := func(first, nodes int) (string, int, error) {
		changes, _, err := b.cost(func() error {
			_, err := b.hook.UpdateTargets(b.ctx, router(0, hook.KindNetwork, first, nodes))
			return err
		})
		in, out := count(changes, "RegisterTargets"), count(changes, "DeregisterTargets")
		text := fmt.Sprintf("%d RegisterTargets", in)
		if out > 0 {
			text += fmt.Sprintf(", %d DeregisterTargets", out)
		}
		return text, len(changes), err
	}
	joined, nJoined, err := update(0, 204)
	if err != nil {
		return nil, err
	}
	replaced, nReplaced, err := update(100, 204)
	if err != nil {
		return nil, err
	}
	many := router(1, hook.KindNetwork, 0, 450)
	changes, _, err := b.cost(func() error { return b.ensure(many) })
	first := count(changes, "RegisterTargets")
	return []Row{
		{"200 nodes join at once", "5 RegisterTargets", joined, nJoined <= 5},
		{"100 of 204 nodes are replaced", "2 + 2", replaced, nReplaced <= 4},
		{"a load balancer with 450 nodes comes", "6 RegisterTargets", fmt.Sprintf("%d RegisterTargets", first), first <= 6},
	}, errors.Join(err, b.remove(many), b.remove(router(0, hook.KindNetwork, 0, 4)))
}

// balancers is how many there are when the operator starts again.
const balancers = 100

// maxReads is what a load balancer may cost at most when the operator starts again.
const maxReads = 15

// hundred counts the calls of an operator that starts again.
func (b *bed) hundred() ([]Row, error) {
	for n := range balancers {
		if err := b.ensure(router(n, hook.KindNetwork, 0, 4)); err != nil {
			return nil, err
		}
	}
	if err := b.restart(); err != nil {
		return nil, err
	}
	changes, reads, err := b.cost(func() error {
		for n := range balancers {
			if r, err := b.hook.Ensure(b.ctx, router(n, hook.KindNetwork, 0, 4)); err != nil || r.State != hook.StateReady {
				return fmt.Errorf("load balancer %d: %+v, %w", n, r, err)
			}
		}
		return nil
	})
	return []Row{{
		fmt.Sprintf("the operator starts again, with %d load balancers", balancers), fmt.Sprintf("0 changes, %d reads each", maxReads),
		fmt.Sprintf("%d changes, %.1f reads each", len(changes), float64(len(reads))/balancers), len(changes) == 0 && len(reads) <= maxReads*balancers,
	}}, err
}
