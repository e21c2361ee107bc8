// Package outlier decides which endpoints get no requests for a while, because requests
// to them have failed. It is pure: the errors are counted elsewhere.
package outlier

import (
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Errors are what HAProxy has counted of a server since it started.
type Errors struct {
	// Connections could not be made. Answers did not come, or were none. Statuses are
	// answers from 500 to 599.
	Connections, Answers, Statuses int64
}

const (
	// parts of the window move on one by one, so that errors around the end of a window
	// count together.
	parts = 4
	// mostRow is how often in a row an ejection gets longer, calmFor after how many times
	// its length without another one it is the first again.
	mostRow, calmFor = 10, 10
)

// Ledger holds what is known of servers. The zero value is not ready; see New.
type Ledger struct {
	servers map[string]map[string]*server
}

// New returns a ledger that knows of no server.
func New() *Ledger { return &Ledger{servers: map[string]map[string]*server{}} }

type server struct {
	last  Errors
	known bool
	// counts are those of the parts of the window, of which current is the newest.
	counts  [parts]int64
	current int64
	// until is when an ejection ends, ended when the last one did, and row how many
	// followed each other.
	until, ended time.Time
	row          int
}

// Ejected reports whether a server gets no requests.
func (l *Ledger) Ejected(backend, name string) bool {
	s := l.servers[backend][name]
	return s != nil && !s.until.IsZero()
}

// Take takes in what has been counted of a backend's servers, and reports whether it
// ejects others than before.
func (l *Ledger) Take(b *model.Backend, counted map[string]Errors, now time.Time) (changed bool) {
	p := b.Health.Passive
	of := l.servers[b.Name()]
	if of == nil {
		of = map[string]*server{}
		l.servers[b.Name()] = of
	}
	all, out := 0, 0
	b.Targets(func(m *model.Server, _ model.ProbeTarget) {
		all++
		s := of[m.Name()]
		if s == nil {
			s = &server{}
			of[m.Name()] = s
		}
		changed = s.end(p, now) || changed
		if !s.until.IsZero() {
			out++
		}
	})
	for name, s := range of {
		e, has := counted[name]
		if !has {
			delete(of, name)
			continue
		}
		if s.add(p, e, now) < int64(p.Errors) || !s.until.IsZero() || (out+1)*100 > p.MostPercent*all {
			continue
		}
		s.eject(p, now)
		out, changed = out+1, true
	}
	return changed
}

// Forget drops a backend.
func (l *Ledger) Forget(backend string) { delete(l.servers, backend) }

// Count returns how many servers are ejected.
func (l *Ledger) Count() (n int) {
	for _, of := range l.servers {
		for _, s := range of {
			if !s.until.IsZero() {
				n++
			}
		}
	}
	return n
}

// add counts further errors, and returns how many the window has.
func (s *server) add(p *model.Passive, e Errors, now time.Time) (sum int64) {
	var more int64
	for _, c := range []struct {
		counts    bool
		now, last int64
	}{{p.Connections, e.Connections, s.last.Connections}, {p.Answers, e.Answers, s.last.Answers}, {p.Statuses, e.Statuses, s.last.Statuses}} {
		switch {
		case !c.counts || !s.known:
		case c.now < c.last: // HAProxy has started again
			more += c.now
		default:
			more += c.now - c.last
		}
	}
	s.last, s.known = e, true
	part := now.UnixNano() / int64(p.Within/parts)
	for n := s.current + 1; n <= part && n <= s.current+parts; n++ {
		s.counts[n%parts] = 0
	}
	s.current = part
	s.counts[part%parts] += more
	for _, n := range s.counts {
		sum += n
	}
	return sum
}

// eject keeps requests from a server, the longer the more often in a row.
func (s *server) eject(p *model.Passive, now time.Time) {
	s.row = min(s.row+1, mostRow)
	s.until = now.Add(time.Duration(s.row) * p.Ejection)
	s.counts = [parts]int64{}
}

// end ends an ejection whose time has passed, and reports whether one did.
func (s *server) end(p *model.Passive, now time.Time) bool {
	switch {
	case s.until.IsZero():
		if now.Sub(s.ended) > calmFor*p.Ejection {
			s.row = 0
		}
		return false
	case now.Before(s.until):
		return false
	}
	s.ended, s.until = now, time.Time{}
	return true
}
