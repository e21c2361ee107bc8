package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// debounce makes one pass of many changes of targets: it waits until nothing has
// changed for a while, up to a limit.
type debounce struct {
	quiet, patience time.Duration

	mu    sync.Mutex
	waits map[types.NamespacedName]span
}

type span struct {
	first, last time.Time
	urgent      bool
}

func newDebounce(quiet, patience time.Duration) *debounce {
	return &debounce{quiet: quiet, patience: patience, waits: map[types.NamespacedName]span{}}
}

// note notes a change.
func (d *debounce) note(key types.NamespacedName, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.waits[key]
	if s.first.IsZero() {
		s.first = now
	}
	s.last = now
	d.waits[key] = s
}

// urgent notes a change that must not wait.
func (d *debounce) urgent(key types.NamespacedName, now time.Time) {
	d.note(key, now)
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.waits[key]
	s.urgent = true
	d.waits[key] = s
}

// wait returns how long a pass must still wait; at 0 the changes are taken,
// and the next change begins a new wait.
func (d *debounce) wait(key types.NamespacedName, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.waits[key]
	if !ok {
		return 0
	}
	left := min(d.quiet-now.Sub(s.last), d.patience-now.Sub(s.first))
	if left <= 0 || s.urgent {
		delete(d.waits, key)
		return 0
	}
	return left
}
