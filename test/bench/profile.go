package main

import (
	"context"
	"time"
)

// profiled runs a phase while the router profiles itself for so long, if
// profiles are asked for. The profile goes to PREFIX-name.pprof.
func (b *bench) profiled(ctx context.Context, name string, lasting time.Duration, phase func() error) error {
	if b.profile == "" {
		return phase()
	}
	done := make(chan error, 1)
	go func() { done <- b.router.Profile(ctx, b.profile+"-"+name+".pprof", lasting) }()
	if err := phase(); err != nil {
		return err
	}
	return <-done
}

// takeHeap writes what the router holds in memory to PREFIX-name.heap, if
// profiles are asked for.
func (b *bench) takeHeap(ctx context.Context, name string) error {
	if b.profile == "" {
		return nil
	}
	return b.router.Heap(ctx, b.profile+"-"+name+".heap")
}
