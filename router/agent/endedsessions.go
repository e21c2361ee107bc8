package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// mostEnded bounds the sessions that are remembered as ended: in the folder each of them is a
// file without content.
const mostEnded = 10_000

// endedSessions are sessions that their users have ended. Cookies need no memory of sessions,
// so a copy of them would go on until its tokens end. They are kept in a folder in memory, by
// which a logout at one worker holds at the other, and when a worker starts again; without
// a folder, in this worker alone.
type endedSessions struct {
	dir string
	mu  sync.Mutex
	// until is when a session would have ended anyway, by its name.
	until map[string]time.Time
}

func newEndedSessions(dir string) *endedSessions {
	return &endedSessions{dir: dir, until: map[string]time.Time{}}
}

// sessionName is a name of a session that tells nothing of it.
func sessionName(bound, id string) string {
	sum := sha256.Sum256([]byte(bound + " " + id))
	return hex.EncodeToString(sum[:])
}

// has reports whether a session has been ended.
func (s *endedSessions) has(name string, now time.Time) bool {
	s.mu.Lock()
	until, ended := s.until[name]
	s.mu.Unlock()
	if ended || s.dir == "" {
		return ended && now.Before(until)
	}
	info, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil && now.Before(info.ModTime())
}

// add ends a session. The time of its file is when it may be forgotten.
func (s *endedSessions) add(name string, until, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := ""
	for n, u := range s.until {
		if !now.Before(u) {
			delete(s.until, n)
		} else if first == "" || u.Before(s.until[first]) {
			first = n
		}
	}
	if len(s.until) >= mostEnded {
		delete(s.until, first)
	}
	s.until[name] = until
	if s.dir == "" {
		return nil
	}
	return s.keep(name, until, now)
}

func (s *endedSessions) keep(name string, until, now time.Time) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	s.clean(now)
	path := filepath.Join(s.dir, name)
	// Under its own name it would be of no time for a moment.
	fresh := path + ".new"
	if err := os.WriteFile(fresh, nil, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(fresh, until, until); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// clean removes what has ended, and of the others the one that ends first if there is no room.
func (s *endedSessions) clean(now time.Time) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	left, first := 0, ""
	var ends time.Time
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case !now.Before(info.ModTime()):
			_ = os.Remove(filepath.Join(s.dir, e.Name()))
		default:
			if left++; first == "" || info.ModTime().Before(ends) {
				first, ends = e.Name(), info.ModTime()
			}
		}
	}
	if left >= mostEnded {
		_ = os.Remove(filepath.Join(s.dir, first))
	}
}
