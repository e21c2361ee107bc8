// Package parts runs the goroutines of a process.
package parts

import (
	"fmt"
	"sync"
)

// Parts are the goroutines of a process.
type Parts struct {
	running sync.WaitGroup
	failed  chan error
}

// New returns parts of which none runs.
func New() *Parts { return &Parts{failed: make(chan error, 16)} }

// Start runs a part, whose error ends the process.
func (p *Parts) Start(name string, run func() error) {
	p.running.Go(func() {
		if err := run(); err != nil {
			p.failed <- fmt.Errorf("%s: %w", name, err)
		}
	})
}

// Failed receives the error of a part.
func (p *Parts) Failed() <-chan error { return p.failed }

// Wait waits until all parts have ended.
func (p *Parts) Wait() { p.running.Wait() }

// Bell returns a function that does not block, and the channel that receives
// after it has been called.
func Bell() (ring func(), rung <-chan struct{}) {
	c := make(chan struct{}, 1)
	return func() {
		select {
		case c <- struct{}{}:
		default:
		}
	}, c
}
