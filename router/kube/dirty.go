package kube

import (
	"sync"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// dirtySet collects changes until somebody takes them.
type dirtySet struct {
	mu      sync.Mutex
	changes door.Changes
	wake    chan struct{}
}

// newDirtySet starts with everything dirty: nothing has been read yet.
func newDirtySet() *dirtySet {
	d := &dirtySet{wake: make(chan struct{}, 1)}
	d.markAll()
	return d
}

func (d *dirtySet) markAll() {
	d.mu.Lock()
	// Single keys say nothing more.
	d.changes = door.Changes{All: true}
	d.mu.Unlock()
	d.signal()
}

func (d *dirtySet) markRoute(key model.Key) {
	d.mark(func(c *door.Changes) *map[model.Key]struct{} { return &c.Routes }, key)
}

func (d *dirtySet) markService(key model.Key) {
	d.mark(func(c *door.Changes) *map[model.Key]struct{} { return &c.Services }, key)
}

func (d *dirtySet) markSecret(key model.Key) {
	d.mark(func(c *door.Changes) *map[model.Key]struct{} { return &c.Secrets }, key)
}

func (d *dirtySet) mark(set func(*door.Changes) *map[model.Key]struct{}, key model.Key) {
	d.mu.Lock()
	if !d.changes.All {
		keys := set(&d.changes)
		if *keys == nil {
			*keys = map[model.Key]struct{}{}
		}
		(*keys)[key] = struct{}{}
	}
	d.mu.Unlock()
	d.signal()
}

func (d *dirtySet) take() door.Changes {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.changes
	d.changes = door.Changes{}
	return taken
}

func (d *dirtySet) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
