package agent

import (
	"encoding/hex"
	"iter"
	"maps"
	"os"
	"strings"
	"time"
)

// longestEnd is how long an ended session of another router is remembered at most: longer than any session
// lasts.
const longestEnd = 24 * time.Hour

// sameEnd is by how much later an end has to be to be another one.
const sameEnd = time.Second

// endsOf are the ended sessions of an engine for the other routers.
type endsOf struct{ e *Engine }

// Take notes a session that was ended at another router.
func (o endsOf) Take(name string, remains time.Duration) {
	now := o.e.now()
	until := now.Add(min(remains, longestEnd))
	// What is known already comes once more with each connection, a moment later by the time that it took.
	if !validSessionName(name) || remains <= 0 || until.Before(o.e.ended.when(name).Add(sameEnd)) {
		return
	}
	if err := o.e.ended.add(name, until, now); err != nil {
		o.e.log.Error("a logout at another router is known to this worker only, as long as it runs", "err", err)
	}
}

// All are the sessions that have been ended and would not have ended by themselves.
func (o endsOf) All() iter.Seq2[string, time.Duration] {
	now := o.e.now()
	all := o.e.ended.all()
	return func(yield func(string, time.Duration) bool) {
		for name, until := range all {
			if remains := until.Sub(now); remains > 0 && !yield(name, remains) {
				return
			}
		}
	}
}

// all returns what is remembered, of the other worker, too.
func (s *endedSessions) all() map[string]time.Time {
	s.mu.Lock()
	all := maps.Clone(s.until)
	s.mu.Unlock()
	if s.dir == "" {
		return all
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil { // before the first end
		return all
	}
	for _, e := range entries {
		if len(all) > mostEnded {
			break
		}
		if info, err := e.Info(); err == nil && validSessionName(e.Name()) {
			all[e.Name()] = info.ModTime()
		}
	}
	return all
}

// validSessionName reports whether a text may be what sessionName returns. It is the name of a file.
func validSessionName(name string) bool {
	bound, id, ok := strings.Cut(name, ".")
	return ok && isDigest(bound) && isDigest(id)
}

func isDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32 && strings.ToLower(text) == text
}
