package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// mostEnded bounds the sessions that are remembered as ended: in the folder each of them is a
	// file without content, and there may be endedBatch more for each worker.
	mostEnded = 10_000
	// endedBatch is how many are forgotten together, and after how many new ones the folder is
	// cleaned: a look at all of it takes milliseconds.
	endedBatch = mostEnded / 10
)

// endedSessions are sessions that their users have ended. Cookies need no memory of sessions,
// so a copy of them would go on until its tokens end. They are kept in a folder in memory, by
// which a logout at one worker holds at the other, and when a worker starts again; without
// a folder, in this worker alone.
type endedSessions struct {
	dir string

	mu sync.Mutex // guards until
	// until is when a session would have ended anyway, by its name.
	until map[string]time.Time

	cleaning sync.Mutex // guards written: requests do not wait for a look at the folder
	written  int
}

func newEndedSessions(dir string) *endedSessions {
	return &endedSessions{dir: dir, until: map[string]time.Time{}}
}

// sessionName is a name of a session that does not give away its ID: with whose it is forgotten
// (login.group), and a hash.
func sessionName(group, id string) string {
	sum := sha256.Sum256([]byte(group + " " + id))
	return group + "." + hex.EncodeToString(sum[:])
}

// has reports whether a session has been ended.
func (s *endedSessions) has(name string, now time.Time) bool { return now.Before(s.when(name)) }

// when returns until when it is remembered that a session has been ended, by either worker; the zero time
// if it has not been.
func (s *endedSessions) when(name string) time.Time {
	s.mu.Lock()
	until := s.until[name]
	s.mu.Unlock()
	if s.dir == "" {
		return until
	}
	if info, err := os.Stat(filepath.Join(s.dir, name)); err == nil && info.ModTime().After(until) {
		return info.ModTime()
	}
	return until
}

// add ends a session. The error says why the other worker does not know of it.
func (s *endedSessions) add(name string, until, now time.Time) error {
	s.note(name, until, now)
	if s.dir == "" {
		return nil
	}
	if err := s.keep(name, until); err != nil {
		return fmt.Errorf("note the end of a session: %w", err)
	}
	s.clean(now)
	return nil
}

// note remembers an end in this worker, and reports whether it did not before.
func (s *endedSessions) note(name string, until, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.until[name]
	s.until[name] = until
	if len(s.until) > mostEnded {
		for _, n := range forgettable(s.until, now) {
			delete(s.until, n)
		}
	}
	return !known || !now.Before(before)
}

// freshSuffix is that of files which have no time of their own yet.
const freshSuffix = ".new"

// keep makes the file of a session. Its time is when it may be forgotten.
func (s *endedSessions) keep(name string, until time.Time) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(s.dir, name)
	fresh := path + freshSuffix
	if err := os.WriteFile(fresh, nil, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(fresh, until, until); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// clean removes what may be forgotten, at the first end of a session and after each batch.
func (s *endedSessions) clean(now time.Time) {
	s.cleaning.Lock()
	defer s.cleaning.Unlock()
	s.written++
	if s.written%endedBatch != 1 {
		return
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	all := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		// The other worker is about to give it its time and name.
		if strings.HasSuffix(e.Name(), freshSuffix) && now.Sub(info.ModTime()) < time.Minute {
			continue
		}
		all[e.Name()] = info.ModTime()
	}
	for _, n := range forgettable(all, now) {
		_ = os.Remove(filepath.Join(s.dir, n))
	}
}

// forgettable returns the sessions that would have ended anyway and, if there are more than
// mostEnded, others until there is room for a batch: those that end first, of what has the
// most. So a namespace whose users log out without end, at however many providers, has its own
// sessions forgotten.
func forgettable(all map[string]time.Time, now time.Time) (names []string) {
	groups, left := map[string][]string{}, 0
	for n, until := range all {
		if !now.Before(until) {
			names = append(names, n)
			continue
		}
		group, _, _ := strings.Cut(n, ".")
		groups[group] = append(groups[group], n)
		left++
	}
	if left <= mostEnded {
		return names
	}
	sorted := slices.Collect(maps.Values(groups))
	for _, g := range sorted {
		slices.SortFunc(g, func(a, b string) int { return all[a].Compare(all[b]) })
	}
	for ; left > mostEnded-endedBatch; left-- {
		most := 0
		for i, g := range sorted {
			if len(g) > len(sorted[most]) {
				most = i
			}
		}
		names = append(names, sorted[most][0])
		sorted[most] = sorted[most][1:]
	}
	return names
}
