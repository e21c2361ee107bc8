package main

import (
	"context"
	"time"
)

// profiled runs a phase, with a profile of the router if profiles are asked for.
func (b *bench) profiled(ctx context.Context, name string, lasting time.Duration, phase func() error) error {
	return b.router.ProfileWhile(ctx, b.profile, name, lasting, phase)
}

// takeHeap writes what the router holds in memory to PREFIX-name.heap, if
// profiles are asked for.
func (b *bench) takeHeap(ctx context.Context, name string) error {
	if b.profile == "" {
		return nil
	}
	return b.router.Heap(ctx, b.profile+"-"+name+".heap")
}
