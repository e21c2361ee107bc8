package feed

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/render"
)

// Bounds of what is kept.
const (
	// KeptRequests is how many there are at most.
	KeptRequests = 10_000
	// KeptBytes is the memory that they have at most.
	KeptBytes = 5 << 20
	// keptPerSecond is how many are taken in a second. Where there are more, HAProxy writes none for keptPause.
	keptPerSecond, keptPause = 500, 5 * time.Second
	// keptOverhead is the memory of one beside its texts.
	keptOverhead = 120
)

// kept is a record as HAProxy wrote it.
type kept struct {
	at              time.Time
	id, trace, line string
}

func (k *kept) bytes() int { return len(k.id) + len(k.trace) + len(k.line) + keptOverhead }

// store has the newest requests that failed. The feed's mutex guards it.
type store struct {
	on       bool
	requests []kept
	bytes    int
	// since is the time from which on none has gone.
	since time.Time
	// taken are those of a second, leftOut those that were too many, and pausedUntil ends the pause after that.
	second, leftOut int64
	taken           int
	pausedUntil     time.Time
}

// turn begins or ends keeping. At the end nothing is left.
func (s *store) turn(on bool, now time.Time) {
	if s.on == on {
		return
	}
	*s = store{on: on}
	if on {
		s.since = now
	}
}

// writes reports whether HAProxy is to write what fails.
func (s *store) writes(now time.Time) bool { return s.on && !now.Before(s.pausedUntil) }

// takes reports whether a line of the ring is taken in. Of more than there is room for HAProxy writes none for a while.
func (s *store) takes(line []byte, now time.Time) bool {
	if !s.on || !observe.Failed(line) {
		return false
	}
	if second := now.Unix(); second != s.second {
		s.second, s.taken = second, 0
	}
	if s.taken < keptPerSecond {
		return true
	}
	s.leftOut++
	s.since, s.pausedUntil = now, now.Add(keptPause)
	return false
}

// add takes a record in, and lets go what is too old or too much.
func (s *store) add(r *observe.Record, line []byte, now time.Time) {
	s.taken++
	k := kept{at: now, id: r.ID, trace: r.Trace(), line: string(line)}
	s.requests = append(s.requests, k)
	s.bytes += k.bytes()
	s.expire(now)
	gone := 0
	for len(s.requests)-gone > KeptRequests || s.bytes > KeptBytes {
		s.since = s.requests[gone].at
		s.bytes -= s.requests[gone].bytes()
		gone++
	}
	s.forget(gone)
}

// expire lets go what is too old.
func (s *store) expire(now time.Time) {
	gone := 0
	for gone < len(s.requests) && now.Sub(s.requests[gone].at) > observe.KeptFor {
		s.bytes -= s.requests[gone].bytes()
		gone++
	}
	s.forget(gone)
	if first := now.Add(-observe.KeptFor); s.on && s.since.Before(first) {
		s.since = first
	}
}

// forget takes the first ones away.
func (s *store) forget(n int) {
	clear(s.requests[:n]) // their texts are free at once
	s.requests = s.requests[n:]
}

// find returns the newest requests of an ID.
func (s *store) find(id string) []observe.Record {
	found := []observe.Record{}
	for i := len(s.requests) - 1; i >= 0 && len(found) < observe.KeptAnswers; i-- {
		k := &s.requests[i]
		if k.id != id && (k.trace == "" || k.trace != id) {
			continue
		}
		if r, ok := observe.Parse([]byte(k.line)); ok {
			found = append(found, r)
		}
	}
	return found
}

// Keep has requests that fail kept for a while, if HAProxy's settings have it write them, or no more, which also forgets them.
func (f *Feed) Keep(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept.turn(on, time.Now())
	f.ring()
}

// keptKeys are the keys for what is kept.
func (f *Feed) keptKeys(now time.Time) []string {
	if f.kept.expire(now); f.kept.writes(now) {
		return []string{render.KeptKey}
	}
	return nil
}

// serveKept answers with what is kept of one ID.
func (f *Feed) serveKept(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "only GET is served", http.StatusMethodNotAllowed)
		return
	}
	id := strings.TrimPrefix(r.URL.Path, observe.KeptPath)
	if id == "" || len(id) > render.IDBytes {
		http.Error(w, "write the ID of a request behind "+observe.KeptPath, http.StatusBadRequest)
		return
	}
	answer := f.lookUp(id, time.Now())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

func (f *Feed) lookUp(id string, now time.Time) observe.Kept {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept.expire(now)
	k := observe.Kept{
		Schema: observe.SchemaKept, On: f.kept.on, Found: f.kept.find(id), Requests: len(f.kept.requests),
		Since: f.kept.since, LeftOut: f.kept.leftOut,
	}
	if f.problem != nil && f.kept.on {
		k.Problem = f.problem.Error()
	}
	return k
}
