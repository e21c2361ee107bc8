package agent

import "time"

const (
	// mostMisses is how many reads in a row tokens with unknown keys may cause that fit no token
	// afterwards; one more comes each refetchAfter. An issuer that replaces its keys several
	// times in a row causes reads that do fit, which are given back.
	mostMisses = 4
	// mostReads bounds both kinds together, because an issuer may replace its keys without end; one
	// more comes each readAfter.
	mostReads = 10
	readAfter = 10 * time.Second
)

// misses counts reads for tokens with unknown keys. The zero value has none behind it.
type misses struct {
	unfit, all spent
}

// spent is how much of a budget is used, as of a time.
type spent struct {
	n  int
	at time.Time
}

// left reports whether anything is left of a budget of which one is earned again in each period.
func (s *spent) left(now time.Time, most int, period time.Duration) bool {
	earned := int(now.Sub(s.at) / period)
	switch {
	case s.n == 0 || earned >= s.n:
		s.n, s.at = 0, now
	case earned > 0:
		s.n, s.at = s.n-earned, s.at.Add(time.Duration(earned)*period)
	}
	return s.n < most
}

// take takes one read, and reports whether there was one left.
func (m *misses) take(now time.Time) bool {
	unfit, all := m.unfit.left(now, mostMisses, refetchAfter), m.all.left(now, mostReads, readAfter)
	if !unfit || !all {
		return false
	}
	m.unfit.n++
	m.all.n++
	return true
}

// found says that the last read was for a key that there is: it counts among all reads only.
func (m *misses) found() { m.unfit.n = max(m.unfit.n-1, 0) }
