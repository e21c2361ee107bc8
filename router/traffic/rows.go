package traffic

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// namespaceShare is of how many equal parts a namespace has one to itself where Routes compete for rows. What others
// leave is for all.
const namespaceShare = 4

// used counts the rows.
func (l *Ledger) used() (n int) {
	for _, r := range l.routes {
		if r.place != inRest {
			n++
		}
	}
	return n
}

// choose decides which Routes have rows.
func (l *Ledger) choose(now time.Time) {
	for key, r := range l.routes {
		if r.place == leaving && l.at(now)-r.since >= Settle {
			l.retire(r, now)
		}
		if r.place == inRest && r.backends <= 0 && l.at(now)-r.retired >= Settle {
			delete(l.routes, key)
		}
	}
	l.hear()
	wanted, members := l.wanted(), map[string]int{}
	for _, r := range wanted {
		r.earned = l.round
		if r.score >= 1 {
			r.until = l.at(now) + Stay
		}
	}
	for _, r := range l.routes {
		if r.place == detailed || r.place == entering {
			members[r.Namespace]++
		}
	}
	fits := l.fits(wanted)
	for _, r := range l.routes {
		stays := fits && r.backends > 0 && r.until > l.at(now) && members[r.Namespace] <= l.share()
		if (r.place == detailed || r.place == entering) && r.earned != l.round && !stays {
			l.end(r, now)
		}
	}
	l.enter(wanted, now)
}

// fits reports whether Routes may keep rows that others have earned: not after the budget is lowered, and not while a Route
// waits for the row that it asked for.
func (l *Ledger) fits(wanted []*route) bool {
	return l.used() <= l.rows && !slices.ContainsFunc(wanted, func(r *route) bool { return r.asked && r.place == inRest })
}

// enter gives rows to those who have earned one, as long as there is room.
func (l *Ledger) enter(wanted []*route, now time.Time) {
	used := l.used()
	for _, r := range wanted {
		switch {
		case r.place == leaving: // its row goes on from where it stands
			r.place, r.since = detailed, l.at(now)
		case r.place == inRest && used < l.rows && l.at(now)-r.retired >= Settle:
			r.place, r.since = entering, l.at(now)
			used++
		}
	}
}

// end lets a row stand until all have seen it. A row of zeros needs not stand.
func (l *Ledger) end(r *route, now time.Time) {
	r.place, r.since = leaving, l.at(now)
	if r.counts == nil && r.latency == nil {
		r.place = inRest
	}
}

// retire takes a row away. The Route gets none for a while, so that no scraper sees both of them, and a counter fall.
func (l *Ledger) retire(r *route, now time.Time) {
	if r.counts != nil {
		l.retired.add(r.counts)
	}
	r.place, r.counts, r.latency, r.retired = inRest, nil, nil, l.at(now)
}

func (l *Ledger) share() int { return max(l.rows/namespaceShare, 1) }

// wanted returns the Routes that have earned a row: first those that asked for one, then the busiest. Where not all have room, each namespace has
// a share for itself, so that no tenant takes all rows. Among those without requests a Route keeps the row that it has.
func (l *Ledger) wanted() []*route {
	var asked, busy, idle, others []*route
	for _, r := range l.routes {
		switch {
		case r.backends <= 0:
		case r.asked:
			asked = append(asked, r)
		case r.score > 0:
			busy = append(busy, r)
		case r.place != inRest:
			idle = append(idle, r)
		default:
			others = append(others, r)
		}
	}
	if len(asked)+len(busy)+len(idle)+len(others) <= l.rows {
		return slices.Concat(asked, busy, idle, others)
	}
	slices.SortFunc(asked, byName)
	slices.SortFunc(busy, func(a, b *route) int {
		if c := cmp.Compare(b.score, a.score); c != 0 { // names take ten times as long
			return c
		}
		return byName(a, b)
	})
	slices.SortFunc(idle, byName)
	if len(asked)+len(busy)+len(idle) < l.rows {
		slices.SortFunc(others, byName)
	}
	first, more, of := make([]*route, 0, l.rows), []*route(nil), map[string]int{}
	for _, some := range [][]*route{asked, busy, idle, others} {
		for _, r := range some {
			if of[r.Namespace]++; of[r.Namespace] <= l.share() {
				first = append(first, r)
			} else {
				more = append(more, r)
			}
		}
	}
	return slices.Concat(first, more)[:l.rows]
}

func byName(a, b *route) int {
	if a.Namespace == b.Namespace {
		return strings.Compare(a.Name, b.Name)
	}
	return strings.Compare(a.Namespace, b.Namespace)
}
