package process

import (
	"context"
	"fmt"
	"maps"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

func (s *Supervisor) generations() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := map[string]uint64{}
	for name, c := range s.workers {
		if c.alive {
			g[name] = c.last.Generation
		}
	}
	return g
}

// state is what the workers say by now.
func (s *Supervisor) state() Reply {
	r := Reply{Generations: s.generations()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range Workers() {
		if c := s.workers[name]; c != nil && c.alive && r.Closed == nil && len(c.last.Closed) > 0 {
			r.Closed = maps.Clone(c.last.Closed)
		}
	}
	r.Troubles = s.joined()
	return r
}

// joined are the troubles of all workers. The caller holds mu.
func (s *Supervisor) joined() snapshot.Troubles {
	all := snapshot.Troubles{}
	for _, name := range Workers() {
		for id, list := range s.troubles[name] {
			all[id] = snapshot.Worst(all[id], list)
		}
	}
	return all
}

// wait waits until both workers decide by a generation.
func (s *Supervisor) wait(ctx context.Context, generation uint64) Reply {
	for {
		r := s.state()
		done, changed := s.progress(generation, &r)
		if done == len(Workers()) || r.Error != "" {
			return r
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.Error = fmt.Sprintf("%d of %d workers decide by it", done, len(Workers()))
			return r
		}
	}
}

// progress adds to r what the workers say about the last snapshot. It returns how many
// of them decide by a generation, and what is closed at the next report.
func (s *Supervisor) progress(generation uint64, r *Reply) (done int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.workers {
		if !c.alive {
			continue
		}
		if c.last.Load == s.load && c.last.Error != "" {
			r.Error = "worker " + c.name + ": " + c.last.Error
		}
		if c.last.Generation == generation && (c.last.Load == s.load || c.last.Load == 0) {
			done++
		}
	}
	return done, s.changed
}
