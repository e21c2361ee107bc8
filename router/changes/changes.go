// Package changes collects what changed in a source of objects until the engine takes it.
package changes

import (
	"sync"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// Set collects changes until they are taken.
type Set struct {
	mu      sync.Mutex
	changes door.Changes
	wake    chan struct{}
}

// New returns a set in which everything has changed: nothing has been read yet.
func New() *Set {
	s := &Set{wake: make(chan struct{}, 1)}
	s.MarkAll()
	return s
}

// MarkAll notes that everything may differ.
func (s *Set) MarkAll() {
	s.mu.Lock()
	// Single keys say nothing more.
	s.changes = door.Changes{All: true}
	s.mu.Unlock()
	s.signal()
}

// Mark notes a changed object.
func (s *Set) Mark(o model.Object) {
	s.mu.Lock()
	if !s.changes.All {
		if s.changes.Objects == nil {
			s.changes.Objects = model.Objects{}
		}
		s.changes.Objects[o] = struct{}{}
	}
	s.mu.Unlock()
	s.signal()
}

// Take returns what has been noted since the last call.
func (s *Set) Take() door.Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.changes
	s.changes = door.Changes{}
	return taken
}

// Wake receives after something has been noted. Several changes may cause one value.
func (s *Set) Wake() <-chan struct{} { return s.wake }

func (s *Set) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
