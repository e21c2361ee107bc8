package console

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/router/explain"
)

// Source reads what the pages show. Its methods are called by one goroutine at a time.
type Source interface {
	// Read returns what a router serves now. If nothing has changed since the snapshot
	// before, which is nil at first, it may return that one, and also if that one is to take
	// in changes (explain.Snapshot.Later): the console has them settled.
	Read(ctx context.Context, before *explain.Snapshot) (*explain.Snapshot, error)
	// Health returns the checks of `kubectl fairlead status`. It is called only if there is
	// a cluster (Options.Cluster).
	Health(ctx context.Context) (*check.Report, error)
	// Network returns which nodes announce which addresses, and Events what Fairlead's
	// programs have written. Both are called only if there is a cluster.
	Network(ctx context.Context) (*Network, error)
	Events(ctx context.Context) (*Events, error)
}

// Line is a command that gives the same answer as a page.
type Line struct {
	// Command is a command of kubectl fairlead, such as "why".
	Command string
	// Subject is a URL, or KIND/NAME; it may be empty.
	Subject string
	// Namespace is the subject's, or empty.
	Namespace string
	// Flags are further ones.
	Flags []string
}

// world is what the objects said at one time.
type world struct {
	snapshot *explain.Snapshot
	// rows are the routes of all kinds, listeners those of Gateways and ListenerSets.
	rows, listeners []*explain.Row
	// namespaces have anything that is shown.
	namespaces []string
	// generation differs between worlds whose snapshots differ.
	generation int
	// notes say what the answers leave open.
	notes []string
	// certs is made when it is asked for, under pages.asking.
	certs *explain.Certs
	// findings are made like certs.
	findings []Event
}

// certificates returns what clients are shown, in the order of hosts.
func (w *world) certificates(p *pages) (items []explain.Cert, err error) {
	p.ask(w, func(s *explain.Snapshot) {
		if w.certs == nil {
			w.certs, err = s.Certs(explain.CertArgs{})
		}
		if err == nil {
			items = w.certs.Items
		}
	})
	return items, err
}

// newWorld derives what pages need of each snapshot once.
func newWorld(s *explain.Snapshot, before *world) *world {
	w := &world{snapshot: s, rows: s.Rows(), listeners: s.ListenerRows(), namespaces: s.Namespaces(), generation: 1}
	w.notes = s.Notes() // after the rows, which have everything decided
	if before != nil {
		w.generation = before.generation + 1
	}
	return w
}

// nextWorld is the one after a reading: the former one if nothing has changed. What has changed in
// the snapshot is settled while that answers no question.
func (p *pages) nextWorld(s *explain.Snapshot, before *world) (*world, error) {
	now, touched, err := p.settled(s, before)
	switch {
	case err != nil:
		return nil, err
	case now == before:
	case before != nil && before.snapshot == s:
		p.views.keep(before, now, touched)
	default:
		p.views.forget(now)
	}
	return now, nil
}

func (p *pages) settled(s *explain.Snapshot, before *world) (*world, *explain.Touched, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	touched, err := s.Settle()
	if err != nil {
		return nil, nil, fmt.Errorf("take in what has changed: %w", err)
	}
	if before != nil && before.snapshot == s && touched == nil {
		return before, nil, nil
	}
	return newWorld(s, before), touched, nil
}

const (
	// freshFor is how long what was read counts as new.
	freshFor = 5 * time.Second
	// readingShare bounds the time spent on reading: after a reading that took a second,
	// there is none for this many seconds.
	readingShare = 10
	// oldAfter is the age from which a request waits for newer data, and waitAtMost for
	// how long.
	oldAfter, waitAtMost = 30 * time.Second, 10 * time.Second
	// partWait is how long a page waits for one of its parts, such as the checks: without it the page
	// says that it is being read, and its script asks again after partEvery.
	partWait, partEvery = 500 * time.Millisecond, 2 * time.Second
)
