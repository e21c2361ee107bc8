package kube

import (
	"sync"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// dirtySet collects changes until the engine takes them.
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

// mark notes a changed object.
func (d *dirtySet) mark(o model.Object) {
	d.mu.Lock()
	if !d.changes.All {
		if d.changes.Objects == nil {
			d.changes.Objects = model.Objects{}
		}
		d.changes.Objects[o] = struct{}{}
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
